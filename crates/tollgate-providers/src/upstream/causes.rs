//! What usual failures of programs mean, and what to do about them.
//!
//! Invariant: only what a program or the system said is interpreted, and what is quoted of it is
//! short.

use std::{
    env,
    ffi::OsStr,
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
};

use super::excerpt;

/// Characters of a name that are quoted.
const NAME: usize = 120;

/// The longest first line of a script that the system reads.
const FIRST_LINE: u64 = 256;

/// A program as it was to be started.
pub(super) struct Started<'a> {
    pub(super) command: &'a str,
    pub(super) cwd: Option<&'a Path>,
    /// The folders it is looked for in.
    pub(super) path: Option<&'a OsStr>,
}

impl Started<'_> {
    /// The file that is meant, if there is one.
    fn file(&self) -> Option<PathBuf> {
        let command = Path::new(self.command);
        if command.components().count() > 1 {
            let file = self
                .cwd
                .map_or_else(|| command.to_owned(), |it| it.join(command));
            return file.is_file().then_some(file);
        }
        let mut files = env::split_paths(self.path?).map(|folder| folder.join(command));
        files.find(|file| file.is_file())
    }
}

/// Why a program could not be started.
pub(super) fn of_start(started: &Started<'_>, error: &io::Error) -> String {
    let (command, kind) = (started.command, error.kind());
    if kind == io::ErrorKind::PermissionDenied {
        format!("`{command}` may not be run: make it executable, or correct `command`")
    } else if kind != io::ErrorKind::NotFound {
        format!("`{command}` cannot be started: {error}")
    } else if let Some(file) = started.file() {
        match interpreter(&file) {
            Some(name) if name.ends_with('\r') => format!(
                "the first line of the script `{command}` ends in a carriage return: save it with the line ends of Unix"
            ),
            Some(name) => {
                let name = excerpt::of(&name, NAME);
                format!(
                    "the script `{command}` is run by `{name}`, which is not there: install it, or correct the first line of the script"
                )
            }
            None => format!("`{command}` is there, but what the system needs to run it is not"),
        }
    } else if Path::new(command).components().count() > 1 {
        format!("there is no program `{command}`: correct `command`")
    } else {
        format!(
            "there is no program `{command}` in PATH: install it, or give its whole path as `command`"
        )
    }
}

/// What the first line of a script says it is run by.
fn interpreter(file: &Path) -> Option<String> {
    let mut first = Vec::new();
    let read = File::open(file)
        .ok()?
        .take(FIRST_LINE)
        .read_to_end(&mut first);
    read.ok()?;
    let text = String::from_utf8_lossy(&first);
    let line = text.strip_prefix("#!")?.split('\n').next()?;
    let line = line.trim_matches([' ', '\t']);
    Some(line.split([' ', '\t']).next()?.to_owned())
}

/// What the last words of a program that went away mean, where that is known.
pub(super) fn told(stderr: &str) -> Option<String> {
    no_npm_package(stderr)
        .or_else(|| no_python_package(stderr))
        .or_else(|| no_module(stderr))
        .or_else(|| no_program(stderr))
}

/// `npx` of a package that is not there.
fn no_npm_package(stderr: &str) -> Option<String> {
    let is_npm = |line: &&str| line.starts_with("npm ");
    let mut lines = stderr.lines().map(str::trim).filter(is_npm);
    lines.clone().find(|line| line.contains("E404"))?;
    // `npm error 404  'name@version' is not in this registry.`
    let named = lines.find_map(|line| {
        let before = line.split(" is not in ").next().filter(|it| *it != line)?;
        Some(
            before
                .rsplit(' ')
                .next()?
                .trim_matches(['\'', '"'])
                .to_owned(),
        )
    });
    Some(match named {
        Some(name) => {
            let name = excerpt::of(&name, NAME);
            format!("npm has no package `{name}` (404): correct its name in `args`")
        }
        None => "npm does not have this package (404): correct its name in `args`".to_owned(),
    })
}

/// `uvx` or `pipx run` of a package that is not there.
fn no_python_package(stderr: &str) -> Option<String> {
    // "  `-> Because NAME was not found in the package registry and you require NAME, ..."
    let mut lines = stderr.lines();
    let before =
        lines.find_map(|line| line.split_once(" was not found in the package registry"))?;
    let name = before.0.split_whitespace().next_back();
    let name = name.map(|word| word.trim_matches(['`', '\'', '"']));
    let name = excerpt::of(name.unwrap_or("this"), NAME);
    Some(format!(
        "PyPI has no package `{name}`: correct its name in `args`"
    ))
}

/// Python or Node without the module that was asked for.
fn no_module(stderr: &str) -> Option<String> {
    let line = stderr.lines().find(|line| {
        line.contains("No module named ") || line.starts_with("Error: Cannot find module ")
    })?;
    let line = excerpt::of(line.trim(), NAME);
    Some(format!(
        "it said: {line}: install it, or correct `args` and `cwd`"
    ))
}

/// `env`, which starts the interpreter of a script, without that interpreter.
fn no_program(stderr: &str) -> Option<String> {
    let mut lines = stderr.lines().map(str::trim);
    // "/usr/bin/env: 'node': No such file or directory"
    let named = lines.find_map(|line| {
        let (by, said) = line.split_once("env: ")?;
        let is_env = by.is_empty() || by.ends_with('/');
        let name = said.strip_suffix(": No such file or directory")?;
        is_env.then_some(name)
    })?;
    let name = excerpt::of(
        named.trim_matches(['\'', '\u{2018}', '\u{2019}', '"']),
        NAME,
    );
    Some(format!(
        "there is no program `{name}` in PATH, which runs this script: install it"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_cannot_be_started_says_what_to_do() {
        let not_found = io::Error::from(io::ErrorKind::NotFound);
        for (command, told) in [
            (
                "npxx",
                "there is no program `npxx` in PATH: install it, or give its whole path as `command`",
            ),
            (
                "/opt/none",
                "there is no program `/opt/none`: correct `command`",
            ),
        ] {
            assert_eq!(of_start(&started(command), &not_found), told);
        }
        let denied = io::Error::from(io::ErrorKind::PermissionDenied);
        assert!(of_start(&started("./run.sh"), &denied).contains("make it executable"));
    }

    fn started(command: &str) -> Started<'_> {
        Started {
            command,
            cwd: None,
            path: None,
        }
    }

    #[test]
    fn a_script_without_its_interpreter_names_the_interpreter() {
        let folder = tempfile::tempdir().unwrap();
        let not_found = io::Error::from(io::ErrorKind::NotFound);
        for (text, told) in [
            (
                "#! /opt/none/python3 -u\nprint()\n",
                "the script `run` is run by `/opt/none/python3`, which is not there: install it, or correct the first line of the script",
            ),
            (
                "#!/bin/sh\r\nexit\r\n",
                "the first line of the script `run` ends in a carriage return: save it with the line ends of Unix",
            ),
            (
                "\u{7f}ELF",
                "`run` is there, but what the system needs to run it is not",
            ),
        ] {
            std::fs::write(folder.path().join("run"), text).unwrap();
            let started = Started {
                path: Some(folder.path().as_os_str()),
                ..started("run")
            };
            assert_eq!(of_start(&started, &not_found), told);
            let started = Started {
                command: "./run",
                cwd: Some(folder.path()),
                path: None,
            };
            assert_eq!(
                of_start(&started, &not_found),
                told.replace("`run`", "`./run`")
            );
        }
        for said in [
            "/usr/bin/env: \u{2018}node\u{2019}: No such file or directory\n",
            "env: node: No such file or directory\n",
        ] {
            assert_eq!(
                told(said).unwrap(),
                "there is no program `node` in PATH, which runs this script: install it"
            );
        }
    }

    #[test]
    fn a_package_that_is_not_there_is_named() {
        let npm = "npm error code E404\nnpm error 404 Not Found - GET https://registry.example/none - Not found\nnpm error 404\nnpm error 404  'mcp-none@*' is not in this registry.\nnpm error A complete log of this run can be found in: /x\n";
        assert_eq!(
            told(npm).unwrap(),
            "npm has no package `mcp-none@*` (404): correct its name in `args`"
        );
        let uvx = "  x No solution found when resolving tool dependencies:\n  `-> Because mcp-none was not found in the package registry and you require mcp-none, ...\n";
        assert!(
            told(uvx)
                .unwrap()
                .contains("PyPI has no package `mcp-none`"),
            "{:?}",
            told(uvx)
        );
        let python = "/usr/bin/python3: No module named mcp_none\n";
        assert!(told(python).unwrap().contains("No module named mcp_none"));
        assert_eq!(told("it is Tuesday\n"), None);
    }
}
