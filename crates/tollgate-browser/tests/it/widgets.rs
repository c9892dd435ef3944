//! Fields with a format of their own, widgets that pages draw themselves, and what can be clicked
//! although no role says so.

use std::{sync::Arc, time::Duration};

use tollgate_browser::{Element, Error, Session, Tab};

use crate::world::{World, id};

/// A page that consists of this.
pub(crate) async fn drawn(world: &World, html: &str) -> (Arc<Session>, Arc<Tab>) {
    let (session, tab) = world.show("/near").await;
    let html = serde_json::to_string(html).unwrap();
    let script = format!("document.documentElement.innerHTML = {html}; 0");
    tab.execute(&script, Duration::from_secs(5)).await.unwrap();
    (session, tab)
}

async fn named(tab: &Tab, label: &str) -> Element {
    let all = tab.elements().await.unwrap();
    let found = all.iter().find(|it| it.label == label).cloned();
    found.unwrap_or_else(|| panic!("no {label} in {all:#?}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn fields_with_a_format_are_set_or_say_why_not() {
    let world = World::new().await;
    let html = "<label>Date <input type=date></label><label>Time <input type=time></label>\
        <label>Both <input type=datetime-local></label><label>Month <input type=month></label>\
        <label>Week <input type=week></label><label>Colour <input type=color></label>\
        <label>Range <input type=range min=0 max=100 step=5></label>\
        <label>Number <input type=number value=7></label>";
    let (_session, tab) = drawn(&world, html).await;
    let all = tab.elements().await.unwrap();
    assert_eq!(all.len(), 8, "{all:#?}");
    for (label, bad, good) in [
        ("Date", "31.1.2026", "2026-01-31"),
        ("Time", "noon", "12:30"),
        ("Both", "2026-01-31", "2026-01-31T12:30"),
        ("Month", "13", "2026-01"),
        ("Week", "2026-W99", "2026-W05"),
        ("Colour", "red", "#ff8800"),
        ("Range", "1000", "55"),
        ("Number", "abc", "-1.5"),
    ] {
        let field = named(&tab, label).await;
        assert_eq!(field.r#type, "textbox", "{label}");
        assert!(field.actions.contains(&"set_value"), "{label}");
        let refused = tab.set_value(&field.id, bad, false).await;
        assert!(
            matches!(&refused, Err(Error::Invalid(why)) if why.contains("does not take")),
            "{label}: {refused:?}"
        );
        tab.set_value(&field.id, good, false).await.unwrap();
        assert!(tab.holds(&field.id, good).await.unwrap(), "{label}");
    }
    let refused = tab.set_value(&id(&tab, "Range").await, "1000", false).await;
    assert!(refused.unwrap_err().to_string().contains("`100`"));
    world.browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_tell_what_is_chosen_and_refuse_what_cannot_be() {
    let world = World::new().await;
    let html = "<label>Fruit <select><option>Apple<optgroup label=Off disabled><option>Banana</optgroup></select></label>\
        <label>Many <select multiple><option>One<option>Two<option>Three</select></label>";
    let (_session, tab) = drawn(&world, html).await;
    let fruit = id(&tab, "Fruit").await;
    let refused = tab.select_option(&fruit, "Banana").await;
    assert!(matches!(refused, Err(Error::Invalid(_))), "{refused:?}");
    assert!(tab.holds(&fruit, "Apple").await.unwrap());
    let many = id(&tab, "Many").await;
    for option in ["One", "Three"] {
        tab.select_option(&many, option).await.unwrap();
    }
    let many = named(&tab, "Many").await;
    assert_eq!(many.state.value.as_deref(), Some("One, Three"));
    assert_eq!(tab.elements().await.unwrap().len(), 2);
    world.browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn widgets_that_pages_draw_are_listed_with_what_they_take() {
    let world = World::new().await;
    let html = "<body onclick=1><div role=listbox aria-label=Sizes><div role=option>Small</div></div>\
        <div role=tree><div role=treeitem>Branch</div></div>\
        <div role=grid><div role=row><div role=gridcell tabindex=0>Cell</div><div role=gridcell>Still</div></div></div>\
        <div role=combobox tabindex=0 aria-label=Country aria-expanded=false>France</div>\
        <input role=combobox aria-label=City>\
        <div contenteditable title=Note>what is written</div>\
        <div id=card style='cursor:pointer'>Card</div><div tabindex=0>Focusable</div>\
        <div id=all><button>Inside</button></div>\
        <span onclick=\"document.title='span'\">Close <b onclick=1>it</b></span>\
        <label for=f>Your picture</label><input type=file id=f style='display:none'>\
        <label><input type=checkbox style='display:none'>Tick me</label>\
        <map name=m><area href='/x' alt=Area coords='0,0,9,9'></map><img usemap='#m' width=20 height=20></body>";
    let (_session, tab) = drawn(&world, html).await;
    let listen = "card.addEventListener('click', () => document.title = 'card'); \
        all.addEventListener('click', () => 0); 0";
    tab.execute(listen, Duration::from_secs(5)).await.unwrap();
    let all = tab.elements().await.unwrap();
    let mut told: Vec<(&str, &str, &str)> = all
        .iter()
        .map(|it| (it.label.as_str(), it.r#type, it.actions[0]))
        .collect();
    told.sort_unstable();
    assert_eq!(
        told,
        [
            ("Area", "link", "click"),
            ("Branch", "treeitem", "click"),
            ("Card", "any", "click"),
            ("Cell", "gridcell", "click"),
            ("City", "combobox", "type"),
            ("Close it", "any", "click"),
            ("Country", "combobox", "click"),
            ("Focusable", "any", "click"),
            ("Inside", "button", "click"),
            ("Note", "textbox", "type"),
            ("Sizes", "combobox", "click"),
            ("Small", "option", "click"),
            ("Tick me", "any", "click"),
            ("Your picture", "file", "upload"),
        ]
    );
    for (label, title) in [("Card", "card"), ("Close it", "span")] {
        tab.click(&id(&tab, label).await).await.unwrap();
        assert_eq!(tab.title().await.unwrap(), title);
    }
    tab.click(&id(&tab, "Tick me").await).await.unwrap();
    let ticked = "document.querySelector('[type=checkbox]').checked";
    let ticked = tab.execute(ticked, Duration::from_secs(5)).await.unwrap();
    assert_eq!(ticked, true);
    tab.set_value(&id(&tab, "Note").await, "new", false)
        .await
        .unwrap();
    let file = world.folder.path().join("a.txt");
    std::fs::write(&file, "a").unwrap();
    let upload = id(&tab, "Your picture").await;
    tab.upload(&upload, &file.display().to_string())
        .await
        .unwrap();
    world.browser.close().await;
}
