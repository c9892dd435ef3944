//! When the operating system asks this process to end, and when it only hangs up.

use crate::reload::Reload;

/// Resolves when the operating system asks this process to end. The handlers are there as soon
/// as this returns, not only when it is waited for.
#[cfg(unix)]
pub(crate) fn stopped() -> impl Future<Output = ()> {
    use tokio::signal::unix::{SignalKind, signal};
    let terminate = signal(SignalKind::terminate());
    let interrupt = signal(SignalKind::interrupt());
    async {
        match (terminate, interrupt) {
            (Ok(mut terminate), Ok(mut interrupt)) => tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            },
            // A system that gives no handler ends the process at once.
            _ => std::future::pending().await,
        }
    }
}

#[cfg(not(unix))]
pub(crate) async fn stopped() {
    drop(tokio::signal::ctrl_c().await);
}

/// Lets no hangup end this process, nor a call of it: it reads again what can be read again.
#[cfg(unix)]
pub(crate) fn reload_on_hangup(reload: Reload) {
    use tokio::signal::unix::{SignalKind, signal};
    // Without a handler a hangup would end the process; a system that gives none has no hangup.
    let Ok(mut hangup) = signal(SignalKind::hangup()) else {
        return;
    };
    tokio::spawn(async move {
        // The handler stays when the gateway is gone, so a process that ends is not cut short.
        while hangup.recv().await.is_some() {
            reload.run().await;
        }
    });
}

#[cfg(not(unix))]
pub(crate) fn reload_on_hangup(_: Reload) {}
