//! How a gate is put together for a test.

use std::{future::Future, sync::Arc};

use tempfile::TempDir;
use tollgate_core::{
    Answer, CallContext, HeldClock, Provider, ProviderError, Secret, Store, Timestamp, ToolCall,
    ToolSpec,
};
use tollgate_engine::{
    Catalog, Cleaner, GateTools, Gateway, Parts, Selection, Settings, StageProbe,
    policy::{Origin, Policies, Source},
    runs::Runs,
};
use tollgate_store::SqliteStore;
use tollgate_testkit::{MemoryStore, fakes::FakeProvider};

use super::{Lines, Spans, World};

/// When the tests begin.
const START: Timestamp = Timestamp(1_800_000_000_000);

/// A gate in the making.
pub(crate) struct Setup {
    fake: FakeProvider,
    more: Vec<Arc<dyn Provider>>,
    rules: String,
    settings: Settings,
    selection: Selection,
    cleaner: Cleaner,
    probe: Option<Arc<dyn StageProbe>>,
    clock: Arc<HeldClock>,
    store: Option<Arc<dyn Store>>,
    directory: Option<TempDir>,
    runs: Option<Runs>,
}

impl Setup {
    pub(crate) fn new() -> Self {
        Self {
            fake: FakeProvider::new("fake"),
            more: Vec::new(),
            rules: String::new(),
            settings: Settings::default(),
            selection: Selection::default(),
            cleaner: Cleaner::shipped(),
            probe: None,
            clock: Arc::new(HeldClock::new(START)),
            store: None,
            directory: None,
            runs: None,
        }
    }

    /// Adds a tool of the provider `fake`.
    pub(crate) fn tool<F, R>(mut self, spec: ToolSpec, run: F) -> Self
    where
        F: Fn(ToolCall, CallContext) -> R + Send + Sync + 'static,
        R: Future<Output = Result<Answer, ProviderError>> + Send + 'static,
    {
        self.fake = self.fake.tool(spec, run);
        self
    }

    /// Adds another provider.
    pub(crate) fn provider(mut self, provider: impl Provider + 'static) -> Self {
        self.more.push(Arc::new(provider));
        self
    }

    /// Adds the tools of these runs.
    pub(crate) fn runs(mut self, runs: &Runs) -> Self {
        self.more.push(runs.provider());
        self.runs = Some(runs.clone());
        self
    }

    /// Adds the user's rules to the shipped ones.
    pub(crate) fn rules(mut self, text: &str) -> Self {
        self.rules.push_str(text);
        self
    }

    pub(crate) fn settings(mut self, change: impl FnOnce(&mut Settings)) -> Self {
        change(&mut self.settings);
        self
    }

    pub(crate) fn selection(mut self, selection: Selection) -> Self {
        self.selection = selection;
        self
    }

    pub(crate) fn cleaner(mut self, cleaner: Cleaner) -> Self {
        self.cleaner = cleaner;
        self
    }

    pub(crate) fn probe(mut self, probe: Arc<dyn StageProbe>) -> Self {
        self.probe = Some(probe);
        self
    }

    pub(crate) fn clock(mut self, clock: &Arc<HeldClock>) -> Self {
        self.clock = Arc::clone(clock);
        self
    }

    /// Keeps everything where `store` does.
    pub(crate) fn store(mut self, store: Arc<dyn Store>) -> Self {
        self.store = Some(store);
        self
    }

    /// Keeps everything in a real file.
    pub(crate) fn on_disk(mut self) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let settings = tollgate_store::Settings::new(directory.path().join("state"));
        let clock: Arc<HeldClock> = Arc::clone(&self.clock);
        self.store = Some(Arc::new(SqliteStore::open(settings, clock).unwrap()));
        self.directory = Some(directory);
        self
    }

    pub(crate) async fn build(self) -> World {
        let memory = Arc::new(MemoryStore::new());
        let kept_in_memory: Arc<dyn Store> = Arc::clone(&memory) as Arc<dyn Store>;
        let fake = Arc::new(self.fake);
        let gate = GateTools::default();
        let mut providers: Vec<Arc<dyn Provider>> = vec![gate.provider()];
        providers.push(Arc::clone(&fake) as Arc<dyn Provider>);
        providers.extend(self.more);
        let log = Arc::new(Lines::default());
        let spans = Arc::new(Spans::default());
        let parts = Parts {
            cleaner: self.cleaner,
            settings: self.settings,
            approval_key: Secret::new([7; 32]),
            log: Arc::clone(&log) as Arc<_>,
            spans: Arc::clone(&spans) as Arc<_>,
            probe: self.probe,
            ..Parts::new(
                self.store.unwrap_or(kept_in_memory),
                Catalog::collect(providers, &self.selection).await,
                policies(&self.rules),
                Arc::clone(&self.clock) as Arc<_>,
            )
        };
        let gateway = Gateway::new(parts);
        gate.attach(&gateway);
        if let Some(runs) = &self.runs {
            runs.attach(&gateway);
        }
        World {
            gateway,
            memory,
            clock: self.clock,
            fake,
            log,
            spans,
            gate,
            _directory: self.directory,
        }
    }
}

/// The shipped rules and these.
pub(crate) fn policies(rules: &str) -> Policies {
    let user = Source {
        name: "user.cedar".to_owned(),
        text: rules.to_owned(),
        origin: Origin::User,
    };
    Policies::compile(vec![Source::shipped(), user]).unwrap()
}
