//! Tabs, dialogs, downloads and sessions.

use std::{sync::Arc, time::Duration};

use serde_json::json;
use tollgate_browser::{Error, Format, Limits, Tab};

use crate::world::{World, eventually, id, owner};

#[tokio::test(flavor = "multi_thread")]
async fn sessions_share_nothing_and_tabs_are_counted() {
    let limits = Limits {
        tabs_per_session: 3,
        tabs: 5,
        sessions: 4,
        ..Limits::default()
    };
    let world = World::with(limits).await;
    let (session, tab) = world.show("/login").await;
    tab.type_text(&id(&tab, "Name").await, "ada", false)
        .await
        .unwrap();
    tab.type_text(&id(&tab, "Password").await, "lovelace", true)
        .await
        .unwrap();
    eventually("ada is in", || async {
        tab.title().await.is_ok_and(|it| it == "Home")
    })
    .await;
    let other = world
        .browser
        .default_session(&owner("ada"), || world.options())
        .await
        .unwrap();
    assert_ne!(other.id(), session.id());
    let again = world
        .browser
        .default_session(&owner("ada"), || world.options())
        .await
        .unwrap();
    assert_eq!(again.id(), other.id());
    let (_, elsewhere) = other.tab(None, true).await.unwrap();
    elsewhere.navigate(&world.site.url("/home")).await.unwrap();
    assert_eq!(elsewhere.title().await.unwrap(), "Log in");
    // A session of somebody else does not exist.
    let foreign = world.browser.session(&owner("eve"), session.id());
    assert!(matches!(foreign, Err(Error::SessionNotFound(_))));

    // Popups become tabs, and there are never too many.
    tab.navigate(&world.site.url("/popup")).await.unwrap();
    tab.click(&id(&tab, "Open near").await).await.unwrap();
    eventually("the popup is a tab", || async {
        session.list().1.len() == 2
    })
    .await;
    let popup = session.list().1[1].0.clone();
    eventually("it shows its page", || async {
        session.list().1[1].1.url().ends_with("/near")
    })
    .await;
    tab.click(&id(&tab, "Flood").await).await.unwrap();
    eventually("one of a hundred comes through", || async {
        session.list().1.len() == 3
    })
    .await;
    assert_eq!(session.dropped_tabs(), 0);
    for dropped in 1..=3 {
        tab.click(&id(&tab, "Open near").await).await.unwrap();
        eventually("there is no room for more", || async {
            session.dropped_tabs() == dropped
        })
        .await;
    }
    assert_eq!(session.list().1.len(), 3);
    let second = session.list().1[2].0.clone();
    assert!(session.close_tab(&second).await.unwrap());
    while session.list().1.len() < 3 {
        session.open().await.unwrap();
    }
    assert!(matches!(session.open().await, Err(Error::Limit(why)) if why.contains("at most 3")));
    other.open().await.unwrap();
    assert!(matches!(other.open().await, Err(Error::Limit(why)) if why.contains("at most 5")));
    assert!(session.close_tab(&popup).await.unwrap());
    assert!(matches!(
        session.close_tab(&popup).await,
        Err(Error::TabNotFound(_))
    ));
    let first = session.list().1[0].0.clone();
    session.switch(&first).await.unwrap();
    assert_eq!(session.list().0, Some(first));
    other.open().await.unwrap();

    world.browser.close_session(session.id()).await;
    let closed = world.browser.session(&owner("ada"), session.id());
    assert!(matches!(closed, Err(Error::SessionNotFound(_))));
    world.browser.close().await;
}

#[tokio::test]
async fn one_caller_does_not_take_the_room_of_all() {
    let limits = Limits {
        sessions: 4,
        ..Limits::default()
    };
    let world = World::with(limits).await;
    let make = |name: &str| world.browser.create(&owner(name), world.options());
    let is_full = |name: &str| matches!(make(name), Err(Error::Limit(_)));
    for _ in 0..2 {
        make("ada").unwrap();
    }
    assert!(is_full("ada"));
    for _ in 0..2 {
        make("eve").unwrap();
    }
    assert!(is_full("bob"));
    world.browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_tab_that_is_left_takes_the_place_of_the_active_one() {
    let world = World::new().await;
    let (session, tab) = world.show("/near").await;
    for _ in 0..2 {
        session.open().await.unwrap();
    }
    let ids: Vec<String> = session.list().1.into_iter().map(|(id, _)| id).collect();
    session.switch(&ids[1]).await.unwrap();
    assert!(session.close_tab(&ids[1]).await.unwrap());
    assert_eq!(session.list().0.as_ref(), Some(&ids[0]));
    // A script that declares a name again, or returns, is run all the same.
    let run = async |script: &str| tab.execute(script, Duration::from_secs(10)).await.unwrap();
    for _ in 0..2 {
        run("const lamp = 1; lamp").await;
    }
    assert_eq!(run("const lamp = 2; return lamp + 5").await, 7);
    world.browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_that_asks_without_end_is_left_all_the_same() {
    let world = World::new().await;
    let (_session, tab) = world.show("/nagging").await;
    assert_eq!(tab.pending_dialog().unwrap().message, "again");
    for path in ["/near", "/nagging", "/shop"] {
        let loaded = tab.navigate(&world.site.url(path)).await.unwrap();
        assert_eq!(tab.url(), world.site.url(path), "{loaded:?}");
    }
    assert!(tab.elements().await.is_ok());
    // Where nobody leaves, it is stopped some day.
    tab.navigate(&world.site.url("/nagging")).await.unwrap();
    eventually("the page is free", || async {
        tab.handle_dialog(false, None).await.unwrap();
        tab.elements().await.is_ok()
    })
    .await;
    world.browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn dialogs_wait_for_an_answer_and_are_dismissed_without_one() {
    let limits = Limits {
        dialog: Duration::from_secs(3),
        download_bytes: 1 << 20,
        ..Limits::default()
    };
    let world = World::with(limits).await;
    let (session, tab) = world.show("/dialog").await;
    let clicked = tab.click(&id(&tab, "Ask").await).await.unwrap();
    assert_eq!(clicked.dialog.unwrap().message, "Really?");
    let handled = tab.handle_dialog(true, None).await.unwrap().unwrap();
    assert_eq!(handled.handled, Some("accepted"));
    eventually("the page goes on", || async {
        tab.title().await.is_ok_and(|it| it == "true")
    })
    .await;
    assert_eq!(tab.handle_dialog(true, None).await.unwrap(), None);
    // Nobody answers the second one.
    tab.click(&id(&tab, "Ask").await).await.unwrap();
    assert!(matches!(tab.elements().await, Err(Error::Dialog(_))));
    eventually("the page goes on", || async {
        tab.title().await.is_ok_and(|it| it == "false")
    })
    .await;
    assert_eq!(tab.dialogs()[1].handled, Some("timed_out"));
    // A page that asks for ever is not listened to for ever.
    tab.click(&id(&tab, "Loop").await).await.unwrap();
    for _ in 0..19 {
        eventually("the next dialog", || async {
            tab.pending_dialog().is_some() || tab.dialogs().len() == 20
        })
        .await;
        tab.handle_dialog(false, None).await.unwrap();
    }
    eventually("the page is free", || async {
        tab.elements().await.is_ok()
    })
    .await;

    tab.navigate(&world.site.url("/download")).await.unwrap();
    tab.click(&id(&tab, "Report").await).await.unwrap();
    eventually("the file is there", || async {
        session.downloads().iter().any(|it| it.completed)
    })
    .await;
    let file = session.downloads().remove(0);
    assert_eq!(
        (
            file.size,
            std::fs::read_to_string(&file.path).unwrap().as_str()
        ),
        (5, "a,b,c")
    );
    assert!(
        file.path.starts_with(world.folder.path().join("downloads")),
        "{file:?}"
    );
    tab.click(&id(&tab, "Endless").await).await.unwrap();
    eventually("the endless one is stopped", || async {
        session
            .downloads()
            .get(1)
            .is_some_and(|it| it.error.is_some() && !it.completed)
    })
    .await;
    world.browser.close().await;
    assert!(!file.path.exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn tabs_behind_another_are_as_alive_as_the_one_in_front() {
    let world = World::new().await;
    let (session, first) = world.show("/covered").await;
    let (_, second) = session.open().await.unwrap();
    let (_, third) = session.open().await.unwrap();
    for tab in [&second, &third] {
        tab.navigate(&world.site.url("/keys")).await.unwrap();
    }
    let script = "(async () => { \
        const frames = await new Promise((yes) => { let n = 0; \
            const next = () => { if (++n === 5) yes(n); else requestAnimationFrame(next); }; \
            requestAnimationFrame(next); }); \
        const seen = await new Promise((yes) => \
            new IntersectionObserver((all) => yes(all[0].isIntersecting)).observe(document.body)); \
        return [document.visibilityState, document.hasFocus(), frames, seen]; })()";
    let picture = |tab: &Arc<Tab>| {
        let tab = Arc::clone(tab);
        async move { tab.picture(Format::Png, 80, false, None).await.unwrap() }
    };
    for tab in [&first, &second, &third] {
        let lives = tab.execute(script, Duration::from_secs(20)).await.unwrap();
        assert_eq!(lives, json!(["visible", true, 5, true]));
    }
    let (one, two, three) = tokio::join!(picture(&first), picture(&second), picture(&third));
    assert_ne!(one.base64, two.base64);
    assert!(!three.base64.is_empty());
    second.hover(&id(&second, "Point").await).await.unwrap();
    eventually("the tab in the middle is pointed at", || async {
        second.title().await.is_ok_and(|it| it == "pointed")
    })
    .await;

    // A popup has a window of its own, which is no place for tabs.
    second.navigate(&world.site.url("/small")).await.unwrap();
    second.click(&id(&second, "Small").await).await.unwrap();
    eventually("the popup is a tab", || async {
        session.list().1.len() == 4
    })
    .await;
    for (name, _) in session.list().1.drain(..3) {
        assert!(session.close_tab(&name).await.unwrap());
    }
    let (_, last) = session.open().await.unwrap();
    last.navigate(&world.site.url("/near")).await.unwrap();
    assert_eq!(last.title().await.unwrap(), "near");
    world.browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_has_ended_is_brought_back_by_nobody() {
    let world = World::new().await;
    let (session, tab) = world.show("/near").await;
    world.browser.close_session(session.id()).await;
    assert!(tab.has_ended());
    let again = session.tab(None, true).await.map(|(id, _)| id);
    assert!(matches!(again, Err(Error::SessionNotFound(_))), "{again:?}");
    let again = session.open_aside().await.map(|(id, _)| id);
    assert!(matches!(again, Err(Error::SessionNotFound(_))), "{again:?}");
    world.browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_session_of_a_conversation_can_be_ended_by_its_owner_alone() {
    let world = World::new().await;
    let (ada, eve) = (owner("ada"), owner("eve"));
    let own = world
        .browser
        .default_session(&ada, || world.options())
        .await;
    let own = own.unwrap();
    let made = world.session();
    world.browser.close_default(&eve).await;
    assert!(world.browser.known_default(&ada).await.is_some());
    world.browser.close_default(&ada).await;
    assert!(world.browser.known_default(&ada).await.is_none());
    assert!(world.browser.session(&ada, own.id()).is_err());
    assert!(
        world.browser.session(&ada, made.id()).is_ok(),
        "it was not the one"
    );
    world.browser.close().await;
}
