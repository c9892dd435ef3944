//! When the operating system asks this process to end, and when it only hangs up.

use std::sync::Arc;

use crate::{config::Level, logfile::LogFile};

/// Resolves when the operating system asks this process to end.
pub(crate) async fn stopped() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut terminate) = signal(SignalKind::terminate()) {
            tokio::select! {
                _ = terminate.recv() => return,
                _ = tokio::signal::ctrl_c() => return,
            }
        }
    }
    drop(tokio::signal::ctrl_c().await);
}

/// Lets no hangup end this process, nor a call of it.
///
/// A configuration takes effect at the next start, and the log says so; files of skills are read
/// again by themselves.
#[cfg(unix)]
pub(crate) fn ignore_hangups(log: Option<Arc<LogFile>>) {
    use tokio::signal::unix::{SignalKind, signal};
    // Without a handler a hangup would end the process; a system that gives none has no hangup.
    let Ok(mut hangup) = signal(SignalKind::hangup()) else {
        return;
    };
    tokio::spawn(async move {
        while hangup.recv().await.is_some() {
            if let Some(log) = &log {
                let message = "SIGHUP: nothing was reloaded; a changed configuration takes effect \
                               when the process is started again";
                log.note(Level::Warn, "signal.hangup", "gateway", message);
            }
        }
    });
}

#[cfg(not(unix))]
pub(crate) fn ignore_hangups(_: Option<Arc<LogFile>>) {}
