//! Which worlds of ours there are: one for each document, apart from the page's own.
//!
//! Invariant: a world that is known belongs to the document its frame shows, or it is gone and
//! asking it fails. A number that a new process gave to somebody else's world is never used.

use std::collections::HashMap;

use super::{PATIENCE, Tab, WORLD};
use crate::{
    error::Error,
    protocol::{commands::IsolatedWorld, events, pipe::Event},
};

/// Our worlds, by their frames.
#[derive(Debug, Default)]
pub(crate) struct Worlds {
    known: HashMap<String, World>,
}

#[derive(Debug)]
struct World {
    session: String,
    number: i64,
}

impl Worlds {
    fn of(&self, session: &str, frame: &str) -> Option<i64> {
        let world = self.known.get(frame)?;
        (world.session == session).then_some(world.number)
    }

    fn add(&mut self, session: &str, frame: String, number: i64) {
        let session = session.to_owned();
        self.known.insert(frame, World { session, number });
    }

    /// A frame shows another document.
    pub(crate) fn left(&mut self, frame: &str) {
        self.known.remove(frame);
    }

    /// A conversation is over, or its process is another one.
    pub(crate) fn ended(&mut self, session: &str) {
        self.known.retain(|_, world| world.session != session);
    }
}

impl Tab {
    /// Takes an event about worlds; `session` is the conversation it came in.
    pub(super) fn take_world(&self, session: &str, event: &Event<'_>) {
        match event.method {
            "Runtime.executionContextCreated" => {
                if let Some(events::WorldBegan { context }) = event.read()
                    && context.name == WORLD
                    && context.aux_data.r#type == "isolated"
                {
                    let frame = context.aux_data.frame_id;
                    self.lock().worlds.add(session, frame, context.id);
                }
            }
            "Runtime.executionContextDestroyed" => {
                if let Some(it) = event.read::<events::WorldEnded>() {
                    let gone = it.execution_context_id;
                    let is_left = |world: &World| world.session != session || world.number != gone;
                    self.lock().worlds.known.retain(|_, world| is_left(world));
                }
            }
            _ => self.lock().worlds.ended(session),
        }
    }

    /// The number of our world in a frame. Every document begins with one, so the browser is
    /// asked only where that did not happen yet.
    pub(crate) async fn world(&self, session: &str, frame: &str) -> Result<i64, Error> {
        let known = self.lock().worlds.of(session, frame);
        if let Some(number) = known {
            return Ok(number);
        }
        let world = IsolatedWorld {
            frame_id: frame.to_owned(),
            world_name: WORLD.to_owned(),
        };
        // The event that tells of it comes before the answer.
        let world = self.ask_in(session, &world, PATIENCE).await?;
        Ok(world.execution_context_id)
    }
}
