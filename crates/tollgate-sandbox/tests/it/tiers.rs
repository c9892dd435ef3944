//! Which tier runs, and that nothing runs when none is good enough.

use tollgate_sandbox::{Cgroups, Choice, Ended, Gap, Job, Limit, Runners, Tier};

use crate::support::{Scene, has_python, helper};

fn runners(root: &tempfile::TempDir) -> Runners {
    Runners::new(&helper(), Cgroups::find(), root.path())
}

#[test]
fn the_best_tier_that_works_is_taken() {
    let root = tempfile::tempdir().unwrap();
    let runners = runners(&root);
    let chosen = runners.choose(Choice::Auto, Tier::Native).unwrap();
    assert_eq!(chosen.tier(), Tier::Native);
    let survey = runners.survey();
    let order: Vec<Tier> = survey.iter().map(|standing| standing.tier).collect();
    assert_eq!(
        order,
        [Tier::Gvisor, Tier::Native, Tier::Bubblewrap, Tier::Landlock]
    );
    for standing in survey {
        let words = standing.state.unwrap_or_else(|why| why);
        assert!(!words.is_empty(), "{}", standing.tier);
    }
    // What was tried left nothing in the folder.
    assert_eq!(std::fs::read_dir(root.path()).unwrap().count(), 0);
}

#[test]
fn below_the_least_tier_nothing_runs() {
    let root = tempfile::tempdir().unwrap();
    let runners = runners(&root);
    let refused = runners
        .choose(Choice::Only(Tier::Landlock), Tier::Native)
        .unwrap_err();
    assert_eq!(refused.least, Tier::Native);
    assert_eq!(refused.tried.len(), 1);
    assert!(refused.tried[0].state.is_err());
    let accepted = runners
        .choose(Choice::Only(Tier::Landlock), Tier::Landlock)
        .unwrap();
    assert_eq!(accepted.tier(), Tier::Landlock);
}

#[test]
fn what_is_missing_is_said() {
    for scene in Scene::all() {
        let report = scene.run(&Job::new("/usr/bin/env").args(["true"]));
        let has = |gap| report.gaps.contains(&gap);
        assert_eq!(
            has(Gap::SharedProcesses),
            scene.is_fence(),
            "{}",
            scene.name
        );
        let uncounted = scene.name == "native, no groups" || !Cgroups::find().is_there();
        assert_eq!(has(Gap::MemoryPerProcess), uncounted, "{}", scene.name);
        assert!(!has(Gap::NoLandlock), "{}", scene.name);
    }
}

#[test]
fn node_runs_in_every_tier() {
    if !std::fs::exists("/usr/bin/node").unwrap() {
        eprintln!("skipped: there is no node");
        return;
    }
    for mut scene in Scene::all() {
        scene.limits.memory = 1 << 30;
        let code = "require('fs').writeFileSync('out', 'x'); console.log(6 * 7, require('child_process').execSync('echo hi').toString().trim())";
        let mut job = Job::new("/usr/bin/node").args(["-e", code]);
        job.limits = scene.limits;
        let report = scene.run(&job);
        let said = report.stdout.text();
        assert_eq!(
            said.trim(),
            "42 hi",
            "{}: {}",
            scene.name,
            report.stderr.text()
        );
    }
}

#[test]
fn ordinary_programs_find_what_they_need() {
    if !has_python() {
        return;
    }
    let code = r#"
import asyncio, multiprocessing, os, pwd, sqlite3, subprocess, sys, tempfile, threading, time
async def later():
    await asyncio.sleep(0.01)
    process = await asyncio.create_subprocess_exec('echo', 'hi', stdout=subprocess.PIPE)
    return (await process.communicate())[0]
assert asyncio.run(later()) == b'hi\n'
assert subprocess.run('echo $((6*7)) | cat', shell=True, capture_output=True).stdout == b'42\n'
with tempfile.NamedTemporaryFile() as file: file.write(b'x')
sqlite3.connect('data.db').execute('create table t (x)').connection.commit()
thread = threading.Thread(target=time.sleep, args=(0.01,)); thread.start(); thread.join()
os.makedirs('a/b/c'); os.rename('a/b/c', 'a/d'); os.symlink('d', 'a/e'); os.link('data.db', 'other.db')
if os.path.isdir('/workspace'):
    assert not os.path.exists('/etc/passwd') or pwd.getpwuid(os.getuid()).pw_name == 'sandbox'
    assert os.getcwd() == '/workspace' == os.path.expanduser('~')
    assert sorted(os.listdir('/proc/self/fd'))[:3] == ['0', '1', '2']
    with multiprocessing.Pool(2) as pool: assert pool.map(abs, [-1, -2]) == [1, 2]
print('fine')
"#;
    for scene in Scene::all() {
        let report = scene.python(code);
        let said = report.stdout.text();
        assert_eq!(said, "fine\n", "{}: {}", scene.name, report.stderr.text());
    }
}

#[test]
fn gvisor_runs_holds_and_ends() {
    let Some(mut scene) = Scene::gvisor().filter(|_| has_python()) else {
        eprintln!("skipped: runsc is not installed");
        return;
    };
    scene.limits.wall = std::time::Duration::from_secs(60);
    let code = r#"
import os
open('kept', 'w').write('x')
try: print(open('/etc/shadow').read())
except OSError: print('held')
print(os.uname().version)
"#;
    let report = scene.python(code);
    let said = report.stdout.text();
    assert!(said.starts_with("held\n"), "{said}{}", report.stderr.text());
    assert_eq!((report.tier, report.ended), (Tier::Gvisor, Ended::Code(0)));
    assert_eq!(scene.workspace().read("kept", 0, 9).unwrap().0, b"x");
    assert_eq!(scene.python("raise SystemExit(3)").ended, Ended::Code(3));
    scene.limits.wall = std::time::Duration::from_secs(4);
    let report = scene.python("import time; time.sleep(60)");
    assert_eq!(report.reached, [Limit::Wall]);
}
