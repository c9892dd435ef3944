//! What is known of a server's tools and of what it offers to read.

use std::{
    collections::{
        BTreeMap, HashMap, HashSet,
        btree_map::Entry::{Occupied, Vacant},
    },
    sync::{
        Arc, PoisonError, TryLockError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use serde::Deserialize;
use serde_json::value::{RawValue, to_raw_value};
use tokio::sync::Semaphore;
use tollgate_core::{Offers, ToolSpec};
use tollgate_sanitize::visible;

use super::{
    Upstream, excerpt,
    lock::{Definitions, INSTRUCTIONS, Lock, Offering, Pinned, Stamp, Standing, Standings, Told},
    mirror,
    offered::{self, Offered},
    peer::Listed,
    readable::{LARGEST, Readable, cut, readable},
    settings::Transport,
    specs::{self, Definition},
    suspect::oddities,
};

/// The most that is passed on of a server's instructions, in bytes.
const MOST_INSTRUCTIONS: usize = 2048;
/// Odd things of one server that an operator is told of.
const MOST_TOLD: usize = 1000;

/// Everything a server said about itself, ready for use.
#[derive(Default)]
pub(super) struct Known {
    pub(super) tools: BTreeMap<String, Arc<Entry>>,
    pub(super) offers: Offers,
    /// Whether it is known to offer something to read, but not what.
    pub(super) reads: bool,
}

/// One tool.
pub(super) struct Entry {
    /// The server's own name for it.
    pub(super) own: String,
    pub(super) spec: ToolSpec,
    /// How long it may be silent.
    pub(super) timeout: Duration,
    /// Why it cannot be used until a human has looked at it.
    pub(super) quarantined: Option<String>,
    /// Arguments that headers repeat: property and header.
    pub(super) mirrored: Vec<(String, String)>,
    /// Whether it has to be called as a task.
    pub(super) tasks: AtomicBool,
}

/// One list of all servers is looked through at a time: they would wait for the same pins, and
/// every thread that does keeps memory of its own for a while.
static LOOKED_THROUGH: Semaphore = Semaphore::const_new(1);

/// What is made of a server's lists, once: the costly part of getting to know it.
pub(super) struct Studied {
    /// Later lists have higher numbers.
    number: u64,
    tools: Vec<(String, Told)>,
    instructions: Option<Told>,
    offers: Offers,
    offering: Offering,
}

/// What was taken over last, to be looked at again when something was accepted.
#[derive(Default)]
pub(super) struct Taken {
    studied: Option<Arc<Studied>>,
    /// The file of pins it was compared with.
    pins: Option<Stamp>,
}

/// Instructions as they were said.
fn text(told: &Told) -> Option<String> {
    serde_json::from_str(told.definition.get()).ok()
}

impl Upstream {
    /// Takes over what a server lists, on a thread where nobody's calls wait for it.
    pub(super) async fn learn(self: &Arc<Self>, listed: Listed) {
        let number = self.lists.fetch_add(1, Ordering::Relaxed) + 1;
        let own = Arc::clone(self);
        // It is never closed.
        let _turn = LOOKED_THROUGH.acquire().await;
        let learnt = tokio::task::spawn_blocking(move || {
            let studied = own.study(number, &listed);
            own.take_over(&Arc::new(studied));
        });
        if learnt.await.is_err() {
            self.journal("mcp.list_tools.failed", "its lists cannot be taken over");
        }
    }

    /// Looks through what a server lists, and tells what is odd about it.
    pub(super) fn study(&self, number: u64, listed: &Listed) -> Studied {
        for (method, error) in &listed.unread {
            self.journal("mcp.list.failed", &format!("`{method}`: {error}"));
        }
        let tools = self.study_tools(listed);
        for odd in offered::odd(&listed.resources, &listed.templates, &listed.prompts) {
            let said = format!("{} `{}`: {}", odd.kind, odd.name, odd.notes.join(", "));
            self.tell_once("mcp.offer.odd", said);
        }
        let Readable { offers, refused } = readable(&self.names, listed);
        for said in refused {
            self.tell_once("mcp.offer.refused", said);
        }
        let offering = Offering {
            is_any: !offers.is_empty(),
            kept: Offered::of(listed).filter(|_| !offers.is_empty()),
        };
        Studied {
            number,
            tools,
            instructions: self.study_instructions(listed),
            offers,
            offering,
        }
    }

    /// What of its instructions can be passed on: the beginning, without what it hides.
    fn study_instructions(&self, listed: &Listed) -> Option<Told> {
        let said = listed.instructions.as_deref()?;
        let whole = to_raw_value(said).ok()?;
        self.look_twice(INSTRUCTIONS, whole.get());
        let shown = visible(said);
        let shown = shown.trim();
        let end = shown.floor_char_boundary(MOST_INSTRUCTIONS);
        let shown = match shown.get(..end) {
            Some(beginning) if end < shown.len() => format!("{beginning}…"),
            Some(_) | None => shown.to_owned(),
        };
        (!shown.is_empty()).then(|| Told::of_text(&shown))?
    }

    fn study_tools(&self, listed: &Listed) -> Vec<(String, Told)> {
        /// What a definition that is too large is called.
        #[derive(Deserialize)]
        struct Called {
            name: String,
        }
        let mut tools = Vec::new();
        let mut seen = HashSet::new();
        for raw in &listed.tools {
            let Ok(Called { name }) = serde_json::from_str(raw.get()) else {
                self.no_tool(raw);
                continue;
            };
            if !seen.insert(name.clone()) {
                self.refuse(&name, "it is listed a second time");
            } else if raw.get().len() > LARGEST {
                let why = format!("its definition is larger than {LARGEST} bytes");
                self.refuse(&name, &why);
            } else if Definition::read(raw.get()).is_err() {
                self.no_tool(raw);
            } else {
                self.look_twice(&name, raw.get());
                tools.push((name, Told::of(raw)));
            }
        }
        let asked = self.settings.tools.keys();
        for unknown in asked.filter(|name| !seen.contains(*name)) {
            let said = format!("the configuration speaks of `{unknown}`, which it does not offer");
            self.tell_once("mcp.tool.unknown", said);
        }
        tools
    }

    fn no_tool(&self, raw: &RawValue) {
        let shown = excerpt::of(raw.get(), 200);
        self.journal("mcp.list_tools.failed", &format!("not a tool: {shown}"));
    }

    /// Uses a list from now on, unless a later one is in use already.
    pub(super) fn take_over(&self, studied: &Arc<Studied>) {
        // Whoever compares holds it, so that lists are compared one after the other.
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        self.put(&mut taken, studied);
    }

    fn put(&self, taken: &mut Taken, studied: &Arc<Studied>) {
        let last = taken.studied.as_ref().map_or(0, |last| last.number);
        if last > studied.number {
            return;
        }
        let (standings, pins) = self.compared(studied);
        let before = self.known().filter(|_| last == studied.number);
        let known = Known {
            tools: self.reviewed(studied, standings.as_ref(), before.as_deref()),
            offers: Offers {
                instructions: self.standing_instructions(studied, standings.as_ref()),
                ..studied.offers.clone()
            },
            reads: false,
        };
        let mut place = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        *place = Some(Arc::new(known));
        drop(place);
        taken.studied = Some(Arc::clone(studied));
        taken.pins = pins;
    }

    /// Its instructions, unless they are not what was accepted.
    fn standing_instructions(
        &self,
        studied: &Studied,
        standings: Option<&Standings>,
    ) -> Option<String> {
        let told = studied.instructions.as_ref()?;
        let standing = standings.and_then(|standings| standings.get(INSTRUCTIONS));
        let is_accepted = match standing {
            Some(standing) => *standing == Standing::Accepted,
            None => self.lock.is_none(),
        };
        is_accepted.then(|| text(told))?
    }

    /// Tells the operator of a tool that hides something or commands, once in this process.
    fn look_twice(&self, name: &str, raw: &str) {
        let odd = oddities(raw);
        if odd.is_empty() {
            return;
        }
        let said = format!("`{}`: {}", cut(name), odd.join(", "));
        self.tell_once("mcp.tool.odd", said);
    }

    fn tell_once(&self, event: &'static str, said: String) {
        let mut told = self.odd.lock().unwrap_or_else(PoisonError::into_inner);
        let is_news = told.len() < MOST_TOLD && told.insert(said.clone());
        drop(told);
        if is_news {
            self.journal(event, &said);
        }
    }

    /// Looks again at what was listed if the pins have changed since: a human may have
    /// accepted something. What has not changed costs a look at a file, and who is comparing
    /// already is not waited for.
    pub(super) fn learn_again(&self) {
        let mut taken = match self.taken.try_lock() {
            Ok(taken) => taken,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return,
        };
        let pins = self.lock.as_ref().and_then(Lock::stamp);
        let studied = taken.studied.clone().filter(|_| pins != taken.pins);
        let Some(studied) = studied else {
            return;
        };
        self.put(&mut taken, &studied);
        drop(taken);
        self.notice(tollgate_core::Notice::ListsChanged);
    }

    /// What is known of a server that has not been started yet.
    pub(super) fn recall(&self, pinned: &Pinned) {
        if self.lock.is_none() {
            return;
        }
        let accepted = pinned
            .tools
            .values()
            .filter_map(|pin| pin.accepted.as_ref());
        let entries = accepted.filter_map(|told| {
            let definition = Definition::read(told.definition.get()).ok()?;
            self.entry(&definition, None)
        });
        let tools = self.by_name(entries);
        let offered = pinned.offered.as_ref().map(Offered::listed);
        let reads = pinned.offers && offered.is_none();
        let offers = offered.map_or_else(Offers::default, |listed| {
            readable(&self.names, &listed).offers
        });
        let instructions = pinned.instructions.as_ref();
        let instructions = instructions.and_then(|pin| pin.accepted.as_ref());
        let known = Known {
            tools,
            reads,
            offers: Offers {
                instructions: instructions.and_then(text),
                ..offers
            },
        };
        // Tools that wait are only listed once the server has told of them again.
        let is_only_read = pinned.tools.is_empty() && !known.offers.is_empty();
        if !known.tools.is_empty() || is_only_read {
            let mut place = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            *place = Some(Arc::new(known));
        }
    }

    /// How the tools of a list stand, and the pins that say so; nothing if those cannot be
    /// read.
    fn compared(&self, studied: &Studied) -> (Option<Standings>, Option<Stamp>) {
        let Some(lock) = &self.lock else {
            return (None, None);
        };
        let server = &self.settings;
        let said = Definitions {
            tools: &studied.tools,
            instructions: studied.instructions.as_ref(),
        };
        let compared = lock.review(&server.name, &said, server.pin, &studied.offering);
        match compared {
            Ok((standings, stamp)) => (Some(standings), stamp),
            Err(error) => {
                let why = format!("nothing can be pinned: {error}");
                self.tell_once("mcp.lock.failed", why);
                (None, None)
            }
        }
    }

    /// The tools as they may be used: what differs from its pin is set aside. Of the same list
    /// as before, what stands as it did stays as it is.
    fn reviewed(
        &self,
        studied: &Studied,
        standings: Option<&Standings>,
        before: Option<&Known>,
    ) -> BTreeMap<String, Arc<Entry>> {
        let standing = |name: &str| match (standings, &self.lock) {
            (Some(standings), _) => standings.get(name).copied().unwrap_or(Standing::New),
            // What cannot be compared cannot be trusted.
            (None, Some(_)) => Standing::Changed,
            (None, None) => Standing::Accepted,
        };
        let before: HashMap<&str, &Arc<Entry>> = before
            .into_iter()
            .flat_map(|known| known.tools.values())
            .map(|entry| (entry.own.as_str(), entry))
            .collect();
        let entries = studied.tools.iter().filter_map(|(name, told)| {
            let quarantined = aside(standing(name), &self.settings.name);
            match before.get(name.as_str()) {
                Some(entry) if entry.quarantined == quarantined => Some(Arc::clone(entry)),
                Some(_) | None => {
                    let definition = Definition::read(told.definition.get()).ok()?;
                    self.entry(&definition, quarantined)
                }
            }
        });
        self.by_name(entries)
    }

    /// The tools by their names here; of two with one name the first stays.
    fn by_name(&self, entries: impl Iterator<Item = Arc<Entry>>) -> BTreeMap<String, Arc<Entry>> {
        let mut tools: BTreeMap<String, Arc<Entry>> = BTreeMap::new();
        for entry in entries {
            let name = entry.spec.name.as_str().to_owned();
            match tools.entry(name) {
                Vacant(place) => {
                    place.insert(entry);
                }
                Occupied(place) => {
                    let why = format!("it would be called like `{}`", cut(&place.get().own));
                    self.refuse(&entry.own, &why);
                }
            }
        }
        tools
    }

    /// Tells the operator of a tool that is left out, once in this process.
    fn refuse(&self, own: &str, why: &str) {
        self.tell_once("mcp.tool.refused", format!("`{}`: {why}", cut(own)));
    }

    fn entry(&self, definition: &Definition, quarantined: Option<String>) -> Option<Arc<Entry>> {
        let server = &self.settings;
        let own = server.tools.get(&definition.name);
        if own.is_some_and(|own| own.hidden) {
            return None;
        }
        if let Some(why) = self.names.refused(&definition.name) {
            self.refuse(&definition.name, why);
            return None;
        }
        let timeout = own.and_then(|own| own.timeout).unwrap_or(server.timeout);
        let mirrored = match mirror::properties(definition.input_schema.as_ref()) {
            Ok(mirrored) => mirrored,
            // Only messages with headers can go wrong by them.
            Err(_) if matches!(server.transport, Transport::Stdio { .. }) => Vec::new(),
            Err(why) => {
                self.refuse(&definition.name, why);
                return None;
            }
        };
        Some(Arc::new(Entry {
            own: definition.name.clone(),
            spec: specs::spec(server, &self.names, definition, quarantined.is_some())?,
            quarantined,
            timeout: timeout.min(server.max_timeout),
            mirrored,
            tasks: AtomicBool::new(definition.needs_task()),
        }))
    }
}

/// Why a tool is set aside.
fn aside(standing: Standing, server: &str) -> Option<String> {
    let what = match standing {
        Standing::Accepted => return None,
        Standing::New => "nobody has accepted it yet",
        Standing::Suspect => {
            "what it says of itself could mislead a model, and nobody has accepted it"
        }
        Standing::Changed => "it is not what was accepted",
    };
    Some(format!(
        "{what}: `tollgate servers diff {server}` shows it, `tollgate servers accept {server}` releases it"
    ))
}

#[cfg(test)]
mod tests;
