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
    let asked = tab.dialogs();
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
