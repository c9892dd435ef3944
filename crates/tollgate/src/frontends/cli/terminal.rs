//! The controlling terminal, where a human can be asked something no pipe can answer.

use std::{
    fs::{File, OpenOptions},
    io::{BufRead, BufReader, Write},
};

use tollgate_core::store::CredentialKind;
use tollgate_engine::{Gateway, random_id};

use super::{Scene, Stop};

/// Shows that a human, or the bearer of an approver token, is here; says who.
pub(super) async fn establish(
    token: Option<&str>,
    shown: &str,
    gateway: &Gateway,
    scene: &Scene<'_>,
) -> Result<String, Stop> {
    let from_environment = scene.environment.text("TOLLGATE_APPROVER_TOKEN");
    match token.or(from_environment) {
        Some(token) => bearer(token, gateway).await,
        None => at_terminal(
            shown,
            "a human must do this at a terminal, or with an approver token \
             (`tollgate token create --approver`, then `--token`)",
        ),
    }
}

async fn bearer(token: &str, gateway: &Gateway) -> Result<String, Stop> {
    let read;
    let token = if token == "-" {
        let mut line = String::new();
        std::io::stdin().lock().read_line(&mut line)?;
        read = line;
        read.trim()
    } else {
        token
    };
    match gateway.credential(token, CredentialKind::Approver).await? {
        Some(credential) => Ok(format!("token:{}", credential.id)),
        None => Err(Stop::usage("this is not a live approver token")),
    }
}

/// Shows a code on the terminal only, and wants it typed back there; no token stands in for that.
pub(super) fn typed_code(shown: &str) -> Result<String, Stop> {
    at_terminal(shown, "a human must do this at a terminal")
}

fn at_terminal(shown: &str, otherwise: &str) -> Result<String, Stop> {
    let mut terminal = open().map_err(|_| Stop::usage(otherwise))?;
    let id = random_id("c")?;
    let code: String = id.chars().skip(2).take(4).collect();
    write!(
        terminal,
        "{shown}\ntype {code} to confirm, anything else to leave: "
    )?;
    terminal.flush()?;
    let mut typed = String::new();
    BufReader::new(terminal.try_clone()?).read_line(&mut typed)?;
    if typed.trim() == code {
        Ok(format!("{} at a terminal", super::principal()))
    } else {
        Err(Stop::failed("not confirmed; nothing was changed"))
    }
}

fn open() -> std::io::Result<File> {
    OpenOptions::new().read(true).write(true).open("/dev/tty")
}
