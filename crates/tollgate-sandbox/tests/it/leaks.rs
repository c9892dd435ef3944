//! Many sandboxes, one after the other and side by side, and nothing of them is left.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use tollgate_sandbox::{Ended, Job, Stop, Workspace};

use crate::support::Scene;

/// What a sandbox could leave behind.
#[derive(Debug, PartialEq)]
struct Left {
    groups: BTreeSet<String>,
    mounts: usize,
    children: usize,
    descriptors: usize,
    namespaces: BTreeSet<PathBuf>,
}

/// How long other tests may keep namespaces of theirs.
const PATIENCE: Duration = Duration::from_secs(120);

/// Nothing is left that was not there before.
fn nothing_since(before: &Left) {
    let seen = |left: &Left| {
        (
            left.groups.clone(),
            left.mounts,
            left.children,
            left.descriptors,
        )
    };
    assert_eq!(seen(&left()), seen(before));
    // Namespaces go when the kernel gets to it, and others run sandboxes of their own
    // meanwhile; but each of those that are here now has to go some time.
    let mut new: BTreeSet<PathBuf> = namespaces()
        .difference(&before.namespaces)
        .cloned()
        .collect();
    let since = Instant::now();
    while !new.is_empty() {
        assert!(since.elapsed() < PATIENCE, "still there: {new:?}");
        thread::sleep(Duration::from_millis(20));
        let now = namespaces();
        new.retain(|space| now.contains(space));
    }
}

/// Every namespace that some process is in or holds open.
fn namespaces() -> BTreeSet<PathBuf> {
    let is_namespace = |link: &PathBuf| {
        let name = link.to_string_lossy();
        let kinds = [
            "cgroup:[", "ipc:[", "mnt:[", "net:[", "pid:[", "user:[", "uts:[",
        ];
        kinds.iter().any(|kind| name.starts_with(kind))
    };
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let links = |folder: PathBuf| {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.filter_map(|entry| fs::read_link(entry.path()).ok())
    };
    processes
        .flat_map(|process| ["ns", "fd"].map(|name| process.path().join(name)))
        .flat_map(links)
        .filter(is_namespace)
        .collect()
}

fn left() -> Left {
    let lines = |path: &str| fs::read_to_string(path).unwrap_or_default().lines().count();
    let mut groups = BTreeSet::new();
    collect(Path::new("/sys/fs/cgroup"), 0, &mut groups);
    let me = std::process::id().to_string();
    let children = fs::read_dir("/proc").unwrap().flatten().filter(|process| {
        let about = fs::read_to_string(process.path().join("stat")).unwrap_or_default();
        let after = about.rsplit(')').next().unwrap_or_default().to_owned();
        after.split_ascii_whitespace().nth(1) == Some(me.as_str())
    });
    Left {
        groups,
        mounts: lines("/proc/self/mountinfo"),
        children: children.count(),
        descriptors: fs::read_dir("/proc/self/fd").unwrap().count(),
        namespaces: namespaces(),
    }
}

/// Groups of this process, wherever they are mounted.
fn collect(folder: &Path, depth: usize, groups: &mut BTreeSet<String>) {
    let mine = format!("tollgate-{}-", std::process::id());
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with(&mine) {
            groups.insert(entry.path().display().to_string());
        } else if depth < 5 {
            collect(&entry.path(), depth + 1, groups);
        }
    }
}

#[test]
fn two_hundred_in_a_row_leave_nothing() {
    let scene = Scene::native();
    let (workspace, stop) = (scene.workspace(), Stop::new().unwrap());
    let job = Job::new("/usr/bin/env").args(["true"]);
    let run = || {
        let report = scene.runner.run(&job, &workspace, &stop).unwrap();
        assert_eq!(report.ended, Ended::Code(0));
    };
    run();
    let before = left();
    assert!(before.groups.is_empty(), "{before:?}");
    for _ in 0..200 {
        run();
    }
    nothing_since(&before);
}

#[test]
fn fifty_side_by_side_do_not_disturb_each_other() {
    let scene = Scene::native();
    let before = left();
    thread::scope(|scope| {
        let runs: Vec<_> = (0..50)
            .map(|number| {
                let scene = &scene;
                scope.spawn(move || {
                    let name = format!("talk-{number}");
                    let workspace = Workspace::open(scene.root.path(), &name).unwrap();
                    let text = number.to_string();
                    let script = "echo $0 > mine; cat mine";
                    let job = Job::new("/bin/sh").args(["-c", script, &text]);
                    let stop = Stop::new().unwrap();
                    let report = scene.runner.run(&job, &workspace, &stop).unwrap();
                    assert_eq!(report.stdout.text().trim(), text, "{report:?}");
                })
            })
            .collect();
        for run in runs {
            run.join().unwrap();
        }
    });
    nothing_since(&before);
}
