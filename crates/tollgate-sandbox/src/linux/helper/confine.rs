//! What the program loses before it starts: limits, rights, system calls, descriptors.

use std::{
    collections::BTreeMap,
    ffi::{CString, OsStr},
    fs, io,
    os::unix::{ffi::OsStrExt, fs::MetadataExt, net::UnixStream},
    path::{Path, PathBuf},
};

use landlock::{
    ABI, Access, AccessFs, CompatLevel, Compatible, LandlockStatus, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetStatus, Scope, path_beneath_rules,
};
use rustix::{
    fs::Mode,
    process::{
        DumpableBehavior, Resource, Rlimit, Signal, getuid, set_dumpable_behavior,
        set_parent_process_death_signal, setrlimit, umask,
    },
    stdio::{dup2_stderr, dup2_stdin, dup2_stdout},
    thread::{
        CapabilitySet, CapabilitySets, clear_ambient_capability_set,
        remove_capability_from_bounding_set, set_capabilities, set_no_new_privs,
    },
};

use super::{
    At, Trouble, become_user, filter,
    root::{DEVICES, NETWORK, SETTINGS, SYSTEM},
    say, sys,
};
use crate::{
    job::{Gap, Network},
    linux::plan::{EXEC, Ends, Plan, Said, Shape},
};

/// The newest rules we know; an older kernel enforces those it has.
const RULES: ABI = ABI::V6;

/// Confines this process and becomes the program; returns only if that fails.
pub(super) fn start(control: &UnixStream, plan: &Plan, ends: &Ends) -> Result<(), Trouble> {
    sys::restore_signals();
    dup2_stdin(&ends.stdin).at("streams")?;
    dup2_stdout(&ends.stdout).at("streams")?;
    dup2_stderr(&ends.stderr).at("streams")?;
    umask(Mode::from_raw_mode(0o022));
    set_dumpable_behavior(DumpableBehavior::Dumpable).at("identity")?;
    prefer_as_victim();
    if plan.shape == Shape::Fence {
        let others = processes_of_user(plan.identity);
        limits(plan, others).at("limits")?;
        if let Some(identity) = plan.identity {
            become_user(identity).at("identity")?;
        }
        set_parent_process_death_signal(Some(Signal::KILL)).at("parent")?;
    } else {
        // The guard is counted too.
        limits(plan, 1).at("limits")?;
    }
    set_no_new_privs(true).at("privileges")?;
    rules(control, plan)?;
    if !plan.cwd.as_os_str().is_empty() {
        rustix::process::chdir(&plan.cwd).at("cwd")?;
    }
    no_capabilities().at("capabilities")?;
    let (program, args, env) = words(plan).at(EXEC)?;
    sys::close_on_exec_from(3).at("descriptors")?;
    filter::apply(plan).at("system_calls")?;
    Err(sys::exec(&program, &args, &env)).at(EXEC)
}

/// If memory runs out, the program goes before its guard.
fn prefer_as_victim() {
    // Where it cannot be said, the kernel chooses the largest, which is the program as well.
    let _ = fs::write("/proc/self/oom_score_adj", "1000");
}

fn limits(plan: &Plan, others: u64) -> io::Result<()> {
    let limits = &plan.limits;
    let seconds = limits.cpu.as_secs() + u64::from(limits.cpu.subsec_nanos() > 0);
    let same = |value| (value, value);
    let mut all = vec![
        (Resource::Core, same(0)),
        (Resource::Cpu, (seconds, seconds + 1)),
        (Resource::Fsize, same(limits.disk)),
        (Resource::Memlock, same(0)),
        (Resource::Msgqueue, same(0)),
        (Resource::Nofile, same(u64::from(limits.open_files))),
        (
            Resource::Nproc,
            same(u64::from(limits.processes).saturating_add(others)),
        ),
    ];
    if !plan.is_memory_counted {
        all.push((Resource::Data, same(limits.memory)));
    }
    for (resource, (current, maximum)) in all {
        let limit = Rlimit {
            current: Some(current),
            maximum: Some(maximum),
        };
        setrlimit(resource, limit)?;
    }
    Ok(())
}

/// How many tasks the user has, as the kernel counts them without namespaces.
fn processes_of_user(identity: Option<u32>) -> u64 {
    let uid = identity.unwrap_or_else(|| getuid().as_raw());
    let Ok(all) = fs::read_dir("/proc") else {
        return 0;
    };
    let tasks = all.flatten().filter_map(|process| {
        let is_mine = process.metadata().is_ok_and(|about| about.uid() == uid);
        let tasks = is_mine.then(|| fs::read_dir(process.path().join("task")))?;
        Some(tasks.ok()?.count() as u64)
    });
    tasks.sum()
}

/// Files that can be read and written, by the kernel's own rules for this process.
fn rules(control: &UnixStream, plan: &Plan) -> Result<(), Trouble> {
    let is_fence = plan.shape == Shape::Fence;
    let (readable, writable) = folders(plan);
    let read = AccessFs::from_read(RULES);
    let device = AccessFs::WriteFile | AccessFs::ReadFile;
    let build = || {
        Ruleset::default()
            .set_compatibility(CompatLevel::BestEffort)
            .handle_access(AccessFs::from_all(RULES))?
            .scope(Scope::from_all(RULES))?
            .create()?
            .add_rules(path_beneath_rules(readable, read))?
            .add_rules(path_beneath_rules(writable, AccessFs::from_all(RULES)))?
            .add_rules(path_beneath_rules(DEVICES, device))?
            .restrict_self()
    };
    let status = build().map_err(io::Error::other).at("landlock")?;
    let is_enforced = status.ruleset != RulesetStatus::NotEnforced;
    if is_fence && !is_enforced {
        return Err(io::Error::from_raw_os_error(libc::EOPNOTSUPP)).at("landlock");
    }
    if !is_enforced {
        say(control, &Said::Gap(Gap::NoLandlock));
    }
    let can_scope = matches!(
        status.landlock,
        LandlockStatus::Available { effective_abi, .. } if effective_abi >= ABI::V6
    );
    if is_fence && !can_scope && plan.identity.is_none() {
        say(control, &Said::Gap(Gap::SignalsReachOut));
    }
    Ok(())
}

fn folders(plan: &Plan) -> (Vec<PathBuf>, Vec<PathBuf>) {
    if plan.shape != Shape::Fence {
        // Everything inside was put there by us.
        let writable = [Path::new("/tmp"), Path::new("/dev/shm"), &plan.workspace];
        return (vec!["/".into()], writable.map(Path::to_owned).to_vec());
    }
    // A file that is there and cannot be read is fatal to some who do without it.
    let system = SYSTEM
        .iter()
        .chain(&SETTINGS)
        .chain(&["/etc/ssl/openssl.cnf"]);
    let system = system.map(PathBuf::from);
    let resolving = NETWORK.iter().map(PathBuf::from);
    let resolving = resolving.filter(|path| plan.network == Network::Shared && path.exists());
    let readable = system
        .chain(resolving)
        .chain(plan.read_only.iter().cloned());
    // By name it may be out of reach for the user we have become; we stand in it.
    (readable.collect(), vec![".".into()])
}

/// No right of the superuser remains, and none can come back.
fn no_capabilities() -> io::Result<()> {
    for bit in 0..64 {
        let one = CapabilitySet::from_bits_retain(1 << bit);
        // The kernel knows fewer than 64; the first it does not know is the last.
        if remove_capability_from_bounding_set(one).is_err() {
            break;
        }
    }
    clear_ambient_capability_set()?;
    let none = CapabilitySets {
        effective: CapabilitySet::empty(),
        permitted: CapabilitySet::empty(),
        inheritable: CapabilitySet::empty(),
    };
    Ok(set_capabilities(None, none)?)
}

type Words = (CString, Vec<CString>, Vec<CString>);

/// The program, its arguments and an environment that holds nothing of ours.
fn words(plan: &Plan) -> io::Result<Words> {
    let c = |text: &OsStr| CString::new(text.as_bytes()).map_err(io::Error::from);
    let program = c(plan.program.as_os_str())?;
    let mut args = vec![program.clone()];
    for argument in &plan.args {
        args.push(c(OsStr::new(argument))?);
    }
    let home = plan.workspace.to_string_lossy().into_owned();
    let scratch = if plan.shape == Shape::Fence {
        home.clone()
    } else {
        "/tmp".to_owned()
    };
    let own = [
        ("HOME", home),
        ("LANG", "C.UTF-8".to_owned()),
        ("PATH", "/usr/local/bin:/usr/bin:/bin".to_owned()),
        ("TMPDIR", scratch),
        ("TZ", "UTC".to_owned()),
        ("USER", "sandbox".to_owned()),
    ];
    let own = own.map(|(name, value)| (name.to_owned(), value));
    let mut env: BTreeMap<String, String> = own.into();
    env.extend(plan.env.clone());
    let env = env.iter().map(|(name, value)| {
        let pair = format!("{name}={value}");
        c(OsStr::new(&pair))
    });
    Ok((program, args, env.collect::<io::Result<_>>()?))
}
