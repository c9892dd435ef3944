//! Pages that mean harm: they reach out by every way there is, hang, eat memory and trap.

use tollgate_browser::{Error, Limits};

use crate::world::{World, eventually, id};

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_changes_its_mind_leads_nowhere() {
    let world = World::new().await;
    let session = world.session();
    let (_, tab) = session.tab(None, true).await.unwrap();
    let page = world.site.at("rebinding.test", "/rebind");
    tab.navigate(&page).await.unwrap();
    eventually("the second try has ended", || async {
        tab.title().await.is_ok_and(|it| it != "rebind")
    })
    .await;
    // The second connection is looked up anew, and where it leads then is out of bounds.
    assert_eq!(tab.title().await.unwrap(), "failed");
    let asked = world.fence.asked.lock().unwrap().clone();
    assert!(
        asked.iter().filter(|it| *it == "rebinding.test").count() > 1,
        "{asked:?}"
    );
    let seen = world.site.seen();
    assert!(!seen.iter().any(|it| it.contains("again")), "{seen:?}");
    world.browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn service_workers_prefetches_and_blobs_ask_the_boundary() {
    let world = World::new().await;
    let session = world.session();
    let (_, tab) = session.tab(None, true).await.unwrap();
    // Workers of this kind are for secure pages only, and this name counts as one.
    let page = world.site.at("app.localhost", "/worker");
    tab.navigate(&page).await.unwrap();
    eventually("the worker has tried", || async {
        tab.title().await.is_ok_and(|it| it != "worker")
    })
    .await;
    assert_eq!(tab.title().await.unwrap(), "worker failed");
    tab.navigate(&world.site.url("/blob")).await.unwrap();
    eventually("the blob has tried", || async {
        tab.title().await.is_ok_and(|it| it != "blob")
    })
    .await;
    assert_eq!(tab.title().await.unwrap(), "blob failed");
    let has_asked = |host: &str| {
        world
            .fence
            .asked
            .lock()
            .unwrap()
            .iter()
            .any(|it| it == host)
    };
    for host in ["10.9.8.21", "10.9.8.22", "10.9.8.23"] {
        eventually(host, || async { has_asked(host) }).await;
    }
    for url in [
        "data:text/html,<title>x</title>",
        "blob:http://shop.test/0-0",
        "javascript:alert(1)",
        "view-source:http://shop.test/",
        "chrome://version",
        "filesystem:http://shop.test/temporary/x",
        "ftp://shop.test/",
    ] {
        let refused = tab.navigate(url).await;
        assert!(
            matches!(refused, Err(Error::Invalid(_))),
            "{url}: {refused:?}"
        );
    }
    world.browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_that_hangs_or_eats_memory_is_replaced() {
    let limits = Limits {
        script_megabytes: 64,
        ..Limits::default()
    };
    let world = World::with(limits).await;
    let (session, tab) = world.show("/hang").await;
    let hung = tab.click(&id(&tab, "Hang").await).await;
    // The click itself, or whoever looks next, learns it.
    let hung = match hung {
        Ok(_) => tab.elements().await.map(drop),
        Err(error) => Err(error),
    };
    assert!(
        matches!(hung, Err(Error::Timeout(_) | Error::Crashed)),
        "{hung:?}"
    );
    let (_, again) = session.tab(None, true).await.unwrap();
    assert_eq!(again.title().await.unwrap(), "hang");
    assert!(session.was_reopened());

    again.navigate(&world.site.url("/eater")).await.unwrap();
    let eaten = again.click(&id(&again, "Eat").await).await;
    let eaten = match eaten {
        Ok(_) => again.elements().await.map(drop),
        Err(error) => Err(error),
    };
    assert!(
        matches!(eaten, Err(Error::Crashed | Error::Timeout(_))),
        "{eaten:?}"
    );
    let (_, last) = session.tab(None, true).await.unwrap();
    assert_eq!(last.title().await.unwrap(), "eater");
    world.browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_that_holds_the_focus_holds_nobody() {
    let world = World::new().await;
    let (_session, tab) = world.show("/trap").await;
    let other = id(&tab, "Other").await;
    tab.set_value(&other, "set", false).await.unwrap();
    let element = tab.element(&other).await.unwrap();
    assert_eq!(element.state.value.as_deref(), Some("set"));
    // What would be typed into another field is not typed at all.
    let typed = tab.type_text(&other, "typed", false).await;
    assert!(matches!(typed, Err(Error::Invalid(_))), "{typed:?}");
    let trap = tab.element(&id(&tab, "Trap").await).await.unwrap();
    assert_eq!(trap.state.value, None);
    tab.click(&id(&tab, "Leave").await).await.unwrap();
    eventually("the page was left", || async {
        tab.title().await.is_ok_and(|it| it == "near")
    })
    .await;
    world.browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_that_fills_buffers_beside_its_heap_is_replaced() {
    let limits = Limits {
        page_megabytes: 400,
        ..Limits::default()
    };
    let world = World::with(limits).await;
    let (session, tab) = world.show("/buffers").await;
    let (_other, beside) = world.show("/near").await;
    // It eats by and by, so the click itself comes through.
    let _ = tab.click(&id(&tab, "Eat").await).await;
    eventually("it ends", || async { tab.has_ended() }).await;
    let ended = tab.title().await;
    assert!(matches!(ended, Err(Error::Crashed)), "{ended:?}");
    let (_, again) = session.tab(None, true).await.unwrap();
    assert_eq!(again.title().await.unwrap(), "buffers");
    drop(beside);
    world.browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_that_fills_the_browser_itself_is_replaced() {
    let limits = Limits {
        page_megabytes: 600,
        ..Limits::default()
    };
    let world = World::with(limits).await;
    let (_other, beside) = world.show("/near").await;
    let (session, tab) = world.show("/blobs").await;
    let browser = world.browser.processes().await;
    let _ = tab.click(&id(&tab, "Eat").await).await;
    eventually("it ends", || async { tab.has_ended() }).await;
    let (_, again) = session.tab(None, true).await.unwrap();
    assert_eq!(again.title().await.unwrap(), "blobs");
    // Nobody else has to pay for it.
    assert_eq!(beside.title().await.unwrap(), "near");
    assert_eq!(world.browser.processes().await, browser);
    world.browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_that_sends_itself_on_for_ever_can_be_left() {
    let limits = Limits {
        navigation: std::time::Duration::from_secs(3),
        ..Limits::default()
    };
    let world = World::with(limits).await;
    let (_session, tab) = world.show("/near").await;
    tab.navigate(&world.site.url("/spin")).await.unwrap();
    tab.navigate(&world.site.url("/near")).await.unwrap();
    assert_eq!(tab.title().await.unwrap(), "near");
    world.browser.close().await;
}
