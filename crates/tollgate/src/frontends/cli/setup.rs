//! `tollgate setup`: how this machine is set up for the gateway.
//!
//! Invariant: it prints what to do and changes nothing itself; what it prints needs an
//! administrator, who reads it first.

use std::path::Path;

use clap::Args;
use serde_json::json;

use super::{Exit, Scene, Stop};

/// Where a system service has its files.
const CONFIG: &str = "/etc/tollgate/tollgate.toml";
const UNIT: &str = "/etc/systemd/system/tollgate.service";

const SETTINGS: &str = "\
[state]
dir = \"/var/lib/tollgate/state\"
anchor_dir = \"/var/lib/tollgate/anchor\"

[serve]
anonymous = false

[consent]
dialogs = \"none\"
";

#[derive(Debug, Args)]
pub(crate) struct Setup {
    /// Print how to run the gateway under a user of its own, as a service
    #[arg(long, required = true)]
    pub(crate) system: bool,
}

pub(super) fn run(_: &Setup, scene: &Scene<'_>) -> Result<Exit, Stop> {
    let program = scene.environment.executable.clone();
    let program = program.unwrap_or_else(|| "tollgate".into());
    let (commands, unit) = (commands(&program), unit());
    if scene.console.is_json() {
        scene.console.json(&json!({
            "commands": commands,
            "files": {CONFIG: SETTINGS, UNIT: unit},
        }))?;
        return Ok(Exit::Ok);
    }
    let console = scene.console;
    console
        .line("An agent that runs as the same user as the gateway can read its state and keys.")?;
    console.line("As root, after reading it:\n")?;
    for command in &commands {
        console.line(command)?;
    }
    for (path, text) in [(CONFIG, SETTINGS), (UNIT, &unit)] {
        console.line(&format!("\n{path}:\n"))?;
        console.line(text.trim_end())?;
    }
    console.note("\ndocs/own-user.md says what each step is for, and what is left");
    Ok(Exit::Ok)
}

fn commands(program: &Path) -> Vec<String> {
    let as_gateway = format!("sudo -u tollgate tollgate --config {CONFIG}");
    vec![
        format!("install -m 0755 {} /usr/local/bin/tollgate", program.display()),
        "useradd --system --create-home --home-dir /var/lib/tollgate --shell /usr/sbin/nologin tollgate".to_owned(),
        "install -d -o root -g tollgate -m 0750 /etc/tollgate".to_owned(),
        "install -d -o tollgate -g tollgate -m 0700 /var/lib/tollgate/state /var/lib/tollgate/anchor".to_owned(),
        format!("# write {CONFIG} and {UNIT} as below, then"),
        format!("chown root:tollgate {CONFIG} && chmod 0640 {CONFIG}"),
        "systemctl daemon-reload && systemctl enable --now tollgate".to_owned(),
        format!("{as_gateway} token create --label agent --expires 30"),
    ]
}

/// The service; the sandbox needs user namespaces, so those are not restricted.
fn unit() -> String {
    format!(
        "[Unit]\n\
         Description=Tollgate, a gateway between AI agents and tools\n\
         After=network.target\n\n\
         [Service]\n\
         User=tollgate\n\
         Group=tollgate\n\
         ExecStart=/usr/local/bin/tollgate --config {CONFIG} serve\n\
         ExecReload=/bin/kill -HUP $MAINPID\n\
         Restart=on-failure\n\
         ProtectHome=yes\n\
         PrivateTmp=yes\n\
         ReadWritePaths=/var/lib/tollgate\n\n\
         [Install]\n\
         WantedBy=multi-user.target\n"
    )
}
