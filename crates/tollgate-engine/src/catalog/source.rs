//! What each provider says it offers, kept until it says that this has changed.
//!
//! Invariant: whoever changes costs nobody else anything: what the others said is neither asked
//! for nor looked into again.

use std::{collections::HashMap, sync::Arc, time::Duration};

use tokio::{task::JoinHandle, time::timeout};
use tollgate_core::{Offers, Provider, ProviderError, ToolSpec};

use super::{Listing, Offered};
use crate::sanitize::Cleaner;

/// How long a provider may take to say what it offers.
const LISTING: Duration = Duration::from_secs(10);

/// A provider, and what it said when it was last asked.
pub(super) struct Source {
    pub(super) provider: Arc<dyn Provider>,
    /// What it offers, or why it cannot say.
    pub(super) said: Result<Said, String>,
}

/// What a provider offers.
pub(super) struct Said {
    pub(super) tools: Vec<Arc<Listing>>,
    /// Nothing if it offers nothing else.
    pub(super) offered: Option<Arc<Offered>>,
    /// How it wants to be used, cleaned.
    pub(super) instructions: Option<String>,
}

type Asked = Result<(Vec<ToolSpec>, Offers), ProviderError>;

/// Asks providers at once, each in a task of its own: one that crashes or hangs takes nothing
/// with it.
pub(super) async fn ask(providers: Vec<Arc<dyn Provider>>, cleaner: &Cleaner) -> Vec<Source> {
    let asked = providers.iter().map(|provider| {
        let asked = Arc::clone(provider);
        tokio::spawn(async move {
            let all = async { Ok((asked.tools().await?, asked.offers().await?)) };
            let in_time = timeout(LISTING, all).await;
            in_time.map_err(|_| format!("no answer within {} s", LISTING.as_secs()))
        })
    });
    let asked: Vec<JoinHandle<Result<Asked, String>>> = asked.collect();
    let mut sources = Vec::with_capacity(providers.len());
    for (provider, asked) in providers.into_iter().zip(asked) {
        let listed = match asked.await {
            Ok(Ok(listed)) => listed.map_err(|error| error.to_string()),
            Ok(Err(late)) => Err(late),
            Err(_) => Err("it crashed".to_owned()),
        };
        let said = match listed {
            Ok((specs, offers)) => Ok(said(&provider, specs, offers, cleaner)),
            Err(why) => Err(cleaner.line(&why)),
        };
        sources.push(Source { provider, said });
    }
    sources
}

fn said(
    provider: &Arc<dyn Provider>,
    mut specs: Vec<ToolSpec>,
    mut offers: Offers,
    cleaner: &Cleaner,
) -> Said {
    let instructions = offers.instructions.take();
    clean_reasons(&mut specs, cleaner);
    let listing = |spec| Arc::new(Listing::new(spec, Arc::clone(provider)));
    Said {
        tools: specs.into_iter().map(listing).collect(),
        offered: Offered::new(provider, offers).map(Arc::new),
        instructions: instructions.map(|said| cleaner.text(&said).0),
    }
}

/// Cleans why tools are off; the tools of one provider often share a reason.
fn clean_reasons(specs: &mut [ToolSpec], cleaner: &Cleaner) {
    let mut clean: HashMap<String, String> = HashMap::new();
    for reason in specs.iter_mut().filter_map(|spec| spec.inactive.as_mut()) {
        let known = clean.entry(std::mem::take(reason));
        let line = known.or_insert_with_key(|said| cleaner.line(said));
        reason.clone_from(line);
    }
}
