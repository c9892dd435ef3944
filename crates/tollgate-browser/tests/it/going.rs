//! Going somewhere: one navigation of a tab after the other, and pages that want a login of the
//! browser itself.

use std::time::Duration;

use tollgate_browser::{Error, Limits};

use crate::world::{World, id, text};

#[tokio::test(flavor = "multi_thread")]
async fn navigations_of_one_tab_wait_for_each_other() {
    let world = World::new().await;
    let (_session, tab) = world.show("/near").await;
    let paths: Vec<String> = (0..6).map(|it| format!("/note?{it}")).collect();
    let going = paths.iter().map(|path| {
        let (tab, url) = (tab.clone(), world.site.url(path));
        tokio::spawn(async move { tab.navigate(&url).await })
    });
    let going: Vec<_> = going.collect();
    for (path, went) in paths.iter().zip(going) {
        let loaded = went.await.unwrap();
        let loaded = loaded.unwrap_or_else(|error| panic!("{path}: {error:?}"));
        assert_eq!(
            (loaded.partial, loaded.status),
            (false, Some(200)),
            "{path}"
        );
    }
    let seen = world.site.seen();
    for path in &paths {
        let asked = seen.iter().filter(|it| it.ends_with(path)).count();
        assert_eq!(asked, 1, "{path}: {seen:?}");
    }
    world.browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_waits_too_long_for_another_navigation_learns_it() {
    let limits = Limits {
        navigation: Duration::from_secs(2),
        ..Limits::default()
    };
    let world = World::with(limits).await;
    let (_session, tab) = world.show("/near").await;
    let going = |path: &str| {
        let (tab, url) = (tab.clone(), world.site.url(path));
        tokio::spawn(async move { tab.navigate(&url).await })
    };
    let never: Vec<_> = (0..4).map(|_| going("/never")).collect();
    let mut late = 0;
    for went in never {
        match went.await.unwrap() {
            Err(Error::Timeout(why)) if why.contains("another navigation") => late += 1,
            Err(Error::Timeout(why)) => assert!(why.contains("no page came"), "{why}"),
            other => panic!("{other:?}"),
        }
    }
    assert!(late > 0, "somebody waited too long");
    tab.navigate(&world.site.url("/near")).await.unwrap();
    assert_eq!(tab.title().await.unwrap(), "near");
    world.browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_and_a_password_in_an_address_are_for_its_site_alone() {
    let world = World::new().await;
    let (_session, tab) = world.show("/near").await;
    let at = |host: &str, path: &str| world.site.at(host, path);
    // `ada:lovelace`, as browsers spell it.
    let known = "Basic YWRhOmxvdmVsYWNl";
    for (host, path, expected) in [
        ("ada:lovelace@shop.test", "/whoami", known),
        ("shop.test", "/whoami", known),
        ("other.test", "/whoami", "nobody"),
        ("ada:lovelace@shop.test", "/to-whoami", "nobody"),
        ("shop.test", "/to-whoami", "nobody"),
    ] {
        tab.navigate(&at(host, path)).await.unwrap();
        assert_eq!(tab.title().await.unwrap(), expected, "{host}{path}");
    }
    world.browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_that_wants_a_login_of_the_browser_is_shown_with_its_status() {
    let world = World::new().await;
    let (_session, tab) = world.show("/near").await;
    for (path, status) in [("/members", 401), ("/members-proxy", 407)] {
        let loaded = tab.navigate(&world.site.url(path)).await;
        let loaded = loaded.unwrap_or_else(|error| panic!("{path}: {error:?}"));
        assert_eq!((loaded.status, loaded.partial), (Some(status), false));
        assert_eq!(text(&tab).await, "Members only", "{path}");
    }
    // Whoever is led there by a link sees it too.
    tab.navigate(&world.site.url("/near")).await.unwrap();
    let link = "document.body.innerHTML = '<a href=/members>Members</a>'; 0";
    tab.execute(link, Duration::from_secs(5)).await.unwrap();
    tab.click(&id(&tab, "Members").await).await.unwrap();
    assert_eq!(tab.title().await.unwrap(), "Members");
    world.browser.close().await;
}
