//! Which tools exist, and who serves each.
//!
//! Invariants: one failing provider never takes the catalogue down; it stays
//! registered without tools, and the catalogue says so. Why something is missing or off may be
//! the words of somebody else's program, so it is cleaned before anybody can ask for it.

mod listing;
mod offered;
mod source;
mod spelled;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::{Arc, OnceLock},
};

use tokio::task::JoinSet;
use tollgate_core::{
    Capability, Health, Provider, ProviderError, Spelling, ToolName, ToolSpec,
    canonical::hex_digest,
};

use crate::{
    sanitize::Cleaner,
    search::{Document, Hit, Index},
    settings::fits,
};

pub use listing::Listing;
use offered::GATE;
pub(crate) use offered::{Offered, Wanted};
use source::Source;

/// Providers of what is not our own; they come last unless the operator says otherwise, so
/// that no server takes a name of ours by offering it.
const OF_OTHERS: [&str; 2] = ["mcp_*", "stub"];

/// What the id of a provider of tools begins with that is one of the user's MCP servers.
const USERS_SERVER: &str = "mcp_";

/// Who serves a name that several offer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ProviderChoice {
    /// The first in the preferred order.
    #[default]
    Order,
    /// The one whose tool can do least harm; the order decides between equals.
    Safest,
}

/// How the catalogue is put together.
#[derive(Debug, Clone)]
pub struct Selection {
    /// Who wins a contested name.
    pub choice: ProviderChoice,
    /// Provider ids, most preferred first; patterns may end in `*`. Others of our own come with
    /// `builtin`, and what others serve comes last.
    pub preferred_order: Vec<String>,
    /// Cleans why something is missing or off.
    pub cleaner: Cleaner,
}

impl Default for Selection {
    fn default() -> Self {
        Self {
            choice: ProviderChoice::Order,
            preferred_order: ["builtin", "mcp_*", "stub"].map(str::to_owned).to_vec(),
            cleaner: Cleaner::shipped(),
        }
    }
}

/// What is missing from the catalogue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    /// All tools of a provider that cannot list them.
    Everything,
    /// One tool, whose name is another one's, or is spelled like it.
    Tool,
    /// Another name of a tool, which means something else already.
    Alias,
}

impl Missing {
    /// What the log calls it.
    pub const fn event(self) -> &'static str {
        match self {
            Self::Everything => "provider.list_tools.failed",
            Self::Tool => "provider.tool.left_out",
            Self::Alias => "provider.alias.left_out",
        }
    }
}

/// Something an operator should know about the catalogue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The provider it is about.
    pub provider: String,
    /// What is missing because of it.
    pub missing: Missing,
    /// What is wrong.
    pub message: String,
}

/// A snapshot of every tool on offer.
pub struct Catalog {
    version: OnceLock<String>,
    tools: BTreeMap<String, Arc<Listing>>,
    spellings: HashMap<String, String>,
    has_long_names: bool,
    /// Aliases that clients are listed tools by, by canonical id.
    listed_as: HashMap<String, ToolName>,
    offered: Vec<Arc<Offered>>,
    sources: Vec<Arc<Source>>,
    selection: Selection,
    problems: Vec<Problem>,
    index: OnceLock<(Index, Vec<String>)>,
}

impl Catalog {
    /// Asks each provider once.
    pub async fn collect(providers: Vec<Arc<dyn Provider>>, selection: &Selection) -> Self {
        let sources = source::ask(providers, &selection.cleaner).await;
        Self::of(sources.into_iter().map(Arc::new).collect(), selection)
    }

    /// Asks every provider again.
    pub async fn collect_again(&self) -> Self {
        Self::collect(self.providers().map(Arc::clone).collect(), &self.selection).await
    }

    /// Asks these providers again, by their ids; what others said still counts.
    pub(crate) async fn collect_from(&self, ids: &BTreeSet<String>) -> Self {
        let asked = self.providers().filter(|one| ids.contains(one.id()));
        let asked = asked.map(Arc::clone).collect();
        let mut anew = source::ask(asked, &self.selection.cleaner)
            .await
            .into_iter();
        let sources = self.sources.iter().map(|source| {
            let is_asked = ids.contains(source.provider.id());
            let told = is_asked.then(|| anew.next()).flatten();
            told.map_or_else(|| Arc::clone(source), Arc::new)
        });
        Self::of(sources.collect(), &self.selection)
    }

    /// Settles who serves what.
    fn of(sources: Vec<Arc<Source>>, selection: &Selection) -> Self {
        let mut offers = Vec::new();
        let mut problems = Vec::new();
        let mut offered = Vec::new();
        for source in &sources {
            let id = source.provider.id();
            match &source.said {
                Ok(said) => {
                    offered.extend(said.offered.clone());
                    let rank = rank(&selection.preferred_order, id);
                    offers.extend(said.tools.iter().map(|listing| Offer {
                        rank,
                        listing: Arc::clone(listing),
                    }));
                }
                Err(why) => problems.push(Problem {
                    provider: id.to_owned(),
                    missing: Missing::Everything,
                    message: format!("cannot list its tools: {why}"),
                }),
            }
        }
        let mut catalog = Self {
            version: OnceLock::new(),
            tools: BTreeMap::new(),
            spellings: HashMap::new(),
            listed_as: HashMap::new(),
            has_long_names: false,
            offered,
            sources,
            selection: selection.clone(),
            problems,
            index: OnceLock::new(),
        };
        sort(&mut offers, selection.choice);
        let mut added = Vec::with_capacity(offers.len());
        for offer in offers {
            added.extend(catalog.add(offer.listing));
        }
        for listing in added {
            catalog.add_aliases(&listing);
        }
        catalog
    }

    /// Every registered provider.
    pub(crate) fn providers(&self) -> impl Iterator<Item = &Arc<dyn Provider>> {
        self.sources.iter().map(|source| &source.provider)
    }

    /// Changes whenever any tool does.
    pub fn version(&self) -> &str {
        self.version.get_or_init(|| self.digest())
    }

    /// Every tool, by canonical id.
    pub fn listings(&self) -> impl Iterator<Item = &Arc<Listing>> {
        self.tools.values()
    }

    /// Why a tool that nobody offers is not there for now, if its provider knows.
    pub(crate) fn missing(&self, name: &str) -> Option<ProviderError> {
        self.providers().find_map(|provider| provider.missing(name))
    }

    /// Finds a tool by its canonical id, a spelling for clients, an alias or its service command.
    pub fn find(&self, name: &str) -> Option<&Arc<Listing>> {
        self.tools
            .get(name)
            .or_else(|| self.tools.get(self.spellings.get(name)?))
    }

    /// How providers want to be used, by their ids.
    pub(crate) fn instructions(&self) -> impl Iterator<Item = (&str, &str)> {
        self.sources.iter().filter_map(|source| {
            let said = source.said.as_ref().ok()?.instructions.as_deref()?;
            Some((source.provider.id(), said))
        })
    }

    /// A tool's name in this spelling: for clients the alias that it is listed by, if it has one
    /// and no other tool has that name.
    pub fn name_of(&self, name: &ToolName, spelling: Spelling) -> String {
        match (spelling, self.listed_as.get(name.as_str())) {
            (Spelling::Canonical, _) | (_, None) => spelling.of(name),
            (Spelling::Dotted | Spelling::Safe, Some(alias)) => spelling.of(alias),
        }
    }

    /// What an operator should know.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// Every registered provider and how it is.
    pub async fn health(&self) -> Vec<(String, Health)> {
        let mut all = Vec::new();
        let clean = |why: String| self.selection.cleaner.line(&why);
        for provider in self.providers() {
            let health = match provider.health().await {
                Health::Ready => Health::Ready,
                Health::Degraded(why) => Health::Degraded(clean(why)),
                Health::Down(why) => Health::Down(clean(why)),
            };
            all.push((provider.id().to_owned(), health));
        }
        all
    }

    /// Lets go of every provider, of all at once: some take their time.
    pub async fn close(&self) {
        let mut closing = JoinSet::new();
        for provider in self.providers() {
            let provider = Arc::clone(provider);
            closing.spawn(async move { provider.close().await });
        }
        // One that breaks has let go as well.
        while closing.join_next().await.is_some() {}
    }

    /// Ranks tools for a request in words.
    pub fn search(&self, query: &str, limit: usize) -> Vec<(&Arc<Listing>, f32)> {
        let (index, names) = self.index();
        index
            .search(query, limit)
            .into_iter()
            .filter_map(|Hit { document, score }| {
                Some((self.tools.get(names.get(document)?)?, score))
            })
            .collect()
    }

    /// The names most like a misspelt one.
    pub fn nearest(&self, name: &str, limit: usize) -> Vec<String> {
        let (index, names) = self.index();
        index
            .nearest_names(name, limit)
            .into_iter()
            .filter_map(|document| names.get(document).cloned())
            .collect()
    }

    fn index(&self) -> &(Index, Vec<String>) {
        self.index.get_or_init(|| {
            let documents: Vec<_> = self
                .tools
                .values()
                .map(|tool| document(&tool.spec))
                .collect();
            (
                Index::build(&documents),
                self.tools.keys().cloned().collect(),
            )
        })
    }

    fn add(&mut self, listing: Arc<Listing>) -> Option<Arc<Listing>> {
        let name = listing.spec.name.as_str().to_owned();
        let safe = listing.spec.name.safe();
        let loser = listing.provider.id();
        let clash = if let Some(winner) = self.tools.get(&name) {
            let winner = winner.provider.id();
            Some(format!(
                "`{name}` is served by `{winner}`; that of `{loser}` is left out"
            ))
        } else {
            self.spellings.get(&safe).map(|other| {
                format!("`{name}` and `{other}` are both spelled `{safe}`; `{name}` is left out")
            })
        };
        if let Some(message) = clash {
            self.problems.push(Problem {
                provider: loser.to_owned(),
                missing: Missing::Tool,
                message,
            });
            return None;
        }
        self.spellings.insert(safe, name.clone());
        if listing.spec.name.is_long() {
            let dotted = listing.spec.name.dotted();
            self.spellings.insert(dotted, name.clone());
            self.has_long_names = true;
        }
        self.tools.insert(name, Arc::clone(&listing));
        Some(listing)
    }

    /// Adds the other names of a tool, once every tool has its own.
    fn add_aliases(&mut self, listing: &Listing) {
        let spec = &listing.spec;
        let name = spec.name.as_str();
        for alias in spec.aliases.iter().map(ToolName::as_str) {
            let meant = self.find(alias).map(|other| other.spec.name.as_str());
            if let Some(other) = meant.filter(|other| *other != name) {
                let message = format!(
                    "`{alias}` means `{other}` already, so it is no other name of `{name}`"
                );
                self.problems.push(Problem {
                    provider: listing.provider.id().to_owned(),
                    missing: Missing::Alias,
                    message,
                });
            }
        }
        let is_free = |alias: &&ToolName| self.find(alias.as_str()).is_none();
        if let Some(alias) = spec.telling.listed_as.as_ref().filter(is_free) {
            self.listed_as.insert(name.to_owned(), alias.clone());
        }
        let aliases = spec.aliases.iter().map(ToolName::as_str);
        for other in aliases.chain(spec.service_command.as_deref()) {
            self.spellings
                .entry(other.to_owned())
                .or_insert_with(|| name.to_owned());
        }
    }

    fn digest(&self) -> String {
        let said = |tool: &Arc<Listing>| {
            let inactive = tool.spec.inactive.as_deref().unwrap_or_default();
            format!("{}\n{inactive}\n", tool.print())
        };
        let all: String = self.tools.values().map(said).collect();
        hex_digest(all.as_bytes())
    }
}

struct Offer {
    rank: usize,
    listing: Arc<Listing>,
}

/// Whether what a provider serves is not our own.
pub(crate) fn is_of_others(provider: &str) -> bool {
    OF_OTHERS.iter().any(|pattern| fits(pattern, provider))
}

/// Where a provider stands: lower is better.
fn rank(order: &[String], provider: &str) -> usize {
    let place = |id: &str| order.iter().position(|pattern| fits(pattern, id));
    let is_of_others = is_of_others(provider);
    place(provider).unwrap_or_else(|| {
        if is_of_others {
            order.len() + 1
        } else {
            place(GATE).unwrap_or(order.len())
        }
    })
}

fn sort(offers: &mut [Offer], choice: ProviderChoice) {
    match choice {
        ProviderChoice::Order => offers.sort_by_key(|offer| offer.rank),
        ProviderChoice::Safest => {
            offers.sort_by_key(|offer| (harm(&offer.listing.spec), offer.rank));
        }
    }
}

/// How much harm a tool could do, most telling first.
fn harm(spec: &ToolSpec) -> (Capability, bool, bool, bool, bool) {
    let says = &spec.annotations;
    (
        spec.capability,
        says.destructive,
        says.sensitive_sink,
        !says.read_only,
        says.open_world,
    )
}

/// What can be found of a tool.
pub(crate) fn document(spec: &ToolSpec) -> Document {
    let properties = spec.input_schema.get("properties");
    let parameters = properties
        .and_then(serde_json::Value::as_object)
        .into_iter()
        .flatten()
        .map(|(name, schema)| {
            let about = schema
                .get("description")
                .and_then(serde_json::Value::as_str);
            (name.clone(), about.unwrap_or_default().to_owned())
        })
        .collect();
    Document {
        name: spec.name.as_str().to_owned(),
        title: spec.title.clone(),
        description: spec.description.clone(),
        parameters,
        groups: spec.toolsets.clone(),
        provider: spec.provider_id.clone(),
        provider_description: String::new(),
        is_users: spec.provider_id.starts_with(USERS_SERVER),
    }
}
