//! Skills from files: read at the start, and again whenever a file changes.
//!
//! A skill is `NAME.yaml` with its guide in `NAME/SKILL.md` beside it. Invariants: a file
//! that cannot be read turns its skill off and never on; what an operator turned off stays
//! off until a human turns it on; rules of skills only forbid.

mod manifest;
mod shelf;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, SystemTime},
};

use crate::{config::Config, wire};
use serde::{Deserialize, Deserializer, Serialize};
use tollgate_engine::{
    Gateway, Skill, TURNED_OFF,
    policy::{Origin, Policies, Source},
};

use manifest::Manifest;
pub(crate) use shelf::{Found, read_file, read_folder, shipped};

/// How often a process that stays looks whether a file has changed.
const EVERY: Duration = Duration::from_secs(1);
/// The file of what is turned off, in the state folder.
const DISABLED: &str = "skills.json";

/// Where skills come from, and what was read last.
pub struct Book {
    folders: Vec<PathBuf>,
    disabled: PathBuf,
    /// The last manifest of each file that could be read.
    known: Mutex<BTreeMap<PathBuf, Manifest>>,
    /// What was turned off when the file was last read, and which state of the file that was.
    seen: Mutex<(Option<OneStamp>, Arc<BTreeSet<String>>)>,
}

/// What is turned off.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Off {
    #[serde(deserialize_with = "disabled")]
    disabled: BTreeMap<String, DisabledSkill>,
}

/// What a skill named when it was turned off: it stays hidden and refused when its manifest is
/// gone.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct DisabledSkill {
    #[serde(default)]
    required_tools: Vec<String>,
    #[serde(default)]
    allowed_run_types: Vec<String>,
}

/// Also reads the list of names that earlier versions wrote.
fn disabled<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, DisabledSkill>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Either {
        Names(BTreeSet<String>),
        DisabledSkill(BTreeMap<String, DisabledSkill>),
    }
    Ok(match Either::deserialize(deserializer)? {
        Either::Names(names) => names
            .into_iter()
            .map(|name| (name, DisabledSkill::default()))
            .collect(),
        Either::DisabledSkill(disabled) => disabled,
    })
}

/// The rules that are no skill's. Whoever puts rules in force holds them meanwhile, so that no
/// older ones take the place of newer ones.
pub type BaseRules = Arc<tokio::sync::Mutex<Vec<Source>>>;

/// Skills, and the rules that go with them.
pub struct Loaded {
    /// Every skill.
    pub skills: Vec<Skill>,
    /// The rules of those that are on.
    pub rules: Vec<Source>,
}

/// What tells one state of the files from another.
type Stamp = Vec<(PathBuf, u64, Option<SystemTime>)>;
/// The same for one file that is always replaced whole.
type OneStamp = Option<(u64, u64, Option<SystemTime>)>;

impl Book {
    /// The folders that the configuration names.
    pub fn new(config: &Config) -> Self {
        Self {
            folders: config.skills.folders.clone(),
            disabled: config.state.dir.join(DISABLED),
            known: Mutex::default(),
            seen: Mutex::default(),
        }
    }

    /// What is turned off now; the same value as long as its file is the same. A file that
    /// cannot be read turns everything off when skills are read again, and changes nothing here.
    pub fn turned_off(&self) -> Arc<BTreeSet<String>> {
        let now = one_stamp(&self.disabled);
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.0 != Some(now)
            && let Ok(off) = self.off()
        {
            let names: BTreeSet<String> = off.disabled.into_keys().collect();
            if *seen.1 != names {
                seen.1 = Arc::new(names);
            }
            seen.0 = Some(now);
        }
        Arc::clone(&seen.1)
    }

    /// Reads everything.
    pub fn load(&self) -> Loaded {
        let off = self.off();
        let mut skills: BTreeMap<String, (Skill, Option<Source>)> = BTreeMap::new();
        let own = self.folders.iter().flat_map(|folder| read_folder(folder));
        let mut taken: BTreeMap<String, String> = BTreeMap::new();
        for found in shipped().into_iter().chain(own) {
            let is_own = found.path.is_some();
            let (mut skill, rules) = self.skill(found);
            if is_own && let Some(first) = taken.get(&skill.name) {
                let skill = skills.get_mut(&skill.name);
                let why = format!("{first} is not the only file of this name");
                skill
                    .into_iter()
                    .for_each(|(skill, _)| skill.off = Some(why.clone()));
                continue;
            }
            match &off {
                Ok(off) => {
                    if let Some(disabled) = off.disabled.get(&skill.name) {
                        disabled.keep(&mut skill);
                    }
                }
                Err(error) => skill.off = Some(format!("{DISABLED} cannot be read: {error}")),
            }
            if is_own {
                taken.insert(skill.name.clone(), skill.source.clone());
            }
            skills.insert(skill.name.clone(), (skill, rules));
        }
        for (name, disabled) in off.iter().flat_map(|off| &off.disabled) {
            let gone = || (disabled.skill(name), None);
            skills.entry(name.clone()).or_insert_with(gone);
        }
        let (skills, rules): (Vec<_>, Vec<_>) = skills.into_values().unzip();
        let rules = skills.iter().zip(rules);
        let rules = rules.filter_map(|(skill, rules)| rules.filter(|_| skill.off.is_none()));
        Loaded {
            rules: rules.collect(),
            skills,
        }
    }

    /// A skill as it was found, and its rules.
    fn skill(&self, found: Found) -> (Skill, Option<Source>) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let (manifest, off) = match found.manifest {
            Ok(manifest) => {
                if let Some(path) = &found.path {
                    known.insert(path.clone(), manifest.clone());
                }
                (Some(manifest), None)
            }
            // What it allowed before, it allowed; what it is now, nobody knows.
            Err(problems) => {
                let before = found
                    .path
                    .as_ref()
                    .and_then(|path| known.get(path).cloned());
                let first = problems.first().map(ToString::to_string);
                (before, first.or(Some("it cannot be read".to_owned())))
            }
        };
        let stem = found.stem;
        let Some(manifest) = manifest else {
            let skill = Skill {
                description: String::new(),
                required_tools: Vec::new(),
                allowed_run_types: vec![stem.clone()],
                templates: Vec::new(),
                risk_policy: String::new(),
                guide: String::new(),
                source: found.source,
                name: stem,
                off,
            };
            return (skill, None);
        };
        let rules = manifest.rules().map(|text| Source {
            name: found.source.clone(),
            text,
            origin: match found.path {
                None => Origin::ShippedSkill,
                Some(_) => Origin::Restricting,
            },
        });
        let skill = Skill {
            risk_policy: manifest.risk_name().to_owned(),
            guide: found.guide.unwrap_or_else(|| plain_guide(&manifest)),
            source: found.source,
            name: manifest.name,
            description: manifest.description,
            required_tools: manifest.required_tools,
            allowed_run_types: manifest.allowed_run_types,
            templates: manifest.templates,
            off,
        };
        (skill, rules)
    }

    fn off(&self) -> io::Result<Off> {
        match fs::read(&self.disabled) {
            Ok(bytes) => Ok(serde_json::from_slice(&bytes)?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Off::default()),
            Err(error) => Err(error),
        }
    }

    /// Turns a skill off, with what it names, or on by its name; for every process, and two at
    /// the same time lose nothing.
    pub fn turn(&self, name: &str, off_with: Option<&Skill>) -> io::Result<()> {
        let lock = File::create(self.disabled.with_extension("lock"))?;
        lock.lock()?;
        let mut off = self.off()?;
        match off_with {
            None => {
                off.disabled.remove(name);
            }
            Some(skill) => {
                let disabled = DisabledSkill {
                    required_tools: skill.required_tools.clone(),
                    allowed_run_types: skill.allowed_run_types.clone(),
                };
                off.disabled.insert(name.to_owned(), disabled);
            }
        }
        let fresh = self.disabled.with_extension("new");
        let mut file = File::create(&fresh)?;
        file.write_all(&serde_json::to_vec(&off)?)?;
        file.sync_all()?;
        fs::rename(fresh, &self.disabled)
    }

    fn stamp(&self) -> Stamp {
        let own = self.folders.iter().flat_map(|folder| shelf::files(folder));
        own.chain([self.disabled.clone()])
            .map(|path| {
                let about = fs::metadata(&path).ok();
                let bytes = about.as_ref().map_or(0, fs::Metadata::len);
                (path, bytes, about.and_then(|about| about.modified().ok()))
            })
            .collect()
    }
}

impl DisabledSkill {
    /// Turns a skill off; one that cannot be read any more keeps the names it had.
    fn keep(&self, skill: &mut Skill) {
        skill.off = Some(TURNED_OFF.to_owned());
        if skill.required_tools.is_empty() {
            skill.required_tools.clone_from(&self.required_tools);
            skill
                .allowed_run_types
                .extend(self.allowed_run_types.iter().cloned());
        }
    }

    /// What stands for a skill whose manifest is gone.
    fn skill(&self, name: &str) -> Skill {
        let named = |names: &Vec<String>| match names.is_empty() {
            // What it allowed is not known; most skills are called like the runs they allow.
            true => vec![name.to_owned()],
            false => names.clone(),
        };
        Skill {
            name: name.to_owned(),
            description: "Its manifest is gone.".to_owned(),
            required_tools: self.required_tools.clone(),
            allowed_run_types: named(&self.allowed_run_types),
            templates: Vec::new(),
            risk_policy: String::new(),
            guide: String::new(),
            source: DISABLED.to_owned(),
            off: Some(TURNED_OFF.to_owned()),
        }
    }
}

fn one_stamp(path: &Path) -> OneStamp {
    let about = fs::metadata(path).ok()?;
    #[cfg(unix)]
    let place = std::os::unix::fs::MetadataExt::ino(&about);
    #[cfg(not(unix))]
    let place = 0;
    Some((place, about.len(), about.modified().ok()))
}

/// What is said where nobody wrote a guide.
fn plain_guide(manifest: &Manifest) -> String {
    let tools = manifest.required_tools.join("`, `");
    format!(
        "# {}\n\n{}\n\nTools: `{tools}`.\n",
        manifest.name, manifest.description
    )
}

/// The skills with rules that compile together with these; those whose do not are turned off.
pub fn compiled(
    mut loaded: Loaded,
    base: &[Source],
) -> Result<(Vec<Skill>, Policies), wire::WireError> {
    let all = |rules: &[Source]| base.iter().chain(rules).cloned().collect::<Vec<_>>();
    let problems = match Policies::compile(all(&loaded.rules)) {
        Ok(policies) => return Ok((loaded.skills, policies)),
        Err(problems) => problems,
    };
    for skill in &mut loaded.skills {
        let own = problems.iter().find(|problem| problem.file == skill.source);
        if let Some(problem) = own {
            skill.off = Some(format!("its rules cannot be used: {problem}"));
        }
    }
    let is_good = |rules: &Source| !problems.iter().any(|problem| problem.file == rules.name);
    loaded.rules.retain(is_good);
    let policies = Policies::compile(all(&loaded.rules)).map_err(wire::WireError::Policy)?;
    Ok((loaded.skills, policies))
}

/// Looks after the files for as long as the gate lives. A change that cannot be used leaves
/// what was there, and is told.
pub fn watch(
    gateway: &Gateway,
    book: Arc<Book>,
    base: BaseRules,
    told: impl Fn(&str) + Send + 'static,
) {
    let gateway = gateway.downgrade();
    tokio::spawn(async move {
        let mut last = book.stamp();
        loop {
            tokio::time::sleep(EVERY).await;
            let Some(gateway) = gateway.upgrade() else {
                return;
            };
            let looking = Arc::clone(&book);
            // A look that fails is made again the next time.
            let Ok(now) = tokio::task::spawn_blocking(move || looking.stamp()).await else {
                continue;
            };
            if now == last {
                continue;
            }
            last = now;
            let base = base.lock().await;
            let (reading, rules) = (Arc::clone(&book), base.clone());
            let read = tokio::task::spawn_blocking(move || compiled(reading.load(), &rules));
            match read.await {
                Ok(Ok((skills, policies))) => gateway.replace_skills(skills, policies).await,
                Ok(Err(error)) => told(&format!("the change is not in force: {error}")),
                Err(_) => told("the change is not in force: reading it crashed"),
            }
        }
    });
}
