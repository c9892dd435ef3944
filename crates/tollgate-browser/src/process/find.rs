//! Where Chromium is.

use std::{
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
};

/// The names it goes by.
const NAMES: &[&str] = &[
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "microsoft-edge",
];

/// Where it is put when it is not in `PATH`.
const PLACES: &[&str] = &[
    "/usr/bin/chromium",
    "/usr/bin/chromium-browser",
    "/usr/bin/google-chrome",
    "/usr/lib/chromium/chromium",
    "/opt/google/chrome/chrome",
    "/snap/bin/chromium",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
];

/// How it is installed, for whoever has to.
pub const INSTALL: &str = if cfg!(target_os = "macos") {
    "brew install --cask chromium"
} else {
    "apt-get install chromium"
};

/// Where to look.
#[derive(Debug, Clone, Default)]
pub struct Whereabouts {
    /// What the operator names; nothing else is looked for then.
    pub named: Option<PathBuf>,
    /// Folders of programs, as in `PATH`.
    pub path: Option<OsString>,
}

/// There is no Chromium.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Missing {
    /// Not where the operator says.
    #[error(
        "there is no browser at the configured place; correct it, or install one with `{INSTALL}`"
    )]
    NotThere,
    /// Nowhere.
    #[error(
        "Chromium is not installed; install it with `{INSTALL}`, or name it with `browser.chromium` or CHROME_PATH"
    )]
    Nowhere,
}

impl Whereabouts {
    /// The program to start.
    pub fn find(&self) -> Result<PathBuf, Missing> {
        if let Some(named) = &self.named {
            return is_program(named)
                .then(|| named.clone())
                .ok_or(Missing::NotThere);
        }
        let path = self.path.as_deref().unwrap_or(OsStr::new(""));
        let in_path = std::env::split_paths(path)
            .filter(|folder| folder.is_absolute())
            .flat_map(|folder| NAMES.iter().map(move |name| folder.join(name)));
        let places = PLACES.iter().map(PathBuf::from);
        in_path
            .chain(places)
            .find(|place| is_program(place))
            .ok_or(Missing::Nowhere)
    }
}

fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata()
        .is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_named_is_not_replaced_by_something_else() {
        let dir = tempfile::tempdir().unwrap();
        let program = dir.path().join("chromium");
        std::fs::copy("/bin/sh", &program).unwrap();
        let path = Some(dir.path().as_os_str().to_owned());
        let found = Whereabouts {
            named: None,
            path: path.clone(),
        }
        .find();
        assert_eq!(found, Ok(program));
        let named = Some(dir.path().join("other"));
        let found = Whereabouts { named, path }.find();
        assert_eq!(found, Err(Missing::NotThere));
    }
}
