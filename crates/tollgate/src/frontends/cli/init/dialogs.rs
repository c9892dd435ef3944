//! `tollgate init --trust-dialogs`: the dialogs of one installed client count as a human.
//!
//! Invariant: only a human at a terminal decides that, for one entry in one client's file. What a
//! client calls itself plays no part; the entry carries a key of its own, of which the state keeps
//! a digest.

use serde_json::json;
use tollgate_core::store::CredentialKind;
use tollgate_engine::NewToken;

use super::{
    super::{Cli, Exit, Stop, console::Console, terminal},
    Init,
};
use crate::{
    config::{Config, Environment, Flags},
    wire,
};

pub(in super::super) async fn with_dialogs(
    args: &Init,
    cli: &Cli,
    (environment, flags): (Environment, Flags),
    console: &Console,
) -> Result<Exit, Stop> {
    let title = args.client.title;
    let shown = format!(
        "\nLET DIALOGS COUNT\n  client     {title}, as `{}`\n  whoever answers in a dialog of this client, you or the program itself,\n  can allow calls that write, run code or carry data out\n",
        args.name
    );
    terminal::typed_code(&shown)?;
    let config = Config::load(&environment, &flags).map_err(|errors| Stop {
        exit: Exit::Usage,
        lines: errors.iter().map(ToString::to_string).collect(),
    })?;
    let wired = wire::wire(&config, &environment).await?;
    let new = NewToken {
        kind: CredentialKind::Dialog,
        label: Some(format!("{} as {}", args.client.id, args.name)),
        scopes: json!({}),
        expires: None,
    };
    let (credential, key) = wired.gateway.create_token(new).await?;
    let done = super::set_up(args, Some(&key), (cli, &environment), console);
    // What no file names is of no use to anybody.
    if done.is_err() {
        wired.gateway.revoke_token(&credential.id).await?;
    }
    wired.close().await;
    if done.is_ok() {
        let id = &credential.id;
        console.note(&format!(
            "its dialogs count until `tollgate token revoke {id}`"
        ));
    }
    done
}
