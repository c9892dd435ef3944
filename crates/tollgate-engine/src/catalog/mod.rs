//! Which tools exist, and who serves each.
//!
//! Invariant: one failing provider never takes the catalogue down; it stays
//! registered without tools, and the catalogue says so.

mod listing;
mod offered;
mod spelled;

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, OnceLock},
    time::Duration,
};

use tokio::time::timeout;
use tollgate_core::{
    Capability, Health, Offers, Provider, ProviderError, ToolName, ToolSpec, canonical::hex_digest,
};

use crate::{
    search::{Document, Hit, Index},
    settings::fits,
};

pub use listing::Listing;
pub(crate) use offered::{Offered, Wanted};

/// How long a provider may take to say what it offers.
const LISTING: Duration = Duration::from_secs(10);

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
    /// Provider ids, most preferred first; patterns may end in `*`. Others come last.
    pub preferred_order: Vec<String>,
}

impl Default for Selection {
    fn default() -> Self {
        Self {
            choice: ProviderChoice::Order,
            preferred_order: ["builtin", "mcp_*", "stub"].map(str::to_owned).to_vec(),
        }
    }
}

/// What is missing from the catalogue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    /// All tools of a provider that cannot list them.
    Everything,
    /// One tool, which is spelled like another one.
    Tool,
}

impl Missing {
    /// What the log calls it.
    pub const fn event(self) -> &'static str {
        match self {
            Self::Everything => "provider.list_tools.failed",
            Self::Tool => "provider.tool.left_out",
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
    offered: Vec<Offered>,
    providers: Vec<Arc<dyn Provider>>,
    selection: Selection,
    problems: Vec<Problem>,
    index: OnceLock<(Index, Vec<String>)>,
}

impl Catalog {
    /// Asks each provider once.
    pub async fn collect(providers: Vec<Arc<dyn Provider>>, selection: &Selection) -> Self {
        let mut offers = Vec::new();
        let mut problems = Vec::new();
        let mut offered = Vec::new();
        for (provider, listed) in ask(&providers).await {
            match listed {
                Ok((specs, others)) => {
                    offered.extend(Offered::new(&provider, others));
                    let rank = rank(&selection.preferred_order, provider.id());
                    offers.extend(specs.into_iter().map(|spec| Offer {
                        rank,
                        spec,
                        provider: Arc::clone(&provider),
                    }));
                }
                Err(why) => problems.push(Problem {
                    provider: provider.id().to_owned(),
                    missing: Missing::Everything,
                    message: format!("cannot list its tools: {why}"),
                }),
            }
        }
        let mut catalog = Self {
            version: OnceLock::new(),
            tools: BTreeMap::new(),
            spellings: HashMap::new(),
            has_long_names: false,
            offered: Vec::new(),
            providers,
            selection: selection.clone(),
            problems,
            index: OnceLock::new(),
        };
        sort(&mut offers, selection.choice);
        for offer in offers {
            catalog.add(offer);
        }
        catalog.offered = offered;
        catalog
    }

    /// Asks every provider again.
    pub async fn collect_again(&self) -> Self {
        Self::collect(self.providers.clone(), &self.selection).await
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
        let mut providers = self.providers.iter();
        providers.find_map(|provider| provider.missing(name))
    }

    /// Finds a tool by its canonical id, a spelling for clients, an alias or its service command.
    pub fn find(&self, name: &str) -> Option<&Arc<Listing>> {
        self.tools
            .get(name)
            .or_else(|| self.tools.get(self.spellings.get(name)?))
    }

    /// What an operator should know.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// Every registered provider and how it is.
    pub async fn health(&self) -> Vec<(String, Health)> {
        let mut all = Vec::new();
        for provider in &self.providers {
            all.push((provider.id().to_owned(), provider.health().await));
        }
        all
    }

    /// Lets go of every provider.
    pub async fn close(&self) {
        for provider in &self.providers {
            provider.close().await;
        }
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

    fn add(&mut self, offer: Offer) {
        let name = offer.spec.name.as_str().to_owned();
        if self.tools.contains_key(&name) {
            return;
        }
        let safe = offer.spec.name.safe();
        if let Some(other) = self.spellings.get(&safe).filter(|other| **other != name) {
            self.problems.push(Problem {
                provider: offer.provider.id().to_owned(),
                missing: Missing::Tool,
                message: format!(
                    "`{name}` and `{other}` are both spelled `{safe}`; `{name}` is left out"
                ),
            });
            return;
        }
        self.spellings.insert(safe, name.clone());
        if offer.spec.name.is_long() {
            let dotted = offer.spec.name.dotted();
            self.spellings.insert(dotted, name.clone());
            self.has_long_names = true;
        }
        let aliases = offer.spec.aliases.iter().map(ToolName::as_str);
        for other in aliases.chain(offer.spec.service_command.as_deref()) {
            self.spellings
                .entry(other.to_owned())
                .or_insert_with(|| name.clone());
        }
        self.tools
            .insert(name, Arc::new(Listing::new(offer.spec, offer.provider)));
    }

    fn digest(&self) -> String {
        let said = |tool: &Arc<Listing>| {
            let inactive = tool.spec.inactive.as_deref().unwrap_or_default();
            format!("{}\n{inactive}\n", tool.text())
        };
        let all: String = self.tools.values().map(said).collect();
        hex_digest(all.as_bytes())
    }
}

type Listed = (Arc<dyn Provider>, Result<(Vec<ToolSpec>, Offers), String>);

/// Asks all providers at once, each in a task of its own: one that crashes or hangs
/// takes nothing with it.
async fn ask(providers: &[Arc<dyn Provider>]) -> Vec<Listed> {
    let asked: Vec<_> = providers
        .iter()
        .map(|provider| {
            let asked = Arc::clone(provider);
            tokio::spawn(async move {
                let all = async { Ok((asked.tools().await?, asked.offers().await?)) };
                timeout::<_>(LISTING, all).await
            })
        })
        .collect();
    let mut all = Vec::with_capacity(asked.len());
    for (provider, asked) in providers.iter().zip(asked) {
        let listed = match asked.await {
            Ok(Ok(Ok(listed))) => Ok(listed),
            Ok(Ok(Err(error))) => {
                let error: ProviderError = error;
                Err(error.to_string())
            }
            Ok(Err(_)) => Err(format!("no answer within {} s", LISTING.as_secs())),
            Err(_) => Err("it crashed".to_owned()),
        };
        all.push((Arc::clone(provider), listed));
    }
    all
}

struct Offer {
    rank: usize,
    spec: ToolSpec,
    provider: Arc<dyn Provider>,
}

fn rank(order: &[String], provider: &str) -> usize {
    order
        .iter()
        .position(|pattern| fits(pattern, provider))
        .unwrap_or(order.len())
}

fn sort(offers: &mut [Offer], choice: ProviderChoice) {
    match choice {
        ProviderChoice::Order => offers.sort_by_key(|offer| offer.rank),
        ProviderChoice::Safest => offers.sort_by_key(|offer| (harm(&offer.spec), offer.rank)),
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
    }
}
