//! What a provider may ask for in the middle of a call.
//!
//! Asking is an answer, not a callback: the call ends as `needs_input`, the front
//! end asks in its own way, and the same call comes again with the responses.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::payload::Payload;

/// One thing a provider wants to know from the client.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "params", rename_all = "snake_case")]
pub enum InputAsk {
    /// A form or a page for the human.
    Elicitation(Payload),
    /// A completion by the client's model.
    Sampling(Payload),
    /// The client's roots.
    Roots(Payload),
}

/// What a client can be asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AskKinds {
    /// A form for the human.
    pub elicitation: bool,
    /// A page at some address for the human.
    pub elicitation_url: bool,
    /// A completion by its model.
    pub sampling: bool,
    /// Its roots.
    pub roots: bool,
}

impl InputAsk {
    /// Whether it sends the human to a page instead of showing a form.
    pub fn is_page(&self) -> bool {
        match self {
            Self::Elicitation(params) => params.value()["mode"] == "url",
            Self::Sampling(_) | Self::Roots(_) => false,
        }
    }
}

impl AskKinds {
    /// Whether the client can be asked this.
    pub fn can(self, ask: &InputAsk) -> bool {
        match ask {
            InputAsk::Elicitation(_) if ask.is_page() => self.elicitation_url,
            InputAsk::Elicitation(_) => self.elicitation,
            InputAsk::Sampling(_) => self.sampling,
            InputAsk::Roots(_) => self.roots,
        }
    }
}

/// Everything a provider needs before it can go on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InputRequest {
    /// The questions by the provider's own ids.
    pub asks: BTreeMap<String, InputAsk>,
    /// What the provider wants back, unread, when the call comes again.
    pub state: Vec<u8>,
}

/// The answers to an [`InputRequest`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct InputResponses {
    /// The answers by the ids of the questions.
    pub answers: BTreeMap<String, Payload>,
    /// The state of the request they answer.
    pub state: Vec<u8>,
    /// Whether nobody answers any more: whatever is kept open for answers can be let go.
    #[serde(default)]
    pub given_up: bool,
}
