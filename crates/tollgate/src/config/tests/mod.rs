//! What the configuration does with what people write.

mod fixtures;
mod layers;
mod projects;
mod resolved;
mod surface;
mod web;

use std::{ffi::OsString, fs, path::Path};

use tempfile::TempDir;

use super::*;

/// A home folder and a project below it that exist only for one test.
struct Home {
    folder: TempDir,
    environment: Environment,
}

impl Home {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().canonicalize().unwrap();
        let project = home.join("project");
        fs::create_dir_all(&project).unwrap();
        let environment = Environment {
            home: Some(home),
            current_dir: project,
            ..Environment::default()
        };
        Self {
            folder,
            environment,
        }
    }

    fn path(&self) -> &Path {
        self.environment.home.as_deref().unwrap()
    }

    /// Writes a file below the home folder.
    fn write(&self, name: &str, text: &str) -> &Self {
        let file = self.path().join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
        self
    }

    fn user(&self, text: &str) -> &Self {
        self.write(".config/tollgate/tollgate.toml", text)
    }

    fn project(&self, text: &str) -> &Self {
        self.write("project/tollgate.toml", text)
    }

    fn set(&mut self, name: &str, value: &str) -> &mut Self {
        let variables = &mut self.environment.variables;
        variables.insert(OsString::from(name), OsString::from(value));
        self
    }

    fn load(&self) -> Result<Config, Vec<ConfigError>> {
        self.load_with(&Flags::default())
    }

    fn load_with(&self, flags: &Flags) -> Result<Config, Vec<ConfigError>> {
        Config::load(&self.environment, flags)
    }

    fn pins(&self) -> TrustStore {
        TrustStore::of_user(&self.environment).unwrap()
    }

    fn trust(&self) -> String {
        let dir = &self.environment.current_dir;
        let proposal = Proposal::read(dir, &self.environment).unwrap();
        self.pins().trust(&proposal).unwrap();
        proposal.digest
    }

    /// Messages with this test's own folder written as `~`.
    fn tell<T: ToString>(&self, said: &[T]) -> String {
        let lines: Vec<String> = said.iter().map(T::to_string).collect();
        lines
            .join("\n")
            .replace(&self.path().display().to_string(), "~")
    }

    fn errors(&self) -> String {
        self.tell(&self.load().unwrap_err())
    }

    fn notices(&self) -> String {
        self.tell(&self.load().unwrap().notices)
    }
}
