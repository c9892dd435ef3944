//! Which files commands may touch.
//!
//! Invariants: a caller that is no person at a shell reads only the folders an operator named and what its own session
//! wrote, after links are resolved; what a session writes of its own accord stays in its own folder, and never takes the
//! place of something it wrote before.

use std::{
    collections::BTreeSet,
    ffi::OsStr,
    fs,
    io::{self, Read as _},
    path::{Component, Path, PathBuf},
};

use tollgate_core::{CallContext, SessionKey, Surface, TrustLevel, canonical::hex_digest};
use tollgate_keepa::{
    Error, Kind, fixtures,
    resources::manifest_rows,
    service::{Place, Roots, Samples, Saved, Shelf, Target, World},
};

use super::{Settings, memory::Memory};

/// The most of one file that is read.
const MOST_BYTES: u64 = 64 << 20;
const MANIFEST: &str = "manifest.csv";

/// The folders.
pub(super) struct Files {
    fixture_dirs: Vec<PathBuf>,
    evidence_dir: Option<PathBuf>,
    wiki_dir: Option<PathBuf>,
    pages: Vec<(String, &'static str)>,
    promote_dirs: Vec<PathBuf>,
    output_dir: PathBuf,
    working_dir: Option<PathBuf>,
    reads_working_dir: bool,
}

impl Files {
    pub(super) fn new(settings: &Settings) -> Self {
        Self {
            fixture_dirs: settings.fixture_dirs.clone(),
            evidence_dir: settings.evidence_dir.clone(),
            wiki_dir: settings.wiki_dir.clone(),
            pages: settings.pages.clone(),
            promote_dirs: settings.promote_dirs.clone(),
            output_dir: settings.output_dir.clone(),
            working_dir: settings.working_dir.clone(),
            reads_working_dir: settings.reads_working_dir,
        }
    }

    /// The folders a caller can name files of. Whoever is not on this machine is told of its own only.
    pub(super) fn roots(&self, cx: &CallContext) -> Roots {
        let text = |folder: &PathBuf| folder.display().to_string();
        let own = text(&self.own(&cx.session));
        if cx.trust != TrustLevel::Local {
            return Roots {
                repo_root: None,
                read_roots: vec![own.clone()],
                write_roots: vec![own],
            };
        }
        let promoted = || self.promote_dirs.iter().map(text);
        let named = self.named(cx.trust).map(text);
        Roots {
            repo_root: self.working_dir.as_ref().map(text),
            read_roots: [own.clone()].into_iter().chain(named).collect(),
            write_roots: [own].into_iter().chain(promoted()).collect(),
        }
    }

    /// The folders of an operator's whose files callers may read: where Tollgate was started only on this machine.
    fn named(&self, trust: TrustLevel) -> impl Iterator<Item = &PathBuf> {
        let folders = self.fixture_dirs.iter().chain(&self.evidence_dir);
        let working = self.working_dir.iter();
        let is_open = self.reads_working_dir && trust == TrustLevel::Local;
        let working = working.filter(move |_| is_open);
        folders.chain(&self.promote_dirs).chain(working)
    }

    /// A folder that was named and is not there.
    pub(super) fn complaint(&self) -> Option<String> {
        let named = self
            .fixture_dirs
            .iter()
            .chain(&self.evidence_dir)
            .chain(&self.wiki_dir);
        let mut gone = named.filter(|folder| !folder.is_dir());
        gone.next()
            .map(|folder| format!("there is no folder {}", folder.display()))
    }

    /// The session's own folder; its name tells nothing of the session.
    fn own(&self, session: &SessionKey) -> PathBuf {
        let name = format!("{}\n{}", session.principal.as_str(), session.handle);
        let digest = hex_digest(name.as_bytes());
        self.output_dir.join(digest.get(..16).unwrap_or_default())
    }

    pub(super) fn load<W: World>(
        &self,
        world: &W,
        place: Place<'_>,
        memory: &Memory,
        cx: &CallContext,
    ) -> Result<String, Error> {
        match place {
            Place::Fixture(name) => self.sample(name),
            Place::Page(name) => self.page(name),
            Place::Manifest => {
                let folder = self.evidence_dir.as_ref();
                let folder = folder.ok_or_else(|| refused("there is no folder of evidence"))?;
                read(&folder.join(MANIFEST)).map_err(|_| refused("there is no list of evidence"))
            }
            Place::Evidence(path) => self.evidence(world, path),
            Place::Input(path) => self.input(path, memory, cx),
            Place::Written(path) => {
                let resolved = fs::canonicalize(path).map_err(|_| unreadable(path))?;
                if !self.is_own(&resolved, memory, cx) {
                    return Err(unreadable(path));
                }
                read(&resolved).map_err(|_| unreadable(path))
            }
        }
    }

    fn sample(&self, name: &str) -> Result<String, Error> {
        if !is_bare(name) || !name.ends_with(".json") {
            let message = "a fixture is named by its bare file name, which ends in .json";
            return Err(Error::new(Kind::FixtureNotFound, message));
        }
        for folder in &self.fixture_dirs {
            if let Ok(text) = read(&folder.join(name)) {
                return Ok(text);
            }
        }
        fixtures::find(name).map(str::to_owned).ok_or_else(|| {
            let known: Vec<String> = self.names(Shelf::Fixtures);
            let message = format!("there is no fixture {name:?}");
            Error::new(Kind::FixtureNotFound, message).with("fixtures", known)
        })
    }

    fn page(&self, name: &str) -> Result<String, Error> {
        let gone = || Error::new(Kind::ResourceNotFound, format!("there is no page {name:?}"));
        if !is_bare(name) {
            return Err(gone());
        }
        match &self.wiki_dir {
            Some(folder) => read(&folder.join(name)).map_err(|_| gone()),
            None => {
                let found = self.pages.iter().find(|(known, _)| known == name);
                found.map(|(_, text)| (*text).to_owned()).ok_or_else(gone)
            }
        }
    }

    fn evidence<W: World>(&self, world: &W, path: &str) -> Result<String, Error> {
        let gone = || {
            Error::new(
                Kind::ResourceNotFound,
                format!("there is no evidence {path:?}"),
            )
        };
        let folder = self.evidence_dir.as_ref().ok_or_else(gone)?;
        let rows = manifest_rows(world);
        let is_listed = rows
            .iter()
            .any(|row| row.get("logical_path").and_then(serde_json::Value::as_str) == Some(path));
        if !is_listed || !goes_down(path) {
            return Err(gone());
        }
        let inside = below(folder, &folder.join(path)).ok_or_else(gone)?;
        read(&inside).map_err(|_| gone())
    }

    /// A file that a caller names.
    fn input(&self, path: &str, memory: &Memory, cx: &CallContext) -> Result<String, Error> {
        let resolved = self.readable(path, memory, cx)?;
        read(&resolved).map_err(|_| unreadable(path))
    }

    /// A folder that a caller names.
    pub(super) fn folder(
        &self,
        path: &str,
        memory: &Memory,
        cx: &CallContext,
    ) -> Result<PathBuf, Error> {
        let resolved = self.readable(path, memory, cx)?;
        if resolved.is_dir() {
            Ok(resolved)
        } else {
            Err(refused(&format!("{path} is no folder")))
        }
    }

    /// Whether the session wrote it.
    fn is_own(&self, resolved: &Path, memory: &Memory, cx: &CallContext) -> bool {
        let own = self.own(&cx.session);
        below(&own, resolved).is_some() || memory.has_written(&cx.session, resolved)
    }

    /// The samples of a folder with their fingerprints. A session that was let write into a folder may compare it.
    pub(super) fn samples(
        &self,
        path: &str,
        memory: &Memory,
        cx: &CallContext,
    ) -> Result<Samples, Error> {
        if !Path::new(path).exists() {
            return Ok(Samples::new());
        }
        let folder = fs::canonicalize(path).map_err(|_| unreadable(path))?;
        if !memory.has_written_into(&cx.session, &folder) {
            self.folder(path, memory, cx)?;
        }
        let mut samples = Samples::new();
        for name in listed(&folder, ".json") {
            let bytes = fs::read(folder.join(&name)).map_err(|_| unreadable(&name))?;
            samples.insert(name, hex_digest(&bytes));
        }
        Ok(samples)
    }

    /// What a caller names, links resolved, if that caller may read it.
    fn readable(&self, path: &str, memory: &Memory, cx: &CallContext) -> Result<PathBuf, Error> {
        let resolved = fs::canonicalize(path).map_err(|_| unreadable(path))?;
        let is_named = || {
            let mut folders = self.named(cx.trust);
            folders.any(|folder| below(folder, &resolved).is_some())
        };
        // A person at a shell can read all of this without us.
        if cx.surface == Surface::Cli || self.is_own(&resolved, memory, cx) || is_named() {
            return Ok(resolved);
        }
        Err(unreadable(path))
    }

    pub(super) fn names(&self, shelf: Shelf) -> Vec<String> {
        let mut names = BTreeSet::new();
        match shelf {
            Shelf::Fixtures => {
                names.extend(fixtures::names().map(str::to_owned));
                for folder in &self.fixture_dirs {
                    names.extend(listed(folder, ".json"));
                }
            }
            Shelf::Pages => match &self.wiki_dir {
                Some(folder) => names.extend(listed(folder, ".md")),
                None => names.extend(self.pages.iter().map(|(name, _)| name.clone())),
            },
        }
        names.into_iter().collect()
    }

    pub(super) fn save(
        &self,
        target: Target<'_>,
        bytes: &[u8],
        memory: &Memory,
        session: &SessionKey,
    ) -> Result<Saved, Error> {
        let path = match target {
            Target::Path(path) => PathBuf::from(path),
            Target::Own(name) if goes_down(name) => own_place(self.own(session).join(name), bytes),
            Target::Own(_) => return Err(refused("that name cannot be a file's")),
        };
        let failed = |error: io::Error| {
            refused(&format!(
                "{} cannot be written: {}",
                path.display(),
                error.kind()
            ))
        };
        if let Some(folder) = path
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty())
        {
            fs::create_dir_all(folder).map_err(failed)?;
        }
        write_whole(&path, bytes).map_err(failed)?;
        let resolved = fs::canonicalize(&path).map_err(failed)?;
        let shown = resolved.display().to_string();
        memory.wrote(session, resolved);
        Ok(Saved {
            path: shown,
            bytes: bytes.len(),
        })
    }
}

/// Where a session's own file goes: under its name, and beside a file of that name that holds something else. An earlier
/// answer still leads to what it was about.
fn own_place(path: PathBuf, bytes: &[u8]) -> PathBuf {
    let is_free = match fs::read(&path) {
        Ok(there) => there == bytes,
        Err(_) => true,
    };
    if is_free {
        return path;
    }
    let digest = hex_digest(bytes);
    let part = |part: Option<&OsStr>| part.unwrap_or_default().to_string_lossy().into_owned();
    let (stem, end) = (part(path.file_stem()), part(path.extension()));
    let short = digest.get(..12).unwrap_or_default();
    path.with_file_name(format!("{stem}-{short}.{end}"))
}

/// Writes a file so that nobody ever sees half of it.
fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let beside = path.with_file_name(format!(".{name}.{}.part", std::process::id()));
    fs::write(&beside, bytes)?;
    let moved = fs::rename(&beside, path);
    if moved.is_err() {
        drop(fs::remove_file(&beside));
    }
    moved
}

fn refused(message: &str) -> Error {
    Error::new(Kind::FileRefused, message)
}

fn unreadable(path: &str) -> Error {
    refused(&format!("{path} cannot be read here"))
}

fn read(path: &Path) -> io::Result<String> {
    let file = fs::File::open(path)?;
    let mut text = String::new();
    let length = file.take(MOST_BYTES + 1).read_to_string(&mut text)?;
    if length as u64 > MOST_BYTES {
        return Err(io::Error::other("too large"));
    }
    Ok(text)
}

fn is_bare(name: &str) -> bool {
    !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\\', '\0'])
}

fn goes_down(path: &str) -> bool {
    let mut parts = Path::new(path).components();
    !path.is_empty()
        && !path.contains('\0')
        && parts.all(|part| matches!(part, Component::Normal(_)))
}

/// The path with links resolved, if it lies in the folder.
fn below(folder: &Path, path: &Path) -> Option<PathBuf> {
    let folder = fs::canonicalize(folder).ok()?;
    let path = fs::canonicalize(path).ok()?;
    path.starts_with(&folder).then_some(path)
}

fn listed(folder: &Path, end: &str) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names
        .filter(|name| name.ends_with(end) && is_bare(name))
        .collect()
}
