//! Messages of one request that travel before its answer.
//!
//! Hardly a request says anything before its answer, so a box that stays empty costs an
//! allocation and no more; a general channel costs several, with room between them.
//!
//! Invariants: messages come out in the order they went in, and whoever waits for room
//! hears when nobody will make any.

use std::{
    collections::VecDeque,
    future::poll_fn,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Poll, Waker},
};

use tokio::sync::Notify;

/// Messages on their way to one client; progress beyond that is dropped.
const ROOM: usize = 64;

/// The end that a running request speaks into.
pub(super) struct Sender(Arc<Mailbox>);

/// The end that its client hears.
pub(super) struct Receiver(Arc<Mailbox>);

#[derive(Default)]
struct Mailbox {
    inside: Mutex<Inside>,
    room: Notify,
}

#[derive(Default)]
struct Inside {
    messages: VecDeque<String>,
    waits: Option<Waker>,
    closed: bool,
}

/// Both ends of a new box.
pub(super) fn mailbox() -> (Sender, Receiver) {
    let mailbox = Arc::new(Mailbox::default());
    (Sender(Arc::clone(&mailbox)), Receiver(mailbox))
}

impl Mailbox {
    fn inside(&self) -> MutexGuard<'_, Inside> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts a message in; gives it back if there is no room, or nobody who hears.
    fn put(&self, message: String) -> Result<(), Unsent> {
        let mut inside = self.inside();
        if inside.closed {
            return Err(Unsent::Closed);
        }
        if inside.messages.len() >= ROOM {
            return Err(Unsent::Full(message));
        }
        inside.messages.push_back(message);
        let waits = inside.waits.take();
        drop(inside);
        if let Some(waits) = waits {
            waits.wake();
        }
        Ok(())
    }
}

/// Why a message stayed outside.
enum Unsent {
    Full(String),
    Closed,
}

impl Sender {
    /// Sends a message if there is room.
    pub(super) fn offer(&self, message: String) {
        drop(self.0.put(message));
    }

    /// Sends a message, waiting for room; says whether anybody hears it.
    pub(super) async fn send(&self, mut message: String) -> bool {
        loop {
            let room = self.0.room.notified();
            message = match self.0.put(message) {
                Ok(()) => return true,
                Err(Unsent::Closed) => return false,
                Err(Unsent::Full(message)) => message,
            };
            room.await;
        }
    }
}

impl Receiver {
    /// The next message, if it is there.
    pub(super) fn try_recv(&self) -> Option<String> {
        let message = self.0.inside().messages.pop_front();
        if message.is_some() {
            self.0.room.notify_one();
        }
        message
    }

    /// Waits for the next message.
    pub(super) async fn recv(&self) -> String {
        poll_fn(|context| {
            let mut inside = self.0.inside();
            if let Some(message) = inside.messages.pop_front() {
                self.0.room.notify_one();
                return Poll::Ready(message);
            }
            let waits = &mut inside.waits;
            if !waits
                .as_ref()
                .is_some_and(|it| it.will_wake(context.waker()))
            {
                *waits = Some(context.waker().clone());
            }
            Poll::Pending
        })
        .await
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        let mut inside = self.0.inside();
        inside.closed = true;
        inside.messages.clear();
        drop(inside);
        self.0.room.notify_waiters();
        // One who looked before and waits only now finds this.
        self.0.room.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn messages_keep_their_order_and_wake_who_waits() {
        let (sender, receiver) = mailbox();
        let hears = tokio::spawn(async move {
            let first = receiver.recv().await;
            (first, receiver.recv().await, receiver.try_recv())
        });
        tokio::task::yield_now().await;
        sender.offer("a".to_owned());
        assert!(sender.send("b".to_owned()).await);
        let heard = hears.await.unwrap();
        assert_eq!(heard, ("a".to_owned(), "b".to_owned(), None));
    }

    #[tokio::test]
    async fn a_full_box_drops_offers_and_keeps_senders_waiting_until_there_is_room() {
        let (sender, receiver) = mailbox();
        for number in 0..=ROOM {
            sender.offer(number.to_string());
        }
        let sends = tokio::spawn(async move { (sender.send("last".to_owned()).await, sender) });
        tokio::task::yield_now().await;
        assert!(!sends.is_finished());
        assert_eq!(receiver.recv().await, "0");
        let (sent, sender) = sends.await.unwrap();
        assert!(sent);
        let rest: Vec<String> = std::iter::from_fn(|| receiver.try_recv()).collect();
        assert_eq!(rest.len(), ROOM);
        assert_eq!(rest.last().map(String::as_str), Some("last"));
        drop(receiver);
        assert!(!sender.send("nobody".to_owned()).await);
    }

    #[tokio::test]
    async fn whoever_waits_for_room_hears_that_nobody_listens() {
        let (sender, receiver) = mailbox();
        for _ in 0..ROOM {
            sender.offer(String::new());
        }
        let sends = tokio::spawn(async move { sender.send(String::new()).await });
        tokio::task::yield_now().await;
        drop(receiver);
        assert!(!sends.await.unwrap());
    }
}
