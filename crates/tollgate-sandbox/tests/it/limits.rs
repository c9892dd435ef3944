//! Limits hold, and what reaches one leaves nothing behind.

use std::{
    fs,
    time::{Duration, Instant},
};

use tollgate_sandbox::{Cgroups, Ended, Job, Limit, Native, Quota, RunError, Stop};

use crate::support::{PYTHON, Scene, bare, command, has_python, helper};

const MIB: u64 = 1 << 20;

/// Process ids on this machine whose arguments hold a word.
fn running(word: &str) -> Vec<String> {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let has_word = |process: &fs::DirEntry| {
        let arguments = fs::read(process.path().join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&arguments).contains(word)
    };
    let name = |process: fs::DirEntry| process.file_name().to_string_lossy().into_owned();
    let mine = std::process::id().to_string();
    let found = processes.filter(has_word).map(name);
    found.filter(|pid| *pid != mine).collect()
}

/// A program that leaves a child in a session of its own, and says its number.
fn daemon(word: &str) -> String {
    format!(
        r#"
import os, sys
read, write = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.write(write, b'x'); os.close(0); os.close(1); os.close(2); os.closerange(3, 100)
        os.execv({PYTHON:?}, ['python3', '-c', 'import time; time.sleep(60)', {word:?}])
    os._exit(0)
os.wait(); os.read(read, 1)
"#
    )
}

#[test]
fn nothing_outlives_a_run() {
    if !has_python() {
        return;
    }
    let word = format!("left-behind-{}", std::process::id());
    bare(&daemon(&word));
    // It has no command line for a moment while it starts.
    let tries = (0..1000).map(|_| running(&word));
    let left = tries
        .inspect(|found| {
            if found.is_empty() {
                std::thread::sleep(Duration::from_millis(10));
            }
        })
        .find(|found| !found.is_empty())
        .unwrap_or_default();
    assert_eq!(left.len(), 1, "a bare child leaves it behind");
    command("/bin/kill").arg("-9").args(&left).status().unwrap();
    for scene in Scene::all() {
        let report = scene.python(&daemon(&word));
        assert_eq!(
            report.ended,
            Ended::Code(0),
            "{}: {}",
            scene.name,
            report.stderr.text()
        );
        assert_eq!(running(&word), [""; 0], "{}", scene.name);
    }
}

#[test]
fn orphans_are_buried_while_the_program_runs() {
    if !has_python() {
        return;
    }
    // Each leaves its session and its parent; unburied they would fill the limit.
    let code = r#"
import os, time
for _ in range(60):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0: os._exit(0)
        os._exit(0)
    os.wait()
    time.sleep(0.002)
print('done')
"#;
    for mut scene in Scene::all() {
        scene.limits.processes = 20;
        let report = scene.python(code);
        let complained = report.stderr.text();
        assert_eq!(
            report.stdout.text(),
            "done\n",
            "{}: {complained}",
            scene.name
        );
    }
}

#[test]
fn what_takes_too_long_is_ended_with_all_it_started() {
    if !has_python() {
        return;
    }
    for mut scene in Scene::all() {
        let word = format!("too-long-{}", std::process::id());
        scene.limits.wall = Duration::from_millis(2500);
        let code = format!(
            "{}\nprint('begun', flush=True)\nwhile True: pass",
            daemon(&word)
        );
        let report = scene.python(&code);
        assert_eq!(report.reached, [Limit::Wall], "{}", scene.name);
        assert_eq!(report.stdout.text(), "begun\n", "{}", scene.name);
        assert_eq!(running(&word), [""; 0], "{}", scene.name);
    }
}

#[test]
fn what_speaks_for_ever_is_cut_and_ended_when_its_time_is_up() {
    if !has_python() {
        return;
    }
    for mut scene in Scene::all() {
        scene.limits.wall = Duration::from_millis(1500);
        scene.limits.output = 10_000;
        let report = scene.python("while True: print('x' * 1000)");
        let name = scene.name;
        assert_eq!(report.reached, [Limit::Wall, Limit::Output], "{name}");
        assert_eq!(report.stdout.bytes.len(), 10_000, "{name}");
        assert!(report.stdout.total > 10_000, "{name}");
    }
}

#[test]
fn what_computes_too_long_is_ended_however_many_share_it() {
    if !has_python() {
        return;
    }
    let mut scene = Scene::native();
    scene.limits.cpu = Duration::from_secs(1);
    let code = "import os\nos.fork(); os.fork()\nwhile True: pass";
    let report = scene.python(code);
    assert_eq!(report.reached, [Limit::Cpu], "{report:?}");
    // With groups it is the sum that counts; without, each of the four has its own second.
    let most = if report.gaps.is_empty() { 2 } else { 8 };
    assert!(report.usage.cpu < Duration::from_secs(most), "{report:?}");
}

#[test]
fn memory_is_bounded() {
    if !has_python() {
        return;
    }
    let code = r#"
taken = []
for _ in range(400):
    taken.append(bytearray(b'x' * (1 << 20)))
    print(len(taken), flush=True)
"#;
    let last = |said: &str| said.lines().last().and_then(|line| line.parse().ok());
    assert_eq!(last(&bare(code)), Some(400));
    for mut scene in Scene::all() {
        scene.limits.memory = 128 * MIB;
        let report = scene.python(code);
        let taken: u64 = last(&report.stdout.text()).unwrap_or(0);
        assert!(taken > 20 && taken < 128, "{}: {taken}", scene.name);
        assert_ne!(report.ended, Ended::Code(0), "{}", scene.name);
        let is_counted = report
            .gaps
            .iter()
            .all(|gap| gap.as_str() != "memory_per_process");
        assert_eq!(
            report.has_reached(Limit::Memory),
            is_counted,
            "{}",
            scene.name
        );
    }
}

#[test]
fn memory_is_bounded_for_many_together() {
    if !has_python() {
        return;
    }
    let mut scene = Scene::native();
    scene.limits.memory = 128 * MIB;
    let code = r#"
import os, sys
children = []
for _ in range(4):
    child = os.fork()
    if child == 0:
        taken = bytearray(b'x' * (60 << 20)); os.write(1, b'+'); os.read(0, 1); sys.exit()
    children.append(child)
sys.exit(sum(os.waitpid(child, 0)[1] != 0 for child in children))
"#;
    let report = scene.python(code);
    if report.gaps.is_empty() {
        assert!(report.has_reached(Limit::Memory), "{report:?}");
        assert!(report.usage.memory <= 129 * MIB, "{report:?}");
    }
}

#[test]
fn a_fork_bomb_fizzles_out() {
    if !has_python() {
        return;
    }
    let code = r#"
import os, signal, sys
children = []
try:
    for _ in range(300):
        child = os.fork()
        if child == 0: signal.pause()
        children.append(child)
except OSError: pass
print(len(children), flush=True)
for child in children: os.kill(child, 9)
"#;
    assert_eq!(bare(code), "300");
    for mut scene in Scene::all() {
        scene.limits.processes = 24;
        let report = scene.python(code);
        let made: u32 = report.stdout.text().trim().parse().unwrap();
        assert!((10..=24).contains(&made), "{}: {made}", scene.name);
    }
    let mut scene = Scene::native();
    scene.limits.processes = 24;
    scene.limits.wall = Duration::from_secs(2);
    let report = scene.python("import os\nwhile True:\n  try: os.fork()\n  except OSError: pass");
    assert!(report.has_reached(Limit::Wall), "{report:?}");
}

#[test]
fn endless_output_is_cut_and_nobody_is_killed_for_it() {
    if !has_python() {
        return;
    }
    for mut scene in Scene::all() {
        scene.limits.output = 10_000;
        let code = "import sys\nfor _ in range(400): sys.stdout.write('x' * 10000)\nsys.stderr.write('done')";
        let report = scene.python(code);
        assert_eq!(report.ended, Ended::Code(0), "{}", scene.name);
        assert_eq!(report.reached, [Limit::Output], "{}", scene.name);
        assert_eq!(report.stdout.bytes.len(), 10_000);
        assert_eq!(report.stdout.total, 4_000_000);
        assert_eq!(report.stderr.text(), "done");
    }
}

#[test]
fn a_workspace_does_not_grow_without_end() {
    if !has_python() {
        return;
    }
    for mut scene in Scene::all() {
        scene.limits.disk = 8 * MIB;
        let code = r#"
open('kept', 'w').write('before')
n = 0
while True:
    n += 1
    open(f'file{n}', 'wb').write(b'x' * (1 << 20))
"#;
        let since = fs::metadata(scene.root.path()).unwrap().modified().unwrap();
        let report = scene.python(code);
        assert!(
            report.has_reached(Limit::Disk),
            "{}: {report:?}",
            scene.name
        );
        let quota = Quota {
            bytes: 8 * MIB,
            files: 100,
        };
        let workspace = scene.workspace();
        workspace.trim(&quota, since).unwrap();
        let (entries, is_all) = workspace.list(1000).unwrap();
        let total: u64 = entries.iter().map(|entry| entry.bytes).sum();
        assert!(is_all && total <= 8 * MIB, "{}: {total}", scene.name);
        // The largest go first, so what is small stays.
        assert_eq!(workspace.read("kept", 0, 100).unwrap().0, b"before");
    }
}

#[test]
fn one_file_cannot_be_larger_than_the_workspace() {
    if !has_python() {
        return;
    }
    let mut scene = Scene::native();
    scene.limits.disk = 2 * MIB;
    let code = r#"
with open('big', 'wb', buffering=0) as file:
    file.seek(3 << 20)
    try: file.write(b'x')
    except OSError as error: print(error.errno)
with open('/tmp/big', 'wb', buffering=0) as file:
    try:
        while True: file.write(b'x' * 65536)
    except OSError as error: print(error.errno)
"#;
    let report = scene.python(code);
    assert_eq!(report.stdout.text(), "27\n27\n", "{}", report.stderr.text());
}

#[test]
fn neither_many_files_nor_deep_folders_stay() {
    if !has_python() {
        return;
    }
    let programs = [
        "n = 0\nwhile True:\n  open(f'{n}', 'w').close(); n += 1",
        "import os\nwhile True:\n  os.mkdir('d'); os.chdir('d')",
        "import os\nos.makedirs('a/b'); os.chmod('a', 0)\nn = 0\nwhile True:\n  open(f'{n}', 'w').close(); n += 1",
    ];
    for program in programs {
        let mut scene = Scene::native();
        scene.limits.files = 200;
        let since = fs::metadata(scene.root.path()).unwrap().modified().unwrap();
        let report = scene.python(program);
        assert!(report.has_reached(Limit::Files), "{report:?}");
        let quota = Quota {
            bytes: MIB,
            files: 200,
        };
        scene.workspace().trim(&quota, since).unwrap();
        let (entries, is_all) = scene.workspace().list(1000).unwrap();
        assert!(is_all && entries.len() <= 200, "{}", entries.len());
    }
}

#[test]
fn a_run_can_be_called_off() {
    if !has_python() {
        return;
    }
    for scene in Scene::all() {
        let word = format!("called-off-{}", std::process::id());
        let stop = Stop::new().unwrap();
        let job = scene.job(&format!("{}\nimport time; time.sleep(60)", daemon(&word)));
        let workspace = scene.workspace();
        let since = Instant::now();
        let ended = std::thread::scope(|scope| {
            let running_one = scope.spawn(|| scene.runner.run(&job, &workspace, &stop));
            while running(&word).is_empty() && since.elapsed() < Duration::from_secs(20) {
                std::thread::sleep(Duration::from_millis(5));
            }
            stop.set();
            running_one.join().unwrap()
        });
        assert!(
            matches!(ended, Err(RunError::Stopped)),
            "{}: {ended:?}",
            scene.name
        );
        assert_eq!(running(&word), [""; 0], "{}", scene.name);
    }
}

#[test]
fn a_helper_that_dies_takes_everything_with_it() {
    if !has_python() {
        return;
    }
    let scene = Scene::new("native", Native::new(helper(), Cgroups::none()));
    let word = format!("helper-dies-{}", std::process::id());
    let stop = Stop::new().unwrap();
    let job = scene.job(&format!("{}\nimport time; time.sleep(60)", daemon(&word)));
    let workspace = scene.workspace();
    let me = std::process::id().to_string();
    let ran = std::thread::scope(|scope| {
        let run = scope.spawn(|| scene.runner.run(&job, &workspace, &stop));
        while running(&word).len() < 2 {
            std::thread::sleep(Duration::from_millis(5));
        }
        let is_ours = |pid: &String| {
            let about = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            let after = about.rsplit(')').next().unwrap_or_default().to_owned();
            after.split_ascii_whitespace().nth(1) == Some(me.as_str())
        };
        let helpers = running("--as-sandbox-helper").into_iter().filter(is_ours);
        for helper in helpers {
            command("/bin/kill").args(["-9", &helper]).status().unwrap();
        }
        run.join().unwrap()
    });
    assert!(matches!(ran, Err(RunError::Lost(_))), "{ran:?}");
    // The signal of a parent's death is sent, not waited for.
    while !running(&word).is_empty() {
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn what_is_asked_for_is_given() {
    if !has_python() {
        return;
    }
    for scene in Scene::all() {
        let mut job = scene.job("import sys, os; print(sys.stdin.read()[::-1], os.environ['GREETING'], os.getcwd().rsplit('/', 1)[1]); sys.exit(7)");
        job.stdin = b"olleh".to_vec();
        job.env.insert("GREETING".to_owned(), "wörld".to_owned());
        let report = scene.run(&job);
        let said = report.stdout.text();
        assert!(said.starts_with("hello wörld "), "{}: {said}", scene.name);
        assert_eq!(report.ended, Ended::Code(7), "{}", scene.name);
        assert_eq!(report.tier, scene.runner.tier());
    }
}

#[test]
fn a_program_that_is_not_there_is_told_from_a_box_that_cannot_be_built() {
    let scene = Scene::native();
    let stop = Stop::new().unwrap();
    let job = Job::new("/usr/bin/there-is-no-such-program");
    let ran = scene.runner.run(&job, &scene.workspace(), &stop);
    assert!(matches!(ran, Err(RunError::Start { .. })), "{ran:?}");
    let mut job = Job::new("/usr/bin/env");
    job.read_only.push("/there/is/no/such/folder".into());
    let ran = scene.runner.run(&job, &scene.workspace(), &stop);
    assert!(matches!(ran, Err(RunError::Build { .. })), "{ran:?}");
}
