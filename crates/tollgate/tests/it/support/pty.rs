//! A person at a terminal: a pseudo-terminal that is the controlling one of what it runs.

use std::{
    fs::File,
    io::{Read, Write},
    os::fd::OwnedFd,
    thread,
};

use rustix::{
    fs::{Mode, OFlags},
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
    termios::{Winsize, tcsetwinsize},
};

use super::{Ran, TestEnv};

const PROMPT: &str = "to confirm, anything else to leave: ";

/// What a person saw, and what reached the pipes.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) code: String,
    pub(crate) shown: String,
    pub(crate) ran: Ran,
}

/// What of a program is shown on a terminal; the rest stays a pipe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Watched {
    Output,
    Errors,
    Both,
}

/// Runs the program with streams on a terminal; gives what was seen there.
pub(crate) fn watched(env: &TestEnv, arguments: &[&str], what: Watched) -> (String, Ran) {
    run_at(terminal(), env, arguments, what)
}

/// The same for stdout on a terminal of so many columns; gives the lines without their colours.
pub(crate) fn lines_at(env: &TestEnv, arguments: &[&str], columns: u16) -> Vec<String> {
    let (person, side) = terminal();
    let size = Winsize {
        ws_row: 24,
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    tcsetwinsize(&side, size).unwrap();
    let (shown, ran) = run_at((person, side), env, arguments, Watched::Output);
    ran.exits(0);
    let mut plain = String::new();
    let mut parts = shown.split("\u{1b}[");
    plain.push_str(parts.next().unwrap_or_default());
    for part in parts {
        plain.push_str(part.split_once('m').map_or("", |(_, text)| text));
    }
    plain.lines().map(str::to_owned).collect()
}

fn run_at(
    (mut person, side): (File, OwnedFd),
    env: &TestEnv,
    arguments: &[&str],
    what: Watched,
) -> (String, Ran) {
    let mut command = env.command(arguments);
    if what != Watched::Errors {
        command.stdout(side.try_clone().unwrap());
    }
    if what != Watched::Output {
        command.stderr(side.try_clone().unwrap());
    }
    drop(side);
    let child = command.spawn().unwrap();
    // The terminal ends when nobody holds its other side.
    drop(command);
    let looking = thread::spawn(move || {
        let mut shown = Vec::new();
        // That end is an error of the system.
        drop(person.read_to_end(&mut shown));
        String::from_utf8(shown).unwrap()
    });
    let ran = Ran::from(child.wait_with_output().unwrap());
    (looking.join().unwrap(), ran)
}

/// A new terminal: a person's side, and a program's.
fn terminal() -> (File, OwnedFd) {
    let controller = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&controller).unwrap();
    unlockpt(&controller).unwrap();
    let name = ptsname(&controller, Vec::new()).unwrap();
    let flags = OFlags::RDWR | OFlags::NOCTTY;
    let side = rustix::fs::open(&name, flags, Mode::empty()).unwrap();
    (File::from(controller), side)
}

/// Runs the program at a terminal, where what `answer` makes of the code is typed;
/// standard output and error stay pipes.
pub(crate) fn at_a_terminal(
    env: &TestEnv,
    arguments: &[&str],
    answer: impl Fn(&str) -> String,
) -> Seen {
    let (mut person, side) = terminal();
    let mut all = vec!["--ctty", "--wait", env!("CARGO_BIN_EXE_tollgate")];
    all.extend(arguments);
    let mut command = env.other("setsid", &all);
    let child = command.stdin(side).spawn().unwrap();
    drop(command);

    let mut shown = String::new();
    let mut bytes = [0; 4096];
    while !shown.ends_with(PROMPT) {
        let count = person.read(&mut bytes).unwrap();
        shown.push_str(std::str::from_utf8(&bytes[..count]).unwrap());
    }
    let (_, after) = shown.rsplit_once("type ").unwrap();
    let code = after.split(' ').next().unwrap().to_owned();
    writeln!(person, "{}", answer(&code)).unwrap();
    Seen {
        code,
        shown,
        ran: Ran::from(child.wait_with_output().unwrap()),
    }
}
