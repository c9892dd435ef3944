//! A workspace that cannot grow beyond what it may hold, and comes back as it was left.

use std::{fs, os::unix::fs::MetadataExt};

use tollgate_sandbox::{Ended, EntryKind, Gap, Limit, Limits, Purpose, Quota};

use super::support::{Scene, has_python};

const MIB: u64 = 1 << 20;
const QUOTA: Quota = Quota {
    bytes: 8 * MIB,
    files: 100,
};

fn scene() -> Scene {
    let mut scene = Scene::native();
    scene.limits = Limits {
        disk: QUOTA.bytes,
        files: QUOTA.files,
        memory: 128 * MIB,
        ..scene.limits
    };
    scene
}

/// Bytes that a program could really write before it was refused.
fn written(scene: &Scene, code: &str) -> u64 {
    let report = scene.python(code);
    assert_eq!(report.ended, Ended::Code(0), "{}", report.stderr.text());
    assert!(!report.gaps.contains(&Gap::DiskNotHeld), "{report:?}");
    report.stdout.text().trim().parse().unwrap()
}

const COUNT: &str = r#"
import os
total = 0
def fill(file):
    global total
    try:
        while True: total += os.write(file, b'x' * 65536)
    except OSError: return
"#;

#[test]
fn nothing_writes_more_than_the_workspace_may_hold() {
    if !has_python() {
        return;
    }
    let ways = [
        // Many files, one after the other.
        "for n in range(60): fill(os.open(f'f{n}', os.O_CREAT | os.O_WRONLY))",
        // Files that have no name any more, which nobody could count from outside.
        "for n in range(60):\n  file = os.open('f', os.O_CREAT | os.O_WRONLY); os.unlink('f'); fill(file)",
        "for n in range(60): fill(os.open('.', os.O_TMPFILE | os.O_WRONLY))",
        // Space that is reserved and never written.
        "for n in range(60):\n  file = os.open(f'f{n}', os.O_CREAT | os.O_WRONLY)\n  try: os.posix_fallocate(file, 0, 4 << 20); total += 4 << 20\n  except OSError: pass",
    ];
    for way in ways {
        let scene = scene();
        let total = written(&scene, &format!("{COUNT}{way}\nprint(total)"));
        assert!(total > MIB && total <= QUOTA.bytes, "{way}: {total}");
        let (entries, is_all) = scene.workspace().list(1000).unwrap();
        let kept: u64 = entries.iter().map(|entry| entry.bytes).sum();
        assert!(is_all && kept <= QUOTA.bytes, "{way}: {kept}");
    }
}

#[test]
fn a_full_workspace_is_told_and_what_fits_is_kept() {
    if !has_python() {
        return;
    }
    let scene = scene();
    let report = scene.python(&format!(
        "{COUNT}open('kept', 'w').write('before')\nfill(os.open('big', os.O_CREAT | os.O_WRONLY))"
    ));
    assert!(report.has_reached(Limit::Disk), "{report:?}");
    assert_eq!(scene.workspace().read("kept", 0, 9).unwrap().0, b"before");
    // The next one finds it full, and can make room itself.
    let report = scene.python("import os\nos.unlink('big')\nopen('new', 'w').write('x' * 9)");
    assert_eq!(report.ended, Ended::Code(0), "{}", report.stderr.text());
    let (entries, _) = scene.workspace().list(10).unwrap();
    let names: Vec<&str> = entries.iter().map(|entry| entry.path.as_str()).collect();
    assert_eq!(names, ["kept", "new"]);
    let report = scene.python("for n in range(1000): open(f'f{n}', 'w').close()");
    assert!(report.has_reached(Limit::Files), "{report:?}");
    assert!(scene.workspace().list(1000).unwrap().0.len() as u64 <= QUOTA.files);
}

#[test]
fn holes_do_not_make_a_workspace_larger_than_it_may_be() {
    if !has_python() {
        return;
    }
    let scene = scene();
    let report = scene.python(
        "for n in range(20):\n  with open(f'f{n}', 'wb') as f: f.truncate((7 << 20) + n)\nopen('kept', 'w').write('x')",
    );
    assert!(report.has_reached(Limit::Disk), "{report:?}");
    let (entries, _) = scene.workspace().list(1000).unwrap();
    let total: u64 = entries.iter().map(|entry| entry.bytes).sum();
    assert!(total <= QUOTA.bytes, "{total}");
    assert!(entries.iter().any(|entry| entry.path == "kept"));
}

#[test]
fn what_was_left_is_what_the_next_one_finds() {
    if !has_python() {
        return;
    }
    let scene = scene();
    let code = r#"
import os
os.makedirs('a/b')
open('a/b/plain', 'wb').write(bytes(range(256)) * 1024)
os.utime('a/b/plain', (1_000_000_000, 1_000_000_000))
open('run.sh', 'w').write('x'); os.chmod('run.sh', 0o750)
open('closed', 'w').write('secret'); os.chmod('closed', 0)
os.mkdir('shut'); open('shut/in', 'w').write('y'); os.chmod('shut', 0)
os.symlink('/etc/passwd', 'out')
os.link('a/b/plain', 'second')
os.mkfifo('pipe')
open(b'odd\xff', 'w').write('z')
with open('holes', 'wb') as f: f.truncate(2 << 20); f.seek(1 << 20); f.write(b'end')
"#;
    let report = scene.python(code);
    assert_eq!(report.ended, Ended::Code(0), "{}", report.stderr.text());
    let look = r#"
import os, stat
print(sorted(os.listdir(b'.')))
print(open('a/b/plain', 'rb').read() == bytes(range(256)) * 1024)
print(os.stat('a/b/plain').st_mtime, os.stat('a/b/plain').st_nlink)
print(oct(os.stat('run.sh').st_mode), oct(os.stat('closed').st_mode), oct(os.stat('shut').st_mode))
os.chmod('closed', 0o600); print(open('closed').read())
os.chmod('shut', 0o700); print(open('shut/in').read())
print(os.readlink('out'), stat.S_ISFIFO(os.stat('pipe').st_mode), open(b'odd\xff').read())
holes = open('holes', 'rb').read(); print(len(holes), holes[1 << 20:(1 << 20) + 3])
"#;
    let expected = "[b'a', b'closed', b'holes', b'odd\\xff', b'out', b'pipe', b'run.sh', b'second', b'shut']\n\
        True\n1000000000.0 2\n0o100750 0o100000 0o40000\nsecret\ny\n/etc/passwd True z\n2097152 b'end'\n";
    for _ in 0..2 {
        let again = "import os\nos.chmod('closed', 0); os.chmod('shut', 0)";
        let report = scene.python(&format!("{look}{again}"));
        assert_eq!(report.stdout.text(), expected, "{}", report.stderr.text());
    }
    let (entries, _) = scene.workspace().list(100).unwrap();
    let link = entries.iter().find(|entry| entry.path == "out").unwrap();
    assert_eq!(link.kind, EntryKind::Link);
}

#[test]
fn what_did_not_change_is_not_written_again() {
    if !has_python() {
        return;
    }
    let scene = scene();
    let workspace = scene.workspace();
    for name in ["same", "mapped"] {
        let bytes = vec![b'x'; 100_000];
        workspace
            .write(name, &bytes, Purpose::Data, &QUOTA)
            .unwrap();
    }
    let number = |name: &str| fs::metadata(workspace.path().join(name)).unwrap().ino();
    let (same, mapped) = (number("same"), number("mapped"));
    // Writing through memory changes no time and no size.
    let code = "import mmap, os\nfile = os.open('mapped', os.O_RDWR)\nmap = mmap.mmap(file, 0)\nmap[50_000] = 121\nmap.flush()";
    let report = scene.python(code);
    assert_eq!(report.ended, Ended::Code(0), "{}", report.stderr.text());
    assert_eq!(number("same"), same);
    assert_ne!(number("mapped"), mapped);
    assert_eq!(workspace.read("mapped", 50_000, 1).unwrap().0, b"y");
}

#[test]
fn what_was_written_before_the_time_was_up_is_kept() {
    if !has_python() {
        return;
    }
    let mut scene = scene();
    scene.limits.wall = std::time::Duration::from_millis(1500);
    let report = scene.python("open('early', 'w').write('done')\nwhile True: pass");
    assert!(report.has_reached(Limit::Wall), "{report:?}");
    assert_eq!(scene.workspace().read("early", 0, 9).unwrap().0, b"done");
}

#[test]
fn a_workspace_that_does_not_fit_starts_nothing() {
    if !has_python() {
        return;
    }
    let mut scene = scene();
    let workspace = scene.workspace();
    let bytes = vec![b'x'; 3 << 20];
    workspace
        .write("big", &bytes, Purpose::Data, &QUOTA)
        .unwrap();
    scene.limits.disk = MIB;
    let report = scene.python("print('started')");
    assert!(report.has_reached(Limit::Disk), "{report:?}");
    assert_eq!(report.stdout.text(), "");
    assert_eq!(workspace.read("big", 0, u64::MAX).unwrap().1, 3 << 20);
}

#[test]
fn where_nothing_holds_it_back_that_is_said_and_space_cannot_be_reserved() {
    if !has_python() {
        return;
    }
    for mut scene in Scene::all() {
        // So little memory that the workspace cannot be in it.
        scene.limits.memory = 96 * MIB;
        scene.limits.disk = 64 * MIB;
        let code = "import os\nfile = os.open('f', os.O_CREAT | os.O_WRONLY)\nlibc = __import__('ctypes').CDLL(None, use_errno=True)\nprint(libc.fallocate(file, 0, __import__('ctypes').c_long(0), __import__('ctypes').c_long(1 << 20)), __import__('ctypes').get_errno())";
        let report = scene.python(code);
        assert!(report.gaps.contains(&Gap::DiskNotHeld), "{}", scene.name);
        assert_eq!(
            report.stdout.text(),
            "-1 95\n",
            "{}: {}",
            scene.name,
            report.stderr.text()
        );
    }
}
