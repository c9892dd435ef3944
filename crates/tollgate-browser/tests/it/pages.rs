//! Pages are seen as they are, and used as a person would.

use std::time::{Duration, Instant};

use tollgate_browser::{Direction, Error, Format, Stroke, WaitFor, find_elements, tokens};

use crate::world::{World, eventually, id, text};

#[tokio::test(flavor = "multi_thread")]
async fn a_shop_is_seen_with_its_shadow_trees_and_frames_and_can_be_used() {
    let world = World::new().await;
    let (_session, tab) = world.show("/shop").await;
    eventually("the frame of another site is there", || async {
        tab.elements()
            .await
            .unwrap()
            .iter()
            .any(|it| it.label == "Pay now")
    })
    .await;
    let all = tab.elements().await.unwrap();
    let by = |label: &str| {
        all.iter()
            .find(|it| it.label == label)
            .unwrap_or_else(|| panic!("{label}: {all:#?}"))
    };
    assert_eq!(by("Account").region, "header");
    assert_eq!(by("Search products").r#type, "searchbox");
    assert_eq!(by("Search products").region, "search");
    assert_eq!(by("Imprint").region, "footer");
    assert!(by("Coupon").bounds.y > by("Rate it").bounds.y);
    assert!(by("Pay now").id.contains("_f1_"), "{}", by("Pay now").id);
    assert!(by("Pay now").bounds.x > by("Coupon").bounds.x);
    // Secrets stay on the page.
    assert_eq!(by("Card word").state.value.as_deref(), Some("********"));
    assert_eq!(by("API token").state.value.as_deref(), Some("********"));
    let shown = serde_json::to_string(&all).unwrap();
    assert!(
        !shown.contains("sesame") && !shown.contains("abcdef"),
        "{shown}"
    );
    let said = text(&tab).await;
    for words in [
        "Desk lamp, 20 €",
        "In the shadow",
        "Same site inside",
        "Inside another site",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    assert!(!said.contains("sesame"));
    let overview = tab.overview(&all).await.unwrap();
    assert_eq!(
        (overview.title.as_str(), overview.summary.as_str()),
        ("Shop", "Lamps and chairs")
    );
    assert_eq!(find_elements(&all, "cart")[0].label, "Add to cart");

    tab.click(&id(&tab, "Add to cart").await).await.unwrap();
    assert!(text(&tab).await.contains("1 in cart"));
    tab.click(&id(&tab, "Rate it").await).await.unwrap();
    assert!(!id(&tab, "Rated").await.is_empty());
    tab.click(&id(&tab, "Pay now").await).await.unwrap();
    eventually("the click reached the other site", || async {
        text(&tab).await.contains("pressed-here")
    })
    .await;
    tab.type_text(&id(&tab, "Coupon").await, "SAVE10", false)
        .await
        .unwrap();
    let all = tab.elements().await.unwrap();
    let coupon = all.iter().find(|it| it.label == "Coupon").unwrap();
    assert_eq!(coupon.state.value.as_deref(), Some("SAVE10"));
    world.browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn forms_are_filled_in_and_ids_hold_as_long_as_their_elements() {
    let world = World::new().await;
    let (_session, tab) = world.show("/form").await;
    let query = id(&tab, "Query").await;
    tab.type_text(&query, "blue", false).await.unwrap();
    tab.type_text(&query, " lamp", false).await.unwrap();
    tab.set_value(&id(&tab, "Note").await, "two\nlines", false)
        .await
        .unwrap();
    tab.set_value(&id(&tab, "Rich").await, "<b>new</b>", true)
        .await
        .unwrap();
    tab.click(&id(&tab, "Agree").await).await.unwrap();
    let colour = id(&tab, "Colour").await;
    tab.select_option(&colour, "Green").await.unwrap();
    let none = tab.select_option(&colour, "Blue").await;
    assert!(
        matches!(&none, Err(Error::Invalid(why)) if why.contains("Red, Green")),
        "{none:?}"
    );
    let file = world.folder.path().join("notes.txt");
    std::fs::write(&file, "hello").unwrap();
    tab.upload(&id(&tab, "Attachment").await, &file.display().to_string())
        .await
        .unwrap();
    let script = "[document.querySelector('[name=q]').value, document.querySelector('select').value, \
        document.querySelector('textarea').value, document.querySelector('[contenteditable] b').textContent, \
        document.querySelector('[type=checkbox]').checked, document.querySelector('[type=file]').files[0].name]";
    let held = tab.execute(script, Duration::from_secs(10)).await.unwrap();
    assert_eq!(
        held,
        serde_json::json!(["blue lamp", "g", "two\nlines", "new", true, "notes.txt"])
    );
    for (wrong, why) in [("Go", "only fields"), ("Agree", "no text")] {
        let refused = tab.set_value(&id(&tab, wrong).await, "x", false).await;
        assert!(
            matches!(&refused, Err(Error::Invalid(said)) if said.contains(why)),
            "{refused:?}"
        );
    }
    let below = tab.scroll(Direction::Down).await.unwrap();
    assert!(below.y > 0.0 && !below.end);
    assert!(tab.scroll(Direction::Up).await.unwrap().end);
    tab.press(&Stroke::new("a", &["Control".into()]).unwrap())
        .await
        .unwrap();
    let picture = tab.picture(Format::Png, 80, true, None).await.unwrap();
    assert!(picture.height > 3000.0 && picture.base64.starts_with("iVBOR"));
    let small = tab
        .picture(Format::Jpeg, 50, false, Some(&query))
        .await
        .unwrap();
    assert!(small.width < 400.0 && small.base64.starts_with("/9j/"));
    let submitted = tab.type_text(&query, "", true).await.unwrap();
    assert_eq!(submitted.dialog, None);
    eventually("the form was sent", || async {
        tab.url().contains("/near?q=blue+lamp")
    })
    .await;
    assert!(tab.go_back().await.unwrap());
    assert!(tab.url().ends_with("/form"), "{}", tab.url());

    tab.navigate(&world.site.url("/redraw")).await.unwrap();
    let (count, save) = (id(&tab, "Count 0").await, id(&tab, "Save").await);
    tab.click(&count).await.unwrap();
    // Drawn anew, but still the only one of its name.
    let clicked = tab.click(&save).await.unwrap();
    assert_ne!(clicked.id, save);
    let gone = tab.click(&count).await;
    let Err(Error::ElementNotFound { near, .. }) = &gone else {
        panic!("{gone:?}");
    };
    assert_eq!(near[0].label, "Count 2");
    for bad in ["", "btn", "btn_x_999999", "x_y_f7_3"] {
        assert!(
            matches!(tab.click(bad).await, Err(Error::ElementNotFound { .. })),
            "{bad}"
        );
    }
    tab.navigate(&world.site.url("/covered")).await.unwrap();
    let under = id(&tab, "Under").await;
    let covered = tab.click(&under).await;
    assert!(
        matches!(&covered, Err(Error::Script(why)) if why.contains("div#veil")),
        "{covered:?}"
    );
    tab.execute(
        "document.querySelector('#veil').remove()",
        Duration::from_secs(5),
    )
    .await
    .unwrap();
    tab.click(&under).await.unwrap();
    assert_eq!(tab.title().await.unwrap(), "hit");
    world.browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn large_pages_fit_and_steps_cost_what_changed() {
    let world = World::new().await;
    let (_session, tab) = world.show("/article").await;
    let content = tab.content(500).await.unwrap();
    assert!(content.sections[0].main && content.sections[0].text == "On rivers");
    let fit = tollgate_browser::fitting(&content.sections, 3000);
    let shown = serde_json::to_string(&content.sections[..fit]).unwrap();
    assert!(fit > 10 && tokens(&shown) <= 3100, "{fit}");
    let (view, _) = tab.view_of_sections(&content.sections, None);
    tab.execute(
        "document.querySelector('p').textContent = 'changed'",
        Duration::from_secs(10),
    )
    .await
    .unwrap();
    let content = tab.content(500).await.unwrap();
    let (_, changes) = tab.view_of_sections(&content.sections, Some(&view));
    let changes = changes.unwrap();
    let changed: Vec<&str> = content
        .sections
        .iter()
        .zip(&changes.changed)
        .filter(|(_, it)| **it)
        .map(|(it, _)| it.text.as_str())
        .collect();
    assert_eq!((changed, changes.removed.len()), (vec!["changed"], 1));

    tab.navigate(&world.site.url("/many")).await.unwrap();
    let all = tab.elements().await.unwrap();
    assert_eq!(all.len(), 10_000);
    tab.click(&id(&tab, "Button 9999").await).await.unwrap();

    tab.navigate(&world.site.url("/log")).await.unwrap();
    tab.wait_for(&WaitFor::NetworkIdle, Duration::from_secs(20))
        .await
        .unwrap();
    let stable = tab
        .wait_for_stable(Duration::from_secs(20), Duration::from_millis(300))
        .await
        .unwrap();
    assert!(stable.stable, "{stable:?}");
    let errors: Vec<_> = tab
        .console()
        .0
        .into_iter()
        .filter(|it| it.level == "error")
        .collect();
    assert_eq!(errors[0].text, "bad thing 7");
    let requests = tab.network().0;
    let missing = requests
        .iter()
        .find(|it| it.url.ends_with("/missing"))
        .unwrap();
    assert_eq!(
        (missing.status, missing.kind.as_str()),
        (Some(404), "fetch")
    );
    let absent = tab
        .wait_for(
            &WaitFor::Selector("#nothing".into()),
            Duration::from_millis(200),
        )
        .await;
    assert!(matches!(absent, Err(Error::Timeout(_))));
    let bad = tab
        .wait_for(&WaitFor::Selector("##".into()), Duration::from_millis(200))
        .await;
    assert!(matches!(bad, Err(Error::Invalid(_))), "{bad:?}");
    tab.wait_for(&WaitFor::Hidden("#nothing".into()), Duration::from_secs(5))
        .await
        .unwrap();
    let thrown = tab
        .execute("throw new Error('mine')", Duration::from_secs(5))
        .await;
    assert!(
        matches!(&thrown, Err(Error::Script(why)) if why == "Error: mine"),
        "{thrown:?}"
    );
    let value = tab
        .execute("const a = 2; return a * 3", Duration::from_secs(5))
        .await
        .unwrap();
    assert_eq!(value, 6);
    world.browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_action_on_a_large_page_does_not_look_at_all_of_it() {
    let world = World::new().await;
    let (_session, tab) = world.show("/many").await;
    let button = id(&tab, "Button 9999").await;
    let (mut listed, mut clicked) = (Duration::MAX, Duration::MAX);
    for _ in 0..3 {
        let begun = Instant::now();
        assert_eq!(tab.elements().await.unwrap().len(), 10_000);
        listed = listed.min(begun.elapsed());
        let begun = Instant::now();
        tab.click(&button).await.unwrap();
        clicked = clicked.min(begun.elapsed());
    }
    assert!(clicked * 2 < listed, "{clicked:?} beside {listed:?}");
    world.browser.close().await;
}
