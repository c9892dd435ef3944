//! A whole gate in a folder that is thrown away: put together as the program does,
//! log on, with stand-in tools beside the real ones.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::{Context as _, anyhow, bail};
use tollgate_core::{
    CallId, Capability, Payload, Principal, Provider, Store as _, Surface, ToolName,
    audit::{AuditEntry, AuditQuery},
    store::{AuditLog as _, Batch, Body, Change},
};
use tollgate_engine::{
    Caller, Catalog, Disposition, GateTools, Request, Selection, random_hex, session::Lifetime,
};
use tollgate_providers::stub::StubTool;

use crate::{
    config::{Config, Environment, Flags},
    wire::{self, Wired},
};

/// The stand-in for a tool that changes something; a rule lets it run unasked.
pub(super) const EFFECT: &str = "bench.effect";
/// Rows written at once to make a log long.
const FILL: u64 = 1000;

const CONFIG: &str = "[log]\nfile = \"bench.log\"\nlevel = \"debug\"\n";
const POLICY: &str = "@id(\"bench.effect\")\n\
    permit (principal, action == Action::\"call\", resource == Tool::\"bench.effect\");\n";

/// A folder that goes away with its owner.
pub(super) struct Scratch(PathBuf);

impl Scratch {
    pub(super) fn inside(folder: &Path) -> io::Result<Self> {
        let path = folder.join(format!("bench-{}", random_hex(6)?));
        fs::create_dir_all(&path)?;
        Ok(Self(path))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

/// A gate to measure.
pub(super) struct Rig {
    pub(super) wired: Wired,
    config: Config,
    environment: Environment,
    _scratch: Scratch,
}

impl Rig {
    /// Opens a gate with so many stand-in tools.
    pub(super) async fn open(folder: &Path, stubs: usize) -> anyhow::Result<Self> {
        let scratch = Scratch::inside(folder).context("no folder for the measurement")?;
        let configuration = scratch.path().join("config/tollgate");
        fs::create_dir_all(configuration.join("policies"))?;
        fs::write(configuration.join("tollgate.toml"), CONFIG)?;
        fs::write(configuration.join("policies/bench.cedar"), POLICY)?;
        let environment = environment(scratch.path());
        let config = Config::load(&environment, &Flags::default())
            .map_err(|errors| anyhow!("{errors:?}"))?;
        let rig = Self {
            wired: wire::wire(&config, &environment).await?,
            config,
            environment,
            _scratch: scratch,
        };
        rig.offer(stubs).await;
        Ok(rig)
    }

    /// Puts a catalogue in place in which nothing was used yet.
    pub(super) async fn offer(&self, stubs: usize) {
        let gate_tools = GateTools::default();
        let mut providers: Vec<Arc<dyn Provider>> = vec![gate_tools.provider()];
        let settings = tollgate_providers::Settings {
            stub: tollgate_providers::stub::Settings {
                tools: stand_ins(stubs),
            },
            ..tollgate_providers::Settings::default()
        };
        let own = tollgate_providers::all(settings, &providers);
        providers.extend(own);
        let catalog = Catalog::collect(providers, &Selection::default()).await;
        self.wired.gateway.replace_catalog(catalog);
        gate_tools.attach(&self.wired.gateway);
    }

    /// Lets go of everything and opens it again, as the next command would.
    pub(super) async fn reopen(self) -> anyhow::Result<Self> {
        self.wired.close().await;
        Ok(Self {
            wired: wire::wire(&self.config, &self.environment).await?,
            ..self
        })
    }

    /// One call, as a front end makes it; `false` never happens quietly.
    pub(super) async fn call(
        &self,
        caller: &Caller,
        tool: &str,
        arguments: String,
    ) -> anyhow::Result<CallId> {
        let request = Request::new(tool, Payload::parse(arguments)?);
        let outcome = self.wired.gateway.call(caller, request).await;
        if outcome.disposition != Disposition::Done {
            bail!("{tool}: {:?}", outcome.envelope.get().error);
        }
        self.wired.gateway.delivered(&outcome).await?;
        Ok(outcome.call)
    }

    /// Makes the audit log long, with rows and bodies like those of a real call.
    pub(super) async fn fill(&self, rows: u64) -> anyhow::Result<()> {
        let caller = caller(Lifetime::Process);
        let call = self
            .call(&caller, "text.stats", text(u64::MAX))
            .await?
            .as_str()
            .to_owned();
        let store = &self.wired.store;
        let query = AuditQuery {
            limit: 1,
            newest_first: true,
            call_id: Some(call.clone()),
            ..AuditQuery::default()
        };
        let row = store.records(&query).await?.pop().context("no row")?;
        let body = store.body(&CallId(call.as_str().into())).await?;
        let trace = row.columns.trace_id.clone().unwrap_or_default();
        let (time, _) = call.split_at_checked(12).context("a short id")?;
        let began = u64::from_str_radix(time, 16)?.saturating_sub(rows);
        let mut written = 0;
        while written < rows {
            let mut batch = Batch::default();
            for number in written..(written + FILL).min(rows) {
                let chance = format!("{:032x}", scatter(number));
                let id = format!("{:012x}{}", began + number, &chance[12..]);
                let told = row.body.replace(&call, &id).replace(&trace, &chance);
                batch.audit.push(AuditEntry::new(told));
                batch.changes.extend(body.as_ref().map(|body| {
                    Change::KeepBody(Body {
                        call: CallId(id.as_str().into()),
                        ..body.clone()
                    })
                }));
            }
            store.commit(batch).await?;
            written += FILL;
        }
        Ok(())
    }
}

/// The caller of every measurement: an agent on this machine.
pub(super) fn caller(lifetime: Lifetime) -> Caller {
    Caller {
        lifetime,
        ..Caller::local(Principal::user(1000), "bench", Surface::Jsonl)
    }
}

/// Arguments that nobody sent before.
pub(super) fn text(number: u64) -> String {
    format!("{{\"text\":\"the quick brown fox number {number} jumps over the lazy dog\"}}")
}

/// Numbers that share no beginning, like random ones.
fn scatter(number: u64) -> u128 {
    u128::from(number).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835)
}

fn stand_ins(count: usize) -> Vec<StubTool> {
    let reads = (0..count).map(|number| format!("bench.read_{number}"));
    let mut tools: Vec<StubTool> = std::iter::once(EFFECT.to_owned())
        .chain(reads)
        .filter_map(|name| ToolName::new(name).ok())
        .map(StubTool::new)
        .collect();
    if let Some(effect) = tools.first_mut() {
        effect.capability = Capability::L1;
    }
    tools
}

fn environment(folder: &Path) -> Environment {
    let folders = [
        ("XDG_CONFIG_HOME", "config"),
        ("XDG_DATA_HOME", "data"),
        ("XDG_STATE_HOME", "state"),
    ];
    let variables = folders.map(|(name, below)| (name.into(), folder.join(below).into()));
    Environment {
        variables: variables.into_iter().collect::<BTreeMap<_, _>>(),
        home: Some(folder.to_owned()),
        current_dir: folder.to_owned(),
        ..Environment::default()
    }
}
