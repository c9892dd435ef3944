//! Starting, hearing and ending children.

use std::{collections::BTreeMap, fs, future::poll_fn, path::Path, task::Poll, time::Duration};

use rustix::process::{Pid, test_kill_process};
#[cfg(target_os = "linux")]
use rustix::process::{Signal, kill_process};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tollgate_sandbox::{Ended, Program, Supervised, spawn_supervised};

fn shell(script: &str) -> Program {
    Program {
        command: "/bin/sh".into(),
        args: vec!["-c".into(), script.into()],
        cwd: None,
        env: BTreeMap::from([("PATH".into(), "/usr/bin:/bin".into())]),
        stderr_bytes: 1024,
        is_kept: true,
    }
}

/// Starts a script; a keeper stands between where there are keepers.
async fn start(script: &str) -> Supervised {
    #[cfg(target_os = "linux")]
    tollgate_sandbox::supervise_through(crate::support::helper());
    spawn_supervised(shell(script)).await.unwrap()
}

fn is_alive(pid: i32) -> bool {
    test_kill_process(Pid::from_raw(pid).unwrap()).is_ok()
}

async fn first_line(child: Supervised) -> (String, Supervised) {
    let Supervised {
        stdin,
        stdout,
        watch,
    } = child;
    let mut reader = BufReader::new(stdout);
    let mut line = String::new();
    reader.read_line(&mut line).await.unwrap();
    let stdout = reader.into_inner();
    (
        line.trim().to_owned(),
        Supervised {
            stdin,
            stdout,
            watch,
        },
    )
}

#[tokio::test]
async fn a_child_hears_and_answers_with_nothing_of_our_environment() {
    let mut child = start("read line; echo \"$line $HOME\"; echo trouble >&2; exit 3").await;
    child.stdin.write_all(b"hello\n").await.unwrap();
    let (line, child) = first_line(child).await;
    assert_eq!(line, "hello");
    assert_eq!(child.watch.ended().await, Ended::Code(3));
    while child.watch.stderr().text() != "trouble\n" {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn the_whole_group_ends_and_ending_twice_is_ending_once() {
    let (line, child) = first_line(start("trap '' TERM; sleep 1000 & echo $!; wait").await).await;
    let grandchild: i32 = line.parse().unwrap();
    assert!(is_alive(grandchild));
    let how = child.watch.end(Duration::from_millis(50)).await;
    assert_eq!(how, Ended::Signal(9));
    assert_eq!(child.watch.end(Duration::from_secs(10)).await, how);
    while is_alive(grandchild) && !is_zombie(grandchild) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Without an init to wait for it, a killed grandchild stays as an entry of the table.
fn is_zombie(pid: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')')
        .next()
        .is_some_and(|rest| rest.trim_start().starts_with('Z'))
}

#[tokio::test]
async fn dropping_the_last_watch_ends_the_child() {
    let (line, child) = first_line(start("echo $$; exec sleep 1000").await).await;
    let pid: i32 = line.parse().unwrap();
    drop(child);
    while is_alive(pid) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn a_child_that_nobody_takes_over_ends() {
    #[cfg(target_os = "linux")]
    tollgate_sandbox::supervise_through(crate::support::helper());
    for is_kept in [true, false] {
        let folder = tempfile::tempdir().unwrap();
        let begun = folder.path().join("begun");
        let program = Program {
            is_kept,
            ..shell(&format!("echo $$ > {}; exec sleep 1000", begun.display()))
        };
        let mut starting = Box::pin(spawn_supervised(program));
        // It is begun here, and left alone until its thread has handed it over.
        let is_begun = poll_fn(|cx| Poll::Ready(starting.as_mut().poll(cx).is_pending()));
        assert!(is_begun.await, "a thread starts it");
        let pid: i32 = loop {
            let said = fs::read_to_string(&begun).unwrap_or_default();
            if let Ok(pid) = said.trim().parse() {
                break pid;
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        std::thread::sleep(Duration::from_millis(200));
        drop(starting);
        while is_alive(pid) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn who_makes_a_session_of_its_own_ends_as_well() {
    let daemon = "setsid sh -c 'echo $$; exec sleep 1000' & wait";
    for how in ["end", "drop", "die"] {
        let (line, child) = first_line(start(daemon).await).await;
        let daemon: i32 = line.parse().unwrap();
        assert!(is_alive(daemon), "{how}");
        match how {
            "end" => drop(child.watch.end(Duration::from_millis(50)).await),
            "drop" => drop(child),
            _ => {
                let leader = i32::try_from(child.watch.pid()).unwrap();
                kill_process(Pid::from_raw(leader).unwrap(), Signal::KILL).unwrap();
                assert_eq!(child.watch.ended().await, Ended::Signal(9));
                assert!(!is_alive(daemon), "nothing runs when it is told");
            }
        }
        while is_alive(daemon) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_program_finds_nothing_of_its_keeper() {
    let look = "echo $(grep SigBlk /proc/self/status) $(ls /proc/self/fd)";
    let child = start(look).await;
    let (line, child) = first_line(child).await;
    assert_eq!(child.watch.ended().await, Ended::Code(0));
    // Nothing is held back, and the fourth is the folder that is listed.
    assert_eq!(line, "SigBlk: 0000000000000000 0 1 2 3");
}

#[tokio::test]
async fn a_program_that_is_not_there_is_an_error() {
    // Whether somebody keeps programs or not.
    drop(start("exit 0").await);
    let mut program = shell("");
    program.command = "/nowhere/at/all".into();
    let error = spawn_supervised(program).await.unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
}

#[tokio::test]
async fn two_hundred_children_leave_no_descriptor_behind() {
    let open = || fs::read_dir(Path::new("/proc/self/fd")).map_or(0, Iterator::count);
    drop(start("exit 0").await);
    let before = open();
    for _ in 0..200 {
        let child = start("exit 0").await;
        child.watch.ended().await;
        // The reader of standard error ends on its own.
        while child.watch.stderr().total() > 0 {
            tokio::task::yield_now().await;
        }
    }
    while open() > before + 3 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn an_endless_flood_on_standard_error_ends_the_child() {
    let child = start("exec yes trouble >&2").await;
    assert!(matches!(child.watch.ended().await, Ended::Signal(_)));
    while !child
        .watch
        .stderr()
        .text()
        .contains("[ended: it wrote more than 256 MiB")
    {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_keeper_that_is_killed_alone_leaves_no_daemon() {
    let script = "setsid sh -c 'setsid sleep 1000 & echo $!; exec sleep 1000' & exec sleep 1000";
    let (line, child) = first_line(start(script).await).await;
    let daemon: i32 = line.parse().unwrap();
    let program = i32::try_from(child.watch.pid()).unwrap();
    let stat = fs::read_to_string(format!("/proc/{program}/stat")).unwrap();
    let keeper = stat.rsplit(')').next().unwrap();
    let keeper: i32 = keeper.split_whitespace().nth(1).unwrap().parse().unwrap();
    assert!(is_alive(daemon));
    kill_process(Pid::from_raw(keeper).unwrap(), Signal::KILL).unwrap();
    child.watch.ended().await;
    while is_alive(daemon) && !is_zombie(daemon) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
