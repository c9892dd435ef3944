//! What stays, what ends and what has an effect: limits, time, rest, keys and pages that do not hold still.

use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tollgate_browser::{Error, Limits, Stroke};

use crate::{
    faults::descendants,
    world::{World, eventually, id, owner},
};

#[test]
fn limits_are_those_of_the_document() {
    let limits = Limits::default();
    assert_eq!((limits.tabs_per_session, limits.tabs), (20, 50));
    let minutes = |it: Duration| it.as_secs() / 60;
    assert_eq!(minutes(limits.headless_ttl), 60);
    assert_eq!(minutes(limits.headful_ttl), 24 * 60);
    assert_eq!(minutes(limits.idle), 2);
    assert_eq!(limits.navigation.as_secs(), 30);
    assert_eq!(limits.calm.as_secs(), 3);
    assert_eq!(limits.dialog.as_secs(), 30);
}

#[tokio::test(start_paused = true)]
async fn a_session_ends_an_hour_after_it_was_last_used() {
    let world = World::new().await;
    let ada = owner("ada");
    let session = world.session();
    let mine = || world.browser.session(&ada, session.id());
    for _ in 0..3 {
        tokio::time::advance(Duration::from_secs(59 * 60)).await;
        assert!(mine().is_ok(), "being used keeps it alive");
    }
    tokio::time::advance(Duration::from_secs(61 * 60)).await;
    assert!(matches!(mine(), Err(Error::SessionNotFound(_))));
    let own = tollgate_browser::Options {
        ttl: Some(Duration::from_secs(10)),
        ..world.options()
    };
    let short = world.browser.create(&ada, own).unwrap();
    tokio::time::advance(Duration::from_secs(11)).await;
    let found = world.browser.session(&ada, short.id());
    assert!(matches!(found, Err(Error::SessionNotFound(_))));
}

#[tokio::test]
async fn a_browser_that_nobody_needs_ends() {
    let world = World::new().await;
    let (session, _tab) = world.show("/near").await;
    let running = world.browser.processes().await;
    assert_eq!(running.len(), 1);
    world.browser.close_session(session.id()).await;
    assert_eq!(world.browser.processes().await, running, "for now");
    tokio::time::pause();
    eventually("it ends", || async {
        tokio::time::advance(Duration::from_secs(31)).await;
        world.browser.processes().await.is_empty()
    })
    .await;
    tokio::time::resume();
    world.browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_that_do_not_rest_are_not_stable() {
    let world = World::new().await;
    let (_session, tab) = world.show("/busy").await;
    let (patience, quiet) = (Duration::from_secs(3), Duration::from_secs(2));
    let busy = tab.wait_for_stable(patience, quiet).await.unwrap();
    assert!(!busy.stable && !busy.dom_stable, "{busy:?}");
    assert_eq!(busy.network_pending, 0, "{busy:?}");
    tab.navigate(&world.site.url("/asking")).await.unwrap();
    eventually("the request is under way", || async {
        world.site.seen().iter().any(|it| it.ends_with("/never"))
    })
    .await;
    let asking = tab.wait_for_stable(Duration::ZERO, Duration::ZERO).await;
    let asking = asking.unwrap();
    assert_eq!(
        (asking.stable, asking.network_pending),
        (false, 1),
        "{asking:?}"
    );
    world.browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_comes_and_goes_in_shadow_trees_and_frames_is_seen() {
    let world = World::new().await;
    let (patience, quiet) = (Duration::from_secs(3), Duration::from_secs(2));
    for (page, rests) in [
        ("/shadow-busy", false),
        ("/frame-busy", false),
        ("/frame-hidden", true),
    ] {
        let (_session, tab) = world.show(page).await;
        eventually("its frames are there", || async {
            !page.starts_with("/frame") || world.site.seen().iter().any(|it| it.ends_with("/busy"))
        })
        .await;
        let steady = tab.wait_for_stable(patience, quiet).await.unwrap();
        assert_eq!(steady.dom_stable, rests, "{page}: {steady:?}");
    }
    world.browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn going_back_to_the_same_address_takes_no_time() {
    let world = World::new().await;
    let (_session, tab) = world.show("/same").await;
    let quick = Duration::from_secs(15);
    let state = "history.state";
    tab.execute(
        "location.assign(location.href + '#a'); history.replaceState(7, '', '/same')",
        quick,
    )
    .await
    .unwrap();
    // Two entries of one document, and before them one of another document, all at one address.
    tab.navigate(&world.site.url("/near")).await.unwrap();
    tab.execute("history.replaceState(null, '', '/same')", quick)
        .await
        .unwrap();
    for _ in 0..2 {
        let back = tokio::time::timeout(quick, tab.go_back()).await;
        assert!(back.expect("it does not stall").unwrap());
    }
    let state = tab.execute(state, quick).await.unwrap();
    assert_eq!(state, 1);
    world.browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn shift_with_a_letter_is_typed() {
    let world = World::new().await;
    let (_session, tab) = world.show("/edit").await;
    let two = id(&tab, "Two").await;
    tab.type_text(&two, "", false).await.unwrap();
    let shift = ["Shift".to_owned()];
    for key in ["a", "7", "Z"] {
        tab.press(&Stroke::new(key, &shift).unwrap()).await.unwrap();
    }
    let value = "document.querySelectorAll('input')[1].value";
    let value = tab.execute(value, Duration::from_secs(10)).await.unwrap();
    assert_eq!(value, "A&Z");
    world.browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_that_can_be_typed_into_are_fields_and_selectors_find_everything() {
    let world = World::new().await;
    let (_session, tab) = world.show("/combo").await;
    for label in ["City", "Street"] {
        let all = tab.elements().await.unwrap();
        let field = all.iter().find(|it| it.label == label).unwrap();
        assert_eq!(field.actions, ["type", "set_value", "click"], "{label}");
        tab.set_value(&field.id, "Rome", false).await.unwrap();
    }
    let send = tab.selected("#send").await.unwrap().expect("it is there");
    assert_eq!(send.label, "Send");
    tab.click(&send.id).await.unwrap();
    assert_eq!(tab.title().await.unwrap(), "sent");
    assert_eq!(tab.selected("#none").await.unwrap(), None);
    world.browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pointing_pressing_and_answering_have_their_effect() {
    let world = World::new().await;
    let (_session, tab) = world.show("/keys").await;
    let titled = async |title: &str| {
        eventually(title, || async {
            tab.title().await.is_ok_and(|it| it == title)
        })
        .await;
    };
    tab.hover(&id(&tab, "Point").await).await.unwrap();
    titled("pointed").await;
    tab.press(&Stroke::new("Escape", &[]).unwrap())
        .await
        .unwrap();
    titled("Escape").await;
    let held = Stroke::new("k", &["Control".to_owned()]).unwrap();
    tab.press(&held).await.unwrap();
    titled("Ctrl+k").await;
    let word = id(&tab, "Word").await;
    tab.type_text(&word, "abc", false).await.unwrap();
    tab.press(&Stroke::new("Backspace", &[]).unwrap())
        .await
        .unwrap();
    eventually("a letter is gone", || async {
        let read = tab.execute(
            "document.querySelector('input').value",
            Duration::from_secs(20),
        );
        read.await.is_ok_and(|it| it == "ab")
    })
    .await;
    let asked = tab.click(&id(&tab, "Ask").await).await.unwrap();
    let asked = asked.dialog.unwrap();
    assert_eq!(
        (asked.r#type.as_str(), asked.default_value.as_deref()),
        ("prompt", Some("nobody"))
    );
    tab.handle_dialog(true, Some("Ada".to_owned()))
        .await
        .unwrap();
    titled("Ada").await;
    // A button that runs away is caught, or missed with an error; nothing else is hit.
    let runner = id(&tab, "Runner").await;
    eventually("it is caught", || async {
        let _ = tab.click(&runner).await;
        let title = tab.title().await.unwrap();
        assert!(title == "Ada" || title == "caught", "{title}");
        title == "caught"
    })
    .await;
    world.browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_that_streams_for_ever_can_be_seen_and_left() {
    let limits = Limits {
        navigation: Duration::from_secs(3),
        calm: Duration::from_secs(1),
        ..Limits::default()
    };
    let world = World::with(limits).await;
    let (_session, tab) = world.show("/near").await;
    let streaming = tab.navigate(&world.site.url("/stream")).await.unwrap();
    assert!(streaming.partial, "{streaming:?}");
    assert!(!id(&tab, "Early").await.is_empty());
    let left = tab.navigate(&world.site.url("/near")).await.unwrap();
    assert!(!left.partial);
    assert_eq!(tab.title().await.unwrap(), "near");
    world.browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_renderer_that_dies_in_the_middle_of_a_call_ends_it() {
    let world = World::new().await;
    let (session, tab) = world.show("/near").await;
    let waiting = {
        let tab = tab.clone();
        let script = "fetch('/began').then(() => new Promise(() => {}))";
        tokio::spawn(async move { tab.execute(script, Duration::from_secs(60)).await })
    };
    eventually("the script runs", || async {
        world.site.seen().iter().any(|it| it.ends_with("/began"))
    })
    .await;
    let browser = world.browser.processes().await[0];
    for renderer in descendants(browser, "--type=renderer") {
        let pid = Pid::from_raw(i32::try_from(renderer).unwrap()).unwrap();
        // It may have ended by itself.
        let _ = kill_process(pid, Signal::KILL);
    }
    let ended = waiting.await.unwrap();
    assert!(matches!(ended, Err(Error::Crashed)), "{ended:?}");
    let (_, again) = session.tab(None, true).await.unwrap();
    assert_eq!(again.title().await.unwrap(), "near");
    assert_eq!(world.browser.processes().await, [browser]);
    world.browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_that_asks_without_end_holds_nobody_up() {
    let world = World::new().await;
    let (_session, tab) = world.show("/polls").await;
    let begun = std::time::Instant::now();
    tab.click(&id(&tab, "Hit").await).await.unwrap();
    assert_eq!(tab.title().await.unwrap(), "hit");
    tab.press(&Stroke::new("ArrowDown", &[]).unwrap())
        .await
        .unwrap();
    let took = begun.elapsed();
    assert!(took < Duration::from_secs(4), "{took:?}");
    tab.click(&id(&tab, "Away").await).await.unwrap();
    assert_eq!(tab.title().await.unwrap(), "near");
    tab.navigate(&world.site.url("/ticks")).await.unwrap();
    let idle = tollgate_browser::WaitFor::NetworkIdle;
    tab.wait_for(&idle, Duration::from_secs(20)).await.unwrap();
    assert_eq!(tab.title().await.unwrap(), "done");
    world.browser.close().await;
}
