//! When the operating system asks this process to end.

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
