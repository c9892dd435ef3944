//! Control groups: memory, processes and processor time of a whole run together.
//!
//! Version 2 where a part of the tree was delegated to us, else version 1, else nothing, and
//! then every result says so. A group lives as long as its run; those of a process that died
//! are swept by the next one.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process};

use crate::job::Limits;

/// Begins the name of every group we make.
const PREFIX: &str = "tollgate-";
/// The helper and the guard inside are ours, not the program's.
const OURS: u32 = 2;

/// How often a group that somebody left behind is tried to be cleared.
const CLEARINGS: u64 = 20;

static COUNT: AtomicU64 = AtomicU64::new(0);

/// Where groups can be made, found once.
#[derive(Debug, Clone)]
pub struct Cgroups(Arc<Place>);

#[derive(Debug)]
enum Place {
    /// Below this folder, with memory and processes.
    V2(PathBuf),
    /// Below a folder for each controller.
    V1 {
        memory: PathBuf,
        pids: PathBuf,
        cpu: Option<PathBuf>,
    },
    /// Nowhere, for this reason.
    Nowhere(String),
}

impl Cgroups {
    /// Looks where this process may make groups.
    pub fn find() -> Self {
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let place = find(&mounts, &own);
        for folder in place.folders() {
            sweep(folder);
        }
        Self(Arc::new(place))
    }

    /// Makes none, as on a machine where nobody may.
    pub fn none() -> Self {
        Self(Arc::new(Place::Nowhere("turned off".to_owned())))
    }

    /// What limits runs as a whole, in a few words.
    pub fn describe(&self) -> String {
        match &*self.0 {
            Place::V2(_) => "control groups, version 2".to_owned(),
            Place::V1 { .. } => "control groups, version 1".to_owned(),
            Place::Nowhere(why) => format!("limits per process only: {why}"),
        }
    }

    /// Whether groups can be made.
    pub fn is_there(&self) -> bool {
        !matches!(&*self.0, Place::Nowhere(_))
    }

    /// Makes a group; `None` where that is not possible.
    pub(crate) fn make(&self, limits: &Limits) -> Option<Cgroup> {
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let own = std::process::id();
        let name = format!("{PREFIX}{own}.{}-{count}", begun(own).unwrap_or(0));
        Cgroup::make(&self.0, &name, limits).ok().flatten()
    }
}

impl Place {
    fn folders(&self) -> Vec<&PathBuf> {
        match self {
            Self::V2(folder) => vec![folder],
            Self::V1 { memory, pids, cpu } => {
                [memory, pids].into_iter().chain(cpu.as_ref()).collect()
            }
            Self::Nowhere(_) => Vec::new(),
        }
    }
}

fn find(mounts: &str, own: &str) -> Place {
    let second = second_version(mounts, own);
    if let Some(folder) = second.into_iter().find(|folder| can_make(folder)) {
        return Place::V2(folder);
    }
    let first = |controller| {
        let folder = first_version(mounts, own, controller)?;
        can_make(&folder).then_some(folder)
    };
    match (first("memory"), first("pids")) {
        (Some(memory), Some(pids)) => Place::V1 {
            memory,
            pids,
            cpu: first("cpuacct"),
        },
        _ => Place::Nowhere("no part of the control groups is delegated to this user".to_owned()),
    }
}

/// A mount as `mountinfo` describes it: what is shown, where, of which kind, with which options.
struct Mount<'a> {
    root: &'a str,
    at: &'a str,
    kind: &'a str,
    options: &'a str,
}

fn parse(mounts: &str) -> impl Iterator<Item = Mount<'_>> {
    mounts.lines().filter_map(|line| {
        let (place, what) = line.split_once(" - ")?;
        let mut place = place.split(' ').skip(3);
        let mut what = what.split(' ');
        Some(Mount {
            root: place.next()?,
            at: place.next()?,
            kind: what.next()?,
            options: what.nth(1)?,
        })
    })
}

impl Mount<'_> {
    /// Where a group of ours is, if this mount shows it.
    fn folder(&self, own: &str) -> Option<PathBuf> {
        let below = Path::new(own).strip_prefix(self.root).ok()?;
        Some(Path::new(self.at).join(below))
    }
}

/// Folders of version 2 that count memory and processes for those below them.
fn second_version(mounts: &str, own: &str) -> Vec<PathBuf> {
    let own = own.lines().find_map(|line| line.strip_prefix("0::"));
    let mount = parse(mounts).find(|mount| mount.kind == "cgroup2");
    let (Some(own), Some(mount)) = (own, mount) else {
        return Vec::new();
    };
    let Some(here) = mount.folder(own) else {
        return Vec::new();
    };
    // A group with processes of its own has no counted groups below it, so a sibling comes first.
    let beside = here.parent().filter(|_| here != Path::new(mount.at));
    let candidates = beside.map(Path::to_owned).into_iter().chain([here.clone()]);
    let counts = |folder: &PathBuf| {
        let on = fs::read_to_string(folder.join("cgroup.subtree_control")).unwrap_or_default();
        let has = |name| on.split_ascii_whitespace().any(|one| one == name);
        has("memory") && has("pids")
    };
    candidates.filter(counts).collect()
}

fn first_version(mounts: &str, own: &str, controller: &str) -> Option<PathBuf> {
    let mount = parse(mounts).find(|mount| {
        mount.kind == "cgroup" && mount.options.split(',').any(|one| one == controller)
    })?;
    let own = own.lines().find_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let mut controllers = parts.next()?.split(',');
        controllers
            .any(|one| one == controller)
            .then(|| parts.next())?
    })?;
    mount.folder(own)
}

/// Rights are told best by using them.
fn can_make(folder: &Path) -> bool {
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let probe = folder.join(format!("{PREFIX}{}-{count}", std::process::id()));
    fs::create_dir(&probe).is_ok() && fs::remove_dir(&probe).is_ok()
}

/// Removes the empty groups of processes that are gone.
fn sweep(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let owner = name
            .strip_prefix(PREFIX)
            .and_then(|rest| rest.split('-').next());
        let Some((owner, began)) = owner.and_then(parse_owner) else {
            continue;
        };
        if begun(owner).is_none_or(|now| began.is_some_and(|began| began != now)) {
            clear(&entry.path());
        }
    }
}

/// Whose group it is: the process, and when that began, which tells it from a later one of the same number.
fn parse_owner(owner: &str) -> Option<(u32, Option<u64>)> {
    match owner.split_once('.') {
        Some((owner, began)) => Some((owner.parse().ok()?, Some(began.parse().ok()?))),
        None => Some((owner.parse().ok()?, None)),
    }
}

/// When a process began, in ticks since the machine did; nothing if there is none.
fn begun(process: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let after_name = stat.rsplit_once(')')?.1;
    after_name.split_ascii_whitespace().nth(19)?.parse().ok()
}

/// Ends whoever is left of a run whose gateway is gone, and removes the group.
fn clear(folder: &Path) {
    for attempt in 0..CLEARINGS {
        match fs::remove_dir(folder) {
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {
                end_members(folder, true);
                thread::sleep(Duration::from_millis(1 + attempt));
            }
            Ok(()) | Err(_) => return,
        }
    }
}

/// Ends everybody in a group, at once where the kernel can do that.
fn end_members(folder: &Path, is_second: bool) {
    if is_second && fs::write(folder.join("cgroup.kill"), "1").is_ok() {
        return;
    }
    let members = fs::read_to_string(folder.join("cgroup.procs")).unwrap_or_default();
    for member in members.split_ascii_whitespace() {
        if let Some(member) = member.parse().ok().and_then(Pid::from_raw) {
            let _gone = kill_process(member, Signal::KILL).is_err();
        }
    }
}

/// The group of one run; it is emptied and removed when dropped.
#[derive(Debug)]
pub(crate) struct Cgroup {
    memory: PathBuf,
    pids: PathBuf,
    cpu: Option<PathBuf>,
    is_second: bool,
}

impl Cgroup {
    fn make(place: &Place, name: &str, limits: &Limits) -> io::Result<Option<Self>> {
        let group = match place {
            Place::Nowhere(_) => return Ok(None),
            Place::V2(folder) => {
                let folder = folder.join(name);
                Self {
                    memory: folder.clone(),
                    pids: folder.clone(),
                    cpu: Some(folder),
                    is_second: true,
                }
            }
            Place::V1 { memory, pids, cpu } => Self {
                memory: memory.join(name),
                pids: pids.join(name),
                cpu: cpu.as_ref().map(|cpu| cpu.join(name)),
                is_second: false,
            },
        };
        for folder in group.folders() {
            fs::create_dir(folder)?;
        }
        group.limit(limits)?;
        Ok(Some(group))
    }

    fn folders(&self) -> Vec<&PathBuf> {
        let mut folders = vec![&self.memory, &self.pids];
        folders.extend(&self.cpu);
        folders.dedup();
        folders
    }

    fn limit(&self, limits: &Limits) -> io::Result<()> {
        let memory = limits.memory.to_string();
        if self.is_second {
            fs::write(self.memory.join("memory.max"), &memory)?;
            // Where there is no swap there is no such file, and nothing to limit.
            let _ = fs::write(self.memory.join("memory.swap.max"), "0");
            let _ = fs::write(self.memory.join("memory.oom.group"), "0");
        } else {
            fs::write(self.memory.join("memory.limit_in_bytes"), &memory)?;
            let _ = fs::write(self.memory.join("memory.memsw.limit_in_bytes"), &memory);
        }
        let processes = limits.processes.saturating_add(OURS);
        fs::write(self.pids.join("pids.max"), processes.to_string())
    }

    /// Puts a process into the group; what it starts from now on is in it too.
    pub(crate) fn attach(&self, process: u32) -> io::Result<()> {
        for folder in self.folders() {
            fs::write(folder.join("cgroup.procs"), process.to_string())?;
        }
        Ok(())
    }

    /// Whether processor time is counted.
    pub(crate) fn counts_cpu(&self) -> bool {
        self.cpu.is_some()
    }

    /// Processor time of everybody who was ever in it.
    pub(crate) fn cpu(&self) -> Option<Duration> {
        let folder = self.cpu.as_ref()?;
        if self.is_second {
            return field(&folder.join("cpu.stat"), "usage_usec").map(Duration::from_micros);
        }
        let used = fs::read_to_string(folder.join("cpuacct.usage")).ok()?;
        used.trim().parse().ok().map(Duration::from_nanos)
    }

    /// The most memory at one time.
    pub(crate) fn peak(&self) -> Option<u64> {
        let name = if self.is_second {
            "memory.peak"
        } else {
            "memory.max_usage_in_bytes"
        };
        let peak = fs::read_to_string(self.memory.join(name)).ok()?;
        peak.trim().parse().ok()
    }

    /// Whether somebody was killed for want of memory.
    pub(crate) fn has_run_out(&self) -> bool {
        let name = if self.is_second {
            "memory.events"
        } else {
            "memory.oom_control"
        };
        field(&self.memory.join(name), "oom_kill").is_some_and(|count| count > 0)
    }

    /// Whether a process could not be started.
    pub(crate) fn has_refused(&self) -> bool {
        field(&self.pids.join("pids.events"), "max").is_some_and(|count| count > 0)
    }

    /// Ends everybody in it.
    pub(crate) fn kill(&self) {
        end_members(&self.pids, self.is_second);
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        for folder in self.folders() {
            for attempt in 0..200 {
                match fs::remove_dir(folder) {
                    Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {
                        // Whoever is left has no business here.
                        self.kill();
                        thread::sleep(Duration::from_millis(1 + attempt / 20));
                    }
                    Ok(()) | Err(_) => break,
                }
            }
        }
    }
}

/// The number beside a word in a file of such pairs.
fn field(file: &Path, name: &str) -> Option<u64> {
    let text = fs::read_to_string(file).ok()?;
    let mut lines = text.lines().filter_map(|line| line.split_once(' '));
    let (_, value) = lines.find(|(word, _)| *word == name)?;
    value.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(at: &Path, below: &str, controllers: &str) -> (String, String) {
        let folder = at.join(below);
        fs::create_dir_all(folder.join("own")).unwrap();
        fs::write(folder.join("cgroup.subtree_control"), controllers).unwrap();
        let mounts = format!(
            "30 1 0:26 / {} rw - cgroup2 cgroup2 rw,nsdelegate\n",
            at.display()
        );
        (mounts, format!("0::/{below}/own\n"))
    }

    #[test]
    fn a_delegated_part_of_version_2_is_found_and_limited() {
        let at = tempfile::tempdir().unwrap();
        let (mounts, own) = second(at.path(), "app.slice", "cpu memory pids\n");
        let place = find(&mounts, &own);
        let Place::V2(folder) = &place else {
            panic!("{place:?}");
        };
        assert_eq!(folder, &at.path().join("app.slice"));
        let limits = Limits::default();
        let group = Cgroup::make(&place, "one", &limits).unwrap().unwrap();
        let read = |name: &str| fs::read_to_string(folder.join("one").join(name)).unwrap();
        assert_eq!(read("memory.max"), limits.memory.to_string());
        assert_eq!(read("pids.max"), (limits.processes + OURS).to_string());
        group.attach(42).unwrap();
        assert_eq!(read("cgroup.procs"), "42");
        fs::write(
            folder.join("one/cpu.stat"),
            "usage_usec 1500\nuser_usec 1\n",
        )
        .unwrap();
        fs::write(folder.join("one/memory.events"), "low 0\noom_kill 1\n").unwrap();
        assert_eq!(group.cpu(), Some(Duration::from_micros(1500)));
        assert!(group.has_run_out() && !group.has_refused());
        // Emptying it for real is for the kernel; here there is only a folder.
        fs::remove_dir_all(folder.join("one")).unwrap();
    }

    #[test]
    fn a_part_that_does_not_count_memory_is_no_use() {
        let at = tempfile::tempdir().unwrap();
        let (mounts, own) = second(at.path(), "app.slice", "cpu pids\n");
        assert!(matches!(find(&mounts, &own), Place::Nowhere(_)));
        assert!(matches!(find("", ""), Place::Nowhere(_)));
    }

    #[test]
    fn groups_of_the_dead_are_swept() {
        let at = tempfile::tempdir().unwrap();
        // No process has a number above the kernel's own limit of 2^22.
        let own = format!("{PREFIX}{}-0", std::process::id());
        for name in ["tollgate-4194305-7", &own, "tollgate-odd", "others"] {
            fs::create_dir(at.path().join(name)).unwrap();
        }
        sweep(at.path());
        let left = fs::read_dir(at.path()).unwrap().flatten();
        let mut left: Vec<_> = left.map(|entry| entry.file_name()).collect();
        left.sort();
        assert_eq!(left, ["others", own.as_str(), "tollgate-odd"]);
    }

    #[test]
    fn a_group_belongs_to_a_process_and_not_to_its_number() {
        let at = tempfile::tempdir().unwrap();
        let own = std::process::id();
        let began = begun(own).unwrap();
        let names = [
            (format!("{PREFIX}{own}.{began}-0"), true),
            (format!("{PREFIX}{own}-1"), true),
            (format!("{PREFIX}{own}.{}-2", began + 1), false),
            (format!("{PREFIX}{own}.x-3"), true),
        ];
        for (name, _) in &names {
            fs::create_dir(at.path().join(name)).unwrap();
        }
        sweep(at.path());
        for (name, stays) in names {
            assert_eq!(at.path().join(&name).exists(), stays, "{name}");
        }
    }

    #[test]
    #[expect(
        clippy::disallowed_methods,
        reason = "a process of its own to be ended"
    )]
    fn whoever_is_left_in_a_group_is_ended() {
        let at = tempfile::tempdir().unwrap();
        let mut left = std::process::Command::new("/bin/sleep")
            .arg("1000")
            .spawn()
            .unwrap();
        fs::write(at.path().join("cgroup.procs"), left.id().to_string()).unwrap();
        end_members(at.path(), false);
        assert!(!left.wait().unwrap().success());
    }

    #[test]
    fn version_1_needs_memory_and_processes() {
        let at = tempfile::tempdir().unwrap();
        let line = |name: &str| {
            fs::create_dir_all(at.path().join(name).join("box")).unwrap();
            let at = at.path().join(name);
            format!(
                "31 1 0:27 / {} rw - cgroup cgroup rw,{name}\n",
                at.display()
            )
        };
        let mounts = format!("{}{}", line("memory"), line("pids"));
        let own = "4:memory:/box\n3:pids:/box\n0::/\n";
        let Place::V1 { memory, pids, cpu } = find(&mounts, own) else {
            panic!("not found");
        };
        assert_eq!(memory, at.path().join("memory/box"));
        assert_eq!((pids, cpu), (at.path().join("pids/box"), None));
        assert!(matches!(find(&line("memory"), own), Place::Nowhere(_)));
    }
}
