//! Pages that would rather be stayed on are left all the same.

use crate::world::{World, eventually, id};

#[tokio::test(flavor = "multi_thread")]
async fn a_page_that_asks_whether_to_leave_is_left() {
    let world = World::new().await;
    let (_session, tab) = world.show("/unsaved").await;
    let near = world.site.url("/near");
    // A page may only ask once somebody has touched it.
    let touch = async || {
        tab.click(&id(&tab, "Touch").await).await.unwrap();
        eventually("it is touched", || async {
            tab.title().await.is_ok_and(|it| it == "touched")
        })
        .await;
    };
    touch().await;
    let left = tab.navigate(&near).await.unwrap();
    assert!(!left.partial, "{left:?}");
    assert_eq!(tab.title().await.unwrap(), "near");
    let asked = tab.dialogs();
    assert_eq!(asked.len(), 1, "{asked:?}");
    assert_eq!(
        (asked[0].r#type.as_str(), asked[0].handled),
        ("beforeunload", Some("accepted"))
    );

    // A way back is a way out as well.
    tab.navigate(&world.site.url("/unsaved")).await.unwrap();
    touch().await;
    assert!(tab.go_back().await.unwrap());
    assert_eq!(tab.title().await.unwrap(), "near");

    // Where the page itself wants to leave, somebody is asked; going elsewhere is an answer.
    tab.navigate(&world.site.url("/unsaved")).await.unwrap();
    touch().await;
    tab.click(&id(&tab, "Leave").await).await.unwrap();
    eventually("it asks", || async { tab.pending_dialog().is_some() }).await;
    tab.navigate(&near).await.unwrap();
    assert_eq!(tab.title().await.unwrap(), "near");
    assert_eq!(tab.pending_dialog(), None);
    let asked = tab.dialogs();
    assert!(asked.iter().all(|it| it.r#type == "beforeunload"));
    assert!(
        asked.iter().all(|it| it.handled == Some("accepted")),
        "{asked:?}"
    );
    world.browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_that_is_open_keeps_nobody_on_its_page() {
    let world = World::new().await;
    let (_session, tab) = world.show("/dialog").await;
    let clicked = tab.click(&id(&tab, "Ask").await).await.unwrap();
    assert_eq!(clicked.dialog.unwrap().r#type, "confirm");
    let left = tab.navigate(&world.site.url("/near")).await.unwrap();
    assert!(!left.partial, "{left:?}");
    assert_eq!(tab.title().await.unwrap(), "near");
    assert_eq!(tab.pending_dialog(), None);
    let asked = tab.dialogs();
    assert_eq!((asked.len(), asked[0].handled), (1, Some("dismissed")));
    // The page is as good as any other.
    assert!(!id(&tab, "Coupon").await.is_empty());
    world.browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_that_leaves_at_the_same_time_does_not_decide_where_to() {
    let world = World::new().await;
    let (_session, tab) = world.show("/restless").await;
    // A page that was touched may take our place while our request is on its way.
    tab.click(&id(&tab, "Touch").await).await.unwrap();
    let left = tab.navigate(&world.site.url("/late")).await.unwrap();
    assert!(!left.partial, "{left:?}");
    assert_eq!(tab.title().await.unwrap(), "late");
    world.browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nor_does_it_decide_where_back_is() {
    let world = World::new().await;
    let (_session, tab) = world.show("/again").await;
    tab.navigate(&world.site.url("/restless-back"))
        .await
        .unwrap();
    tab.click(&id(&tab, "Touch").await).await.unwrap();
    assert!(tab.go_back().await.unwrap());
    assert_eq!(tab.title().await.unwrap(), "again");
    world.browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn back_leads_through_one_document_and_says_what_did_not_come() {
    let world = World::new().await;
    let (_session, tab) = world.show("/near").await;
    let patience = std::time::Duration::from_secs(10);
    tab.execute("history.pushState({}, '', '?further')", patience)
        .await
        .unwrap();
    assert!(tab.url().ends_with("/near?further"), "{}", tab.url());
    assert!(tab.go_back().await.unwrap());
    assert_eq!(tab.url(), world.site.url("/near"));
    // The page before is not to be had any more.
    tab.navigate(&world.site.at("rebinding.test", "/rebind"))
        .await
        .unwrap();
    tab.navigate(&world.site.url("/form")).await.unwrap();
    let refused = tab.go_back().await.unwrap_err();
    assert!(refused.to_string().contains("out of bounds"), "{refused}");
    world.browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_without_a_page_is_said_and_nothing_is_left() {
    let world = World::new().await;
    let (_session, tab) = world.show("/near").await;
    let refused = tab.navigate(&world.site.url("/nothing")).await.unwrap_err();
    assert!(refused.to_string().contains("204"), "{refused}");
    assert_eq!(tab.title().await.unwrap(), "near");
    let asked = world.site.seen();
    let asked = asked.iter().filter(|it| it.ends_with("/nothing"));
    assert_eq!(asked.count(), 1);
    world.browser.close().await;
}
