//! Finds and reads the files of the configuration.

use std::{
    io::{self, Read},
    path::{Path, PathBuf},
};

use super::{
    env::Environment,
    error::{ConfigError, Origin},
};

/// What the file is called, for a project and for a user.
pub const FILE_NAME: &str = "tollgate.toml";

/// A configuration is written by hand; anything longer is a mistake.
const MAX_FILE_BYTES: u64 = 1024 * 1024;

/// The user's own file, whether or not it exists.
pub fn user_file(environment: &Environment) -> Option<PathBuf> {
    Some(environment.config_dir()?.join(FILE_NAME))
}

/// The project's file: the nearest above the current folder.
///
/// Folders above are looked at only inside a git repository or the home folder, so that
/// nobody's file in a shared folder such as `/tmp` governs what is below it.
pub fn project_file(environment: &Environment) -> Option<PathBuf> {
    let user = user_file(environment).and_then(|file| file.canonicalize().ok());
    let here = &environment.current_dir;
    let home = environment.home.as_ref();
    let home = home.map(|home| home.canonicalize().unwrap_or(home.clone()));
    let is_end = |dir: &Path| dir.join(".git").exists() || home.as_deref() == Some(dir);
    let end = here.ancestors().find(|dir| is_end(dir)).unwrap_or(here);
    here.ancestors()
        .take_while(|dir| dir.starts_with(end))
        .map(|dir| dir.join(FILE_NAME))
        .find(|file| file.is_file())
        .filter(|file| file.canonicalize().ok() != user)
}

/// The policies in the user's configuration folder, in the order of their names.
pub fn user_policies(environment: &Environment) -> io::Result<Vec<PathBuf>> {
    let folder = policy_folder(environment);
    folder.map_or_else(|| Ok(Vec::new()), |folder| policies_in(&folder))
}

/// Where the user's policies are.
pub fn policy_folder(environment: &Environment) -> Option<PathBuf> {
    Some(environment.config_dir()?.join("policies"))
}

/// The policies in a folder, in the order of their names; none if there is no such folder.
pub fn policies_in(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut found = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if path.extension().is_some_and(|end| end == "cedar") && path.is_file() {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// Reads a file's text.
pub(super) fn read(file: &Path) -> Result<String, ConfigError> {
    let fail = |message: String| ConfigError::new(Origin::file(file), message);
    let unreadable = |error: io::Error| fail(format!("cannot be read: {error}"));
    let handle = std::fs::File::open(file).map_err(unreadable)?;
    let mut bytes = Vec::new();
    handle
        .take(MAX_FILE_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(unreadable)?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(fail("larger than 1 MiB".to_owned()));
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        fail(format!("not UTF-8 at byte {at}"))
    })
}
