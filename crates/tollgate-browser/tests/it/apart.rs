//! A page cannot deceive our own scripts with functions of its own, and still hears what they do.

use std::time::Duration;

use tollgate_browser::{Error, Format};

use crate::world::{World, eventually, id};

#[tokio::test(flavor = "multi_thread")]
async fn a_page_that_lies_about_its_elements_is_not_believed() {
    let world = World::new().await;
    let (_session, tab) = world.show("/lying").await;
    let covered = tab.click(&id(&tab, "Under").await).await;
    assert!(
        matches!(&covered, Err(Error::Script(why)) if why.contains("covered by <div>")),
        "{covered:?}"
    );
    assert_eq!(tab.title().await.unwrap(), "lying");
    let word = id(&tab, "Word").await;
    assert!(word.starts_with("secret_"), "{word}");
    let disguised = word.replacen("secret_", "input_", 1);
    let written = tab.set_value(&disguised, "sesame", false).await;
    assert!(
        matches!(&written, Err(Error::ElementNotFound { near, .. }) if near[0].id == word),
        "{written:?}"
    );
    tab.set_value(&word, "sesame", false).await.unwrap();
    world.browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_that_watches_its_own_setters_hears_of_a_change() {
    let world = World::new().await;
    let (_session, tab) = world.show("/tracked").await;
    let word = id(&tab, "Word").await;
    tab.set_value(&word, "lamp", false).await.unwrap();
    assert_eq!(tab.title().await.unwrap(), "heard lamp");
    let list = id(&tab, "List").await;
    tab.select_option(&list, "b").await.unwrap();
    assert_eq!(tab.title().await.unwrap(), "heard b");
    world.browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn elements_of_frames_are_used_in_worlds_of_their_own() {
    let world = World::new().await;
    let (_session, tab) = world.show("/shop").await;
    eventually("both frames are there", || async {
        let all = tab.elements().await.unwrap();
        let is_there = |label: &str| all.iter().any(|it| it.label == label);
        is_there("Coupon") && is_there("Pay now")
    })
    .await;
    let coupon = id(&tab, "Coupon").await;
    tab.set_value(&coupon, "SAVE10", false).await.unwrap();
    let held = "frames[0].document.querySelector('input').value";
    let held = tab.execute(held, Duration::from_secs(10)).await.unwrap();
    assert_eq!(held, "SAVE10");
    // Going elsewhere and back, numbers of worlds and nodes are other ones.
    for page in ["/near", "/form"] {
        for host in ["shop.test", "other.test"] {
            tab.navigate(&world.site.at(host, page)).await.unwrap();
        }
    }
    let query = id(&tab, "Query").await;
    tab.set_value(&query, "blue", false).await.unwrap();
    world.browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_lies_above_a_frame_covers_what_is_in_it() {
    let world = World::new().await;
    let (_session, tab) = world.show("/overlaid").await;
    eventually("both frames are there", || async {
        let all = tab.elements().await.unwrap();
        let is_there = |label: &str| all.iter().any(|it| it.label == label);
        is_there("Coupon") && is_there("Pay now")
    })
    .await;
    for label in ["Pay now", "Coupon"] {
        let covered = tab.click(&id(&tab, label).await).await;
        assert!(
            matches!(&covered, Err(Error::Script(why)) if why.contains("covered by <div#veil>")),
            "{label}: {covered:?}"
        );
    }
    let lift = "veil.remove()";
    tab.execute(lift, Duration::from_secs(10)).await.unwrap();
    for label in ["Pay now", "Coupon"] {
        tab.click(&id(&tab, label).await).await.unwrap();
    }
    assert_eq!(tab.title().await.unwrap(), "overlaid");
    world.browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_picture_does_not_show_what_a_field_for_secrets_holds() {
    let world = World::new().await;
    let (_session, tab) = world.show("/near").await;
    let picture = async |page: &str| {
        tab.navigate(&world.site.url(page)).await.unwrap();
        let picture = tab.picture(Format::Png, 80, false, None).await.unwrap();
        picture.base64
    };
    assert_eq!(picture("/code?111111").await, picture("/code?888888").await);
    let styles = "[document.querySelector('input').getAttribute('style'), \
        host.shadowRoot.querySelector('input').getAttribute('style')]";
    let styles = tab.execute(styles, Duration::from_secs(10)).await.unwrap();
    assert_eq!(styles, serde_json::json!([null, "color: red;"]));
    let (one, two) = ("/plain-field?111111", "/plain-field?888888");
    assert_ne!(picture(one).await, picture(two).await);
    world.browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_that_the_page_itself_shows_stays_on_the_page() {
    let world = World::new().await;
    let (_session, tab) = world.show("/shown?hunter-4711").await;
    let elements = tab.elements().await.unwrap();
    let values = elements
        .iter()
        .map(|it| (&*it.label, it.state.value.as_deref()));
    let values: std::collections::BTreeMap<_, _> = values.collect();
    // A field for passwords that shows what it holds is still one.
    for label in ["Zugang", "Ihr Passwort", "Your PIN:", "Secret note"] {
        assert_eq!(values[label], Some("********"), "{values:?}");
    }
    assert_eq!(values["Menge"], Some("amount-7"), "{values:?}");
    let shown = id(&tab, "Zugang").await;
    assert!(shown.starts_with("secret_"), "{shown}");
    let disguised = shown.replacen("secret_", "input_", 1);
    let written = tab.type_text(&disguised, "abc", false).await;
    assert!(
        matches!(written, Err(Error::ElementNotFound { .. })),
        "{written:?}"
    );
    let said = crate::world::text(&tab).await;
    assert!(said.contains("drafted"), "{said}");
    assert!(said.contains("Before ******** after"), "{said}");
    assert!(!said.contains("hunter"), "{said}");
    // Nor does a picture show it.
    let picture = async |page: &str| {
        tab.navigate(&world.site.url(page)).await.unwrap();
        let picture = tab.picture(Format::Png, 80, false, None).await.unwrap();
        picture.base64
    };
    assert_eq!(
        picture("/shown?111111").await,
        picture("/shown?888888").await
    );
    world.browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_field_whose_name_tells_of_a_secret_is_written_under_that_name_alone() {
    let world = World::new().await;
    let (_session, tab) = world.show("/shop").await;
    let token = id(&tab, "API token").await;
    assert!(token.starts_with("secret_"), "{token}");
    let disguised = token.replacen("secret_", "input_", 1);
    let written = tab.type_text(&disguised, "abc", false).await;
    assert!(
        matches!(&written, Err(Error::ElementNotFound { near, .. }) if near[0].id == token),
        "{written:?}"
    );
    tab.type_text(&token, "abc", false).await.unwrap();
    world.browser.close().await;
}
