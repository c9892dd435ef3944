//! Starts Chromium and ends it.
//!
//! A shell puts the two pipes where Chromium looks for them, descriptors 3 and 4, and becomes
//! Chromium. Supervision sees to it that it ends with us, however we end.

use std::{collections::BTreeMap, ffi::OsString, path::Path, time::Duration};

use tollgate_sandbox::{Program, Watch, spawn_supervised};

use super::{
    flags::{LOCAL_STATE, flags},
    folder::Folder,
};
use crate::{
    error::Error,
    protocol::{
        WireError,
        commands::{AutoAttach, CloseBrowser, GetVersion},
        pipe::{Connection, Handler},
    },
};

/// A browser that does not speak by then is given up.
const START: Duration = Duration::from_secs(30);
/// A browser that has not ended by itself by then is ended.
const GRACE: Duration = Duration::from_secs(3);
/// Moves the pipes from standard input and output to 3 and 4.
const HAND_OVER: &str = r#"exec "$@" 3<&0 4>&1 0</dev/null 1>&2"#;

/// A running browser.
pub(crate) struct Process {
    pub(crate) connection: Connection,
    watch: Watch,
    /// Goes away with it.
    _folder: Folder,
    pub(crate) product: String,
}

/// What is started how.
pub(crate) struct Launch<'l> {
    pub(crate) program: &'l Path,
    pub(crate) root: &'l Path,
    pub(crate) env: &'l BTreeMap<OsString, OsString>,
    pub(crate) is_headless: bool,
    pub(crate) script_megabytes: u64,
}

impl Process {
    /// Starts one and waits until it speaks.
    pub(crate) async fn start(launch: Launch<'_>, handler: Handler) -> Result<Self, Error> {
        let folder = Folder::new(launch.root).map_err(Error::io("make a folder"))?;
        let (file, settings) = LOCAL_STATE;
        std::fs::write(folder.path().join(file), settings)
            .map_err(Error::io("write settings for the browser"))?;
        let mut args: Vec<OsString> = ["-c", HAND_OVER, "sh"].map(OsString::from).to_vec();
        args.push(launch.program.into());
        let flags = flags(folder.path(), launch.is_headless, launch.script_megabytes);
        args.extend(flags.into_iter().map(OsString::from));
        let mut env = launch.env.clone();
        // It finds nothing of the user's there, and leaves nothing.
        env.insert("HOME".into(), folder.path().into());
        let program = Program {
            command: "/bin/sh".into(),
            args,
            cwd: Some(folder.path().to_owned()),
            env,
            stderr_bytes: 16 << 10,
            is_kept: false,
        };
        let child = spawn_supervised(program)
            .await
            .map_err(Error::io("start the browser"))?;
        let connection = Connection::open(child.stdout, child.stdin, handler);
        let asked = connection.ask(None, &GetVersion {}, START).await;
        let product = match asked {
            Ok(version) => version.product,
            Err(error) => {
                let said = child.watch.stderr().text();
                child.watch.end(Duration::ZERO).await;
                return Err(Error::NotStarted(why(&error, &said)));
            }
        };
        let attach = AutoAttach {
            auto_attach: true,
            wait_for_debugger_on_start: true,
            flatten: true,
        };
        connection.ask(None, &attach, START).await?;
        Ok(Self {
            connection,
            watch: child.watch,
            _folder: folder,
            product,
        })
    }

    /// Its process id.
    pub(crate) fn pid(&self) -> u32 {
        self.watch.pid()
    }

    /// Whether it can still be spoken to.
    pub(crate) fn is_alive(&self) -> bool {
        !self.connection.closed().is_cancelled() && self.watch.has_ended().is_none()
    }

    /// Ends it at once.
    pub(crate) async fn kill(&self) {
        self.watch.end(Duration::ZERO).await;
    }

    /// Ends it in order, and by force if it does not want to.
    pub(crate) async fn close(&self) {
        self.connection.tell(None, &CloseBrowser {});
        // Whoever does not end when asked is ended.
        let _obeyed = tokio::time::timeout(GRACE, self.watch.ended())
            .await
            .is_ok();
        self.watch.end(Duration::ZERO).await;
    }
}

/// The last thing it said is usually the reason.
fn why(error: &WireError, said: &str) -> String {
    let last = said.lines().rev().find(|line| !line.trim().is_empty());
    match last {
        Some(line) => format!("{error}; it said: {line}"),
        None => error.to_string(),
    }
}
