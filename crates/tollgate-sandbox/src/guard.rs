//! Ends whole families of processes when this one dies, however it dies.
//!
//! A parent-death signal reaches a child but not the children of that child. One small
//! shell holds the other end of a pipe and is told which groups live; when the pipe ends,
//! nobody is left to stop them in order, so it kills what is left.
//!
//! Invariant: a group is struck off the list as soon as its leader has been waited for, so
//! a number that the system gives away again is never hit.

use std::{
    io::Write,
    os::unix::process::CommandExt,
    process::{Child, ChildStdin, Command, Stdio},
    sync::{Mutex, PoisonError},
};

const SCRIPT: &str = r#"
trap '' HUP INT TERM
alive=' '
while read -r sign group; do
  case $sign in
    +) alive="$alive$group " ;;
    -) alive="${alive%% $group *} ${alive#* $group }" ;;
  esac
done
for group in $alive; do kill -KILL "-$group"; done 2>/dev/null
"#;

static GUARD: Mutex<Option<Guard>> = Mutex::new(None);

struct Guard {
    input: ChildStdin,
    _shell: Child,
}

/// Puts a group on the list.
pub(crate) fn watch(group: u32) {
    tell('+', group);
}

/// Strikes a group off the list.
pub(crate) fn forget(group: u32) {
    tell('-', group);
}

/// Without a shell the parent-death signal has to be enough.
fn tell(sign: char, group: u32) {
    let mut guard = GUARD.lock().unwrap_or_else(PoisonError::into_inner);
    // A shell that somebody killed is replaced once.
    for _ in 0..2 {
        if guard.is_none() {
            *guard = start();
        }
        let Some(shell) = guard.as_mut() else {
            return;
        };
        if writeln!(shell.input, "{sign} {group}").is_ok() {
            return;
        }
        *guard = None;
    }
}

fn start() -> Option<Guard> {
    #[expect(clippy::disallowed_methods, reason = "processes start in this crate")]
    let mut command = Command::new("/bin/sh");
    let mut shell = command
        .args(["-c", SCRIPT])
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
        .ok()?;
    let input = shell.stdin.take()?;
    Some(Guard {
        input,
        _shell: shell,
    })
}
