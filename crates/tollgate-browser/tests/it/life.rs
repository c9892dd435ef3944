//! A browser lives as long as it is needed, and never longer than us.

use std::{fs, path::Path, process::Stdio};

use tollgate_browser::Missing;

use crate::world::{World, eventually};

/// Processes whose command line names a folder.
fn users_of(folder: &Path) -> Vec<String> {
    let wanted = folder.display().to_string();
    let processes = fs::read_dir("/proc").unwrap().flatten();
    processes
        .filter_map(|entry| {
            let line = fs::read(entry.path().join("cmdline")).ok()?;
            let line = String::from_utf8_lossy(&line).replace('\0', " ");
            let name = entry.file_name().to_string_lossy().into_owned();
            let is_process = name.chars().all(|c| c.is_ascii_digit());
            (is_process && line.contains(&wanted) && line.contains("--user-data-dir"))
                .then_some(line)
        })
        .collect()
}

/// Processes of a browser that writes into a folder, whatever they are called, whoever is their
/// parent, and in whichever session they are: each has the folder as its home.
fn processes_of(folder: &Path) -> Vec<String> {
    let home = format!("HOME={}", folder.display());
    let wanted = folder.display().to_string();
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let found = processes.filter_map(|entry| {
        let read = |name: &str| fs::read(entry.path().join(name)).ok();
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        let (line, env) = (text(read("cmdline")?), text(read("environ")?));
        let is_its = line.contains(&wanted) || env.contains(&home);
        is_its.then(|| format!("{} {}", entry.path().display(), line.replace('\0', " ")))
    });
    found.collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn closing_leaves_no_process_and_no_folder() {
    let world = World::new().await;
    let (_session, _tab) = world.show("/shop").await;
    let folder = world.folder.path().join("run");
    assert!(!users_of(&folder).is_empty());
    world.browser.close().await;
    world.browser.close().await;
    eventually("everything has ended", || async {
        users_of(&folder).is_empty()
    })
    .await;
    // It goes with the last who looks at how the browser ended.
    eventually("its folder is gone", || async {
        fs::read_dir(&folder).unwrap().next().is_none()
    })
    .await;
    assert!(world.browser.product().await.is_err());
}

/// Where the part below leaves word; whoever has it plays the part.
#[cfg(target_os = "linux")]
const WORD: &str = "TOLLGATE_TEST_WORD";

/// Shows a page until it is killed.
#[cfg(target_os = "linux")]
async fn play(word: &Path) {
    let world = World::new().await;
    let (_session, _tab) = world.show("/shop").await;
    fs::write(word, world.folder.path().display().to_string()).unwrap();
    std::future::pending::<()>().await;
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn a_killed_process_takes_its_browser_along() {
    #[expect(
        clippy::disallowed_methods,
        reason = "its parent says where to leave word"
    )]
    if let Some(word) = std::env::var_os(WORD) {
        return play(Path::new(&word)).await;
    }
    let dir = tempfile::tempdir().unwrap();
    let word = dir.path().join("word");
    #[expect(
        clippy::disallowed_methods,
        reason = "the test kills a process like itself"
    )]
    let mut child = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "life::a_killed_process_takes_its_browser_along"])
        .env(WORD, &word)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    eventually("the page is shown", || async {
        word.exists() && !fs::read_to_string(&word).unwrap().is_empty()
    })
    .await;
    let folder = fs::read_to_string(&word).unwrap();
    let folder = Path::new(&folder).join("run");
    assert!(!users_of(&folder).is_empty());
    let before = processes_of(&folder);
    assert!(
        before.iter().any(|it| it.contains("--type=renderer"))
            && before.len() > users_of(&folder).len(),
        "helpers of the browser count too: {before:#?}"
    );
    child.kill().unwrap();
    child.wait().unwrap();
    for _ in 0..200 {
        if processes_of(&folder).is_empty() {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    let left = processes_of(&folder);
    assert!(left.is_empty(), "left of {before:#?}: {left:#?}");
    fs::remove_dir_all(folder.parent().unwrap()).unwrap();
}

#[test]
fn whoever_has_no_browser_learns_how_to_get_one() {
    for missing in [Missing::Nowhere, Missing::NotThere] {
        assert!(missing.to_string().contains("install"), "{missing}");
    }
}
