//! What programs leave behind never leads the host anywhere.

use std::{fs, time::Duration};

use tollgate_sandbox::{EntryKind, Purpose, Quota, Stop, Workspace, WorkspaceError, sweep};

use crate::support::{Scene, has_python, secret};

const QUOTA: Quota = Quota {
    bytes: 1 << 20,
    files: 50,
};

#[test]
fn links_and_pipes_are_seen_and_never_followed() {
    if !has_python() {
        return;
    }
    let (folder, path) = secret();
    let scene = Scene::native();
    let code = format!(
        r#"
import os
os.symlink({path:?}, 'link')
os.symlink({folder:?}, 'folder')
os.symlink('..', 'up')
os.symlink('/proc/self/root', 'magic')
os.mkfifo('pipe')
os.mkdir('inner'); open('inner/plain', 'w').write('mine')
os.symlink('inner', 'inside')
"#,
        folder = folder.path(),
    );
    let report = scene.python(&code);
    assert_eq!(report.stderr.text(), "");
    let workspace = scene.workspace();
    // Somebody who goes by name is led out.
    let led = fs::read_to_string(workspace.path().join("link")).unwrap();
    assert_eq!(led, "the secret");
    for path in [
        "link",
        "folder/secret",
        "up/x",
        "magic/etc/passwd",
        "pipe",
        "inside/plain",
        "inner",
    ] {
        let read = workspace.read(path, 0, 100);
        assert!(
            matches!(
                read,
                Err(WorkspaceError::NotAFile(_) | WorkspaceError::NotFound(_))
            ),
            "{path}: {read:?}"
        );
    }
    assert_eq!(
        workspace.read("inner/plain", 1, 2).unwrap(),
        (b"in".to_vec(), 4)
    );
    let written = workspace.write("folder/new", b"x", Purpose::Data, &QUOTA);
    assert!(
        matches!(written, Err(WorkspaceError::BadPath(_))),
        "{written:?}"
    );
    workspace
        .write("link", b"mine now", Purpose::Data, &QUOTA)
        .unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "the secret");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    let (entries, is_all) = workspace.list(100).unwrap();
    assert!(is_all);
    let kinds: Vec<(&str, EntryKind)> = entries
        .iter()
        .map(|entry| (entry.path.as_str(), entry.kind))
        .collect();
    assert_eq!(
        kinds,
        [
            ("folder", EntryKind::Link),
            ("inner", EntryKind::Folder),
            ("inner/plain", EntryKind::File),
            ("inside", EntryKind::Link),
            ("link", EntryKind::File),
            ("magic", EntryKind::Link),
            ("pipe", EntryKind::Other),
            ("up", EntryKind::Link),
        ]
    );
    for (path, _) in [("folder", 0), ("inner", 0)] {
        workspace.remove(path).unwrap();
    }
    assert_eq!(fs::read_to_string(&path).unwrap(), "the secret");
}

#[test]
fn paths_stay_below() {
    let root = tempfile::tempdir().unwrap();
    let workspace = Workspace::open(root.path(), "talk").unwrap();
    for path in [
        "",
        "/",
        "/etc/passwd",
        "..",
        "../x",
        "a/../../x",
        "a//b",
        "a/./b",
        "a\0b",
    ] {
        let written = workspace.write(path, b"x", Purpose::Data, &QUOTA);
        assert!(
            matches!(written, Err(WorkspaceError::BadPath(_))),
            "{path:?}"
        );
    }
    let long = "x".repeat(256);
    assert!(workspace.write(&long, b"x", Purpose::Data, &QUOTA).is_err());
    for name in ["", "..", "a/b", "a.b", &"x".repeat(65)] {
        assert!(Workspace::open(root.path(), name).is_err(), "{name:?}");
    }
    for path in ["a/b/c.txt", "./d", "/workspace/e", "..odd"] {
        workspace
            .write(path, path.as_bytes(), Purpose::Program, &QUOTA)
            .unwrap();
        assert_eq!(workspace.read(path, 0, 99).unwrap().0, path.as_bytes());
    }
}

#[test]
fn what_the_host_writes_counts_too() {
    let root = tempfile::tempdir().unwrap();
    let workspace = Workspace::open(root.path(), "talk").unwrap();
    workspace
        .write("a", &[0; 700_000], Purpose::Data, &QUOTA)
        .unwrap();
    let full = workspace.write("b", &[0; 700_000], Purpose::Data, &QUOTA);
    assert!(matches!(full, Err(WorkspaceError::Full(_))));
    for number in 0..49 {
        workspace
            .write(&format!("f{number}"), b"", Purpose::Data, &QUOTA)
            .unwrap();
    }
    let full = workspace.write("one-more", b"", Purpose::Data, &QUOTA);
    assert!(matches!(full, Err(WorkspaceError::Full(_))));
}

#[test]
fn files_stay_between_runs_and_belong_to_the_program() {
    if !has_python() {
        return;
    }
    for scene in Scene::all() {
        let workspace = scene.workspace();
        workspace
            .write("sub/given", b"1", Purpose::Data, &QUOTA)
            .unwrap();
        let code = "n = int(open('sub/given').read()); open('sub/given', 'w').write(str(n + 1)); open('sub/new', 'w')";
        for _ in 0..2 {
            assert_eq!(scene.python(code).stderr.text(), "", "{}", scene.name);
        }
        assert_eq!(workspace.read("sub/given", 0, 9).unwrap().0, b"3");
    }
}

#[test]
fn one_call_at_a_time_uses_a_workspace() {
    let root = tempfile::tempdir().unwrap();
    let stop = Stop::new().unwrap();
    let one = Workspace::open(root.path(), "talk").unwrap();
    let other = Workspace::open(root.path(), "talk").unwrap();
    let held = one.hold(&stop, Duration::ZERO).unwrap();
    let busy = other.hold(&stop, Duration::ZERO);
    assert!(matches!(busy, Err(WorkspaceError::Busy)));
    drop(held);
    other.hold(&stop, Duration::ZERO).unwrap();
}

#[test]
fn what_nobody_uses_is_swept() {
    let root = tempfile::tempdir().unwrap();
    let stop = Stop::new().unwrap();
    for name in ["old", "used"] {
        let workspace = Workspace::open(root.path(), name).unwrap();
        workspace
            .write("deep/er/file", b"x", Purpose::Data, &QUOTA)
            .unwrap();
    }
    let used = Workspace::open(root.path(), "used").unwrap();
    let held = used.hold(&stop, Duration::ZERO).unwrap();
    assert_eq!(sweep(root.path(), Duration::from_secs(3600)).unwrap(), 0);
    assert_eq!(sweep(root.path(), Duration::ZERO).unwrap(), 1);
    assert!(!root.path().join("old").exists() && root.path().join("used/deep").exists());
    drop(held);
    assert_eq!(
        sweep(&root.path().join("nowhere"), Duration::ZERO).unwrap(),
        0
    );
}

#[test]
fn a_lock_without_a_folder_keeps_no_workspace_from_being_swept() {
    let root = tempfile::tempdir().unwrap();
    // Many, because a folder is listed in no order.
    for number in 0..8 {
        fs::write(root.path().join(format!("lost-{number}.lock")), b"").unwrap();
        Workspace::open(root.path(), &format!("old-{number}")).unwrap();
    }
    assert_eq!(sweep(root.path(), Duration::ZERO).unwrap(), 16);
    assert_eq!(fs::read_dir(root.path()).unwrap().count(), 0);
}

#[test]
fn a_workspace_that_cannot_be_removed_keeps_its_lock_for_the_next_sweep() {
    let root = tempfile::tempdir().unwrap();
    let stop = Stop::new().unwrap();
    let workspace = Workspace::open(root.path(), "talk").unwrap();
    // Its folder is elsewhere, and another one stands in its place.
    fs::rename(root.path().join("talk"), root.path().join("elsewhere")).unwrap();
    fs::create_dir(root.path().join("talk")).unwrap();
    fs::write(root.path().join("talk/left"), b"x").unwrap();
    let held = workspace.hold(&stop, Duration::ZERO).unwrap();
    assert!(workspace.discard(held).is_err());
    assert!(root.path().join("talk.lock").exists());
    assert_eq!(sweep(root.path(), Duration::ZERO).unwrap(), 1);
    assert!(!root.path().join("talk").exists() && !root.path().join("talk.lock").exists());
}

#[test]
fn whoever_waited_for_a_workspace_that_was_taken_away_does_not_get_it() {
    let root = tempfile::tempdir().unwrap();
    let stop = Stop::new().unwrap();
    let one = Workspace::open(root.path(), "talk").unwrap();
    let other = Workspace::open(root.path(), "talk").unwrap();
    let held = one.hold(&stop, Duration::ZERO).unwrap();
    one.discard(held).unwrap();
    let gone = other.hold(&stop, Duration::ZERO);
    assert!(matches!(gone, Err(WorkspaceError::Busy)), "{gone:?}");
    let anew = Workspace::open(root.path(), "talk").unwrap();
    anew.hold(&stop, Duration::ZERO).unwrap();
}
