//! The interpreters that may be started, and nothing else ever is.

use std::{
    fs,
    path::{Path, PathBuf},
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tollgate_sandbox::Limits;

/// A language that code may be written in.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Language {
    /// Python 3.
    Python,
    /// JavaScript with Node.js.
    Node,
    /// Bash, if the operator turns it on.
    Bash,
}

impl Language {
    /// Every language.
    pub const ALL: [Self; 3] = [Self::Python, Self::Node, Self::Bash];

    /// The language as it is written everywhere.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Python => "python",
            Self::Node => "node",
            Self::Bash => "bash",
        }
    }

    /// Its interpreter, if it is installed where programs in a sandbox can see it.
    pub fn find(self) -> Option<PathBuf> {
        self.find_below(Path::new("/"))
    }

    /// Where its interpreter is looked for: what `PATH` says is not there inside.
    const fn places(self) -> [&'static str; 2] {
        match self {
            Self::Python => ["/usr/bin/python3", "/usr/local/bin/python3"],
            Self::Node => ["/usr/bin/node", "/usr/local/bin/node"],
            Self::Bash => ["/usr/bin/bash", "/bin/bash"],
        }
    }

    /// What is said where it is not installed.
    pub(super) fn missing(self) -> String {
        let [one, other] = self.places();
        format!("not installed: neither {one} nor {other} is a program that a sandbox can see")
    }

    fn find_below(self, root: &Path) -> Option<PathBuf> {
        let is_visible = |path: &Path| {
            if !is_program(path) {
                return false;
            }
            // One that is a link out of `/usr` is not there inside.
            let real = path.canonicalize();
            real.is_ok_and(|real| {
                ["usr", "bin"]
                    .iter()
                    .any(|it| real.starts_with(root.join(it)))
            })
        };
        let places = self.places().map(|place| place.trim_start_matches('/'));
        let mut paths = places.into_iter().map(|place| root.join(place));
        paths.find(|path| is_visible(path))
    }

    /// The arguments that make the interpreter run `code`.
    pub(super) fn snippet(self, code: String, limits: &Limits) -> Vec<String> {
        let flag = match self {
            Self::Python | Self::Bash => "-c",
            Self::Node => "-e",
        };
        let mut args = self.options(limits);
        args.extend([flag.to_owned(), code]);
        args
    }

    /// The arguments that make the interpreter run a file of the workspace.
    pub(super) fn script(self, argv: Vec<String>, limits: &Limits) -> Vec<String> {
        let mut args = self.options(limits);
        // Nothing after this is taken for an option of the interpreter.
        if self == Self::Bash || self == Self::Node {
            args.push("--".to_owned());
        }
        args.extend(argv);
        args
    }

    fn options(self, limits: &Limits) -> Vec<String> {
        match self {
            Self::Python => vec!["-B".to_owned()],
            // It cannot see its limit, and dies better when it knows it.
            Self::Node => {
                let megabytes = (limits.memory >> 20).saturating_mul(3) / 4;
                vec![format!("--max-old-space-size={}", megabytes.max(16))]
            }
            Self::Bash => vec!["--norc".to_owned(), "--noprofile".to_owned()],
        }
    }
}

/// Whether somebody could start it.
fn is_program(path: &Path) -> bool {
    let Ok(about) = fs::metadata(path) else {
        return false;
    };
    #[cfg(unix)]
    let can_start = std::os::unix::fs::PermissionsExt::mode(&about.permissions()) & 0o111 != 0;
    #[cfg(not(unix))]
    let can_start = true;
    about.is_file() && can_start
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_language_is_there_only_where_programs_inside_can_see_it() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for below in ["usr/bin", "usr/local/bin", "opt"] {
            fs::create_dir_all(root.join(below)).unwrap();
        }
        let program = |below: &str| {
            fs::write(root.join(below), "").unwrap();
            #[cfg(unix)]
            {
                let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
                fs::set_permissions(root.join(below), mode).unwrap();
            }
        };
        program("usr/local/bin/python3");
        program("opt/node");
        #[cfg(unix)]
        std::os::unix::fs::symlink("/nowhere/node", root.join("usr/bin/node")).unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink(root.join("opt/node"), root.join("usr/local/bin/node")).unwrap();
        let found = Language::ALL.map(|language| language.find_below(&root));
        let python = root.join("usr/local/bin/python3");
        assert_eq!(found, [Some(python), None, None]);
        // What nobody could start is no interpreter.
        fs::create_dir(root.join("usr/bin/python3")).unwrap();
        fs::write(root.join("usr/bin/bash"), "").unwrap();
        let found = Language::ALL.map(|language| language.find_below(&root));
        #[cfg(unix)]
        assert_eq!(
            found,
            [Some(root.join("usr/local/bin/python3")), None, None]
        );
    }
}
