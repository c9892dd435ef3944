//! The one place that reads the environment, the home folder and the current folder.
//!
//! Everything else takes an [`Environment`], which a test makes by hand.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fmt,
    path::{Path, PathBuf},
};

/// What the process was started with.
#[derive(Clone, Default)]
pub struct Environment {
    /// Every environment variable.
    pub variables: BTreeMap<OsString, OsString>,
    /// The user's home folder, if there is one.
    pub home: Option<PathBuf>,
    /// The current folder.
    pub current_dir: PathBuf,
    /// The file of the running program, if the system tells.
    pub executable: Option<PathBuf>,
}

impl Environment {
    /// Reads it from the operating system.
    pub fn from_process() -> std::io::Result<Self> {
        Ok(Self {
            variables: std::env::vars_os().collect(),
            home: std::env::home_dir().filter(|home| home.is_absolute()),
            current_dir: std::env::current_dir()?,
            executable: std::env::current_exe().ok(),
        })
    }

    /// The value of a variable, if it is set and is text.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.variables.get(&OsString::from(name))?.to_str()
    }

    /// The user's folder for Tollgate's configuration.
    pub fn config_dir(&self) -> Option<PathBuf> {
        self.xdg("XDG_CONFIG_HOME", ".config")
    }

    /// The user's folder for Tollgate's data.
    pub fn data_dir(&self) -> Option<PathBuf> {
        self.xdg("XDG_DATA_HOME", ".local/share")
    }

    /// The user's folder for Tollgate's state, where the audit's anchor lives.
    pub fn state_dir(&self) -> Option<PathBuf> {
        self.xdg("XDG_STATE_HOME", ".local/state")
    }

    /// The folder below which desktop programs keep their settings.
    pub fn applications_dir(&self) -> Option<PathBuf> {
        if cfg!(target_os = "macos") {
            Some(self.home.as_ref()?.join("Library/Application Support"))
        } else if cfg!(windows) {
            self.folder("APPDATA", "AppData/Roaming")
        } else {
            self.folder("XDG_CONFIG_HOME", ".config")
        }
    }

    /// The folder a variable names, else this one below the home folder.
    /// A relative one counts as unset, as the XDG specification says.
    pub fn folder(&self, variable: &str, below_home: &str) -> Option<PathBuf> {
        self.variables
            .get(&OsString::from(variable))
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
            .or_else(|| Some(self.home.as_ref()?.join(below_home)))
    }

    /// The first file of this name in the folders of `PATH`.
    pub fn on_path(&self, name: &str) -> Option<PathBuf> {
        let folders = self.variables.get(&OsString::from("PATH"))?;
        std::env::split_paths(folders)
            .filter(|folder| folder.is_absolute())
            .map(|folder| folder.join(name))
            .find(|file| file.is_file())
    }

    /// Tollgate's own folder below a base folder.
    fn xdg(&self, variable: &str, below_home: &str) -> Option<PathBuf> {
        let base = self.folder(variable, below_home)?;
        Some(base.join("tollgate"))
    }

    /// A path as written, seen from `base`; `~/` is the home folder.
    pub fn absolute(&self, base: &Path, written: &str) -> PathBuf {
        match (written.strip_prefix("~/"), &self.home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => base.join(written),
        }
    }
}

impl fmt::Debug for Environment {
    /// Names only: values may be secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Environment")
            .field("variables", &self.variables.keys())
            .field("home", &self.home)
            .field("current_dir", &self.current_dir)
            .field("executable", &self.executable)
            .finish()
    }
}
