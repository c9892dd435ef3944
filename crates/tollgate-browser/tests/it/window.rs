//! Windows that somebody can see, on a screen that exists in memory only.

use std::{collections::BTreeMap, ffi::OsString, io::ErrorKind, time::Duration};

use tokio::io::{AsyncBufReadExt, BufReader};
use tollgate_browser::{Format, Limits, Options};
use tollgate_sandbox::{Program, Watch, spawn_supervised};

use crate::world::{World, eventually, id, owner, path};

/// A size that no screen has, so that it is told from all others.
const SCREEN: (u32, u32) = (1110, 770);

/// A screen for as long as it is held, and its name; nothing where Xvfb is not installed.
async fn screen() -> Option<(Watch, OsString)> {
    let (width, height) = SCREEN;
    let size = format!("{width}x{height}x24");
    let args = ["-displayfd", "1", "-nolisten", "tcp", "-screen", "0", &size];
    let program = Program {
        command: "Xvfb".into(),
        args: args.map(OsString::from).to_vec(),
        cwd: None,
        env: BTreeMap::from_iter(path()),
        stderr_bytes: 4096,
        is_kept: false,
    };
    let screen = match spawn_supervised(program).await {
        Err(error) if error.kind() == ErrorKind::NotFound => return None,
        started => started.unwrap(),
    };
    let mut said = BufReader::new(screen.stdout).lines();
    let number = said.next_line().await.unwrap();
    let number = number.unwrap_or_else(|| panic!("{}", screen.watch.stderr().text()));
    Some((screen.watch, format!(":{number}").into()))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_window_is_shown_on_request() {
    let Some((screen, name)) = screen().await else {
        println!("skipped: Xvfb is not installed, so there is no screen for a window");
        return;
    };
    let env = BTreeMap::from([("DISPLAY".into(), name)]);
    let world = World::within(env, Limits::default()).await;
    let (_hidden, beside) = world.show("/near").await;
    let options = Options {
        is_headless: false,
        ..world.options()
    };
    let session = world.browser.create(&owner("ada"), options).unwrap();
    assert!(!session.is_headless());
    let (_, tab) = session.tab(None, true).await.unwrap();
    let loaded = tab.navigate(&world.site.url("/popup")).await.unwrap();
    assert!(!loaded.partial);
    // It is on that screen, in a browser of its own.
    let patience = Duration::from_secs(10);
    let seen = tab.execute("[screen.width, screen.height]", patience).await;
    assert_eq!(seen.unwrap(), serde_json::json!([SCREEN.0, SCREEN.1]));
    let said = tab.execute("navigator.userAgent", patience).await.unwrap();
    assert!(!said.as_str().unwrap().contains("Headless"), "{said}");
    assert_eq!(world.browser.processes().await.len(), 2);

    // What can be done without a window can be done with one.
    tab.click(&id(&tab, "Open near").await).await.unwrap();
    eventually("it opens", || async { session.opened_by(&tab).len() == 1 }).await;
    let opened = session.opened_by(&tab).remove(0);
    let opened = session.switch(&opened).await.unwrap();
    eventually("it is there", || async {
        opened.title().await.is_ok_and(|it| it == "near")
    })
    .await;
    let coupon = id(&opened, "Coupon").await;
    opened.type_text(&coupon, "ten", false).await.unwrap();
    let coupon = opened.element(&coupon).await.unwrap();
    assert_eq!(coupon.state.value.as_deref(), Some("ten"));
    for tab in [&tab, &opened] {
        let picture = tab.picture(Format::Png, 80, false, None).await.unwrap();
        assert!(picture.width > 0.0 && !picture.base64.is_empty());
    }
    world.browser.close_session(session.id()).await;
    assert_eq!(beside.title().await.unwrap(), "near");
    world.browser.close().await;
    // In order, or it leaves its socket behind.
    screen.end(patience).await;
}
