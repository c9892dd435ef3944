//! A call that nobody can leave half done, and within it the work of its provider.
//!
//! It runs inside the task that waits for it, which spares every call a task of its
//! own and the way there and back. Invariants: if that task goes away first, the rest
//! runs in a new one; a panic is an answer and reaches nobody else.

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    task::{Context, Poll},
};

use tokio::runtime::Handle;

type Run<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// A run that ends even if whoever waits for it does not.
pub(crate) struct Owned<T: Send + 'static> {
    run: Option<Run<T>>,
    runtime: Handle,
}

/// The run itself failed; says how, as far as it is known.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Panicked(pub(crate) String);

impl<T: Send + 'static> Owned<T> {
    /// Takes over a run; must be called inside a runtime.
    pub(crate) fn new(run: impl Future<Output = T> + Send + 'static) -> Self {
        Self {
            run: Some(Box::pin(run)),
            runtime: Handle::current(),
        }
    }

    /// Gives the run up where it stands.
    pub(super) fn abandon(mut self) {
        // What its destructors do wrong is not worth more than the run itself.
        drop(catch_unwind(AssertUnwindSafe(|| self.run = None)));
    }
}

impl<T: Send + 'static> Future for Owned<T> {
    type Output = Result<T, Panicked>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(run) = &mut self.run else {
            return Poll::Pending;
        };
        let polled = poll_caught(run.as_mut(), context);
        if polled.is_ready() {
            self.run = None;
        }
        polled
    }
}

/// Polls a run whose panic is an answer. What it may leave behind half done must not be
/// looked at again.
pub(crate) fn poll_caught<T>(
    run: Pin<&mut (impl Future<Output = T> + ?Sized)>,
    context: &mut Context<'_>,
) -> Poll<Result<T, Panicked>> {
    match catch_unwind(AssertUnwindSafe(|| run.poll(context))) {
        Ok(Poll::Pending) => Poll::Pending,
        Ok(Poll::Ready(output)) => Poll::Ready(Ok(output)),
        Err(cause) => Poll::Ready(Err(Panicked(told(cause.as_ref())))),
    }
}

impl<T: Send + 'static> Drop for Owned<T> {
    fn drop(&mut self) {
        if let Some(run) = self.run.take() {
            self.runtime.spawn(run);
        }
    }
}

fn told(cause: &(dyn Any + Send)) -> String {
    let text = cause.downcast_ref::<&str>().copied();
    let text = text.or_else(|| cause.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("no message").to_owned()
}

#[cfg(test)]
mod tests {
    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test]
    async fn a_run_that_nobody_waits_for_goes_on() {
        let (go, gone) = oneshot::channel::<()>();
        let (tell, told) = oneshot::channel();
        let run = Owned::new(async move {
            gone.await.unwrap();
            tell.send("ended").unwrap();
        });
        tokio::select! {
            biased;
            _ = run => panic!("it waits for `go`"),
            () = std::future::ready(()) => {}
        }
        go.send(()).unwrap();
        assert_eq!(told.await, Ok("ended"));
    }

    #[tokio::test]
    async fn a_panic_is_an_answer() {
        let answer = Owned::<()>::new(async { panic!("of {} kinds", 2) }).await;
        assert_eq!(answer, Err(Panicked("of 2 kinds".to_owned())));
    }
}
