//! What is acted on is what was meant: pages that change, move, cover and take the focus away
//! cannot lead a click or a key to something else.

use tollgate_browser::{Error, Tab};

use crate::world::{World, eventually, id, text};

/// The pages of these tests; `other.test` is another site.
pub(crate) fn page(path: &str, port: u16) -> String {
    let frame = |path: &str, style: &str| {
        format!(
            "<iframe src='http://other.test:{port}/aim/{path}' width=400 height=300 style='{style}'></iframe>"
        )
    };
    match path.trim_start_matches("/aim/") {
        "reuse" => "<title>Reuse</title><button id=b onclick=\"document.title = 'did ' + b.textContent\">Delete Apple</button>\
            <button onclick=\"b.textContent = 'Delete Database'\">Update</button>".to_owned(),
        "thief" => "<title>ad</title><input id=q aria-label=Ad><script>\
            q.onkeydown = (e) => fetch('/took?k=' + e.key); q.focus();\
            q.onblur = () => setTimeout(() => q.focus(), 10)</script>".to_owned(),
        "victim" => format!("<title>Bank</title><label>User <input id=u></label>\
            <label>Password <input id=p type=password></label>{}", frame("thief", "")),
        "jump" => "<title>Jump</title><label>Password <input id=p type=password></label><label>Note <input id=n></label>\
            <label>Name <input id=a></label><script>p.onkeydown = a.onkeydown = () => n.focus()</script>".to_owned(),
        "shift" => "<title>Shift</title><style>#m { display: none; height: 40px } #p:hover #m { display: block }</style>\
            <div id=p><button>Menu</button><div id=m>Sub</div></div>\
            <div><button style='height: 40px' onclick=\"document.title = 'saved'\">Save</button></div>\
            <div><button style='height: 40px' onclick=\"document.title = 'deleted'\">Delete account</button></div>".to_owned(),
        "swap" => "<title>Swap</title><div id=d style='position: relative; height: 80px'>\
            <button id=a style='position: absolute; top: 0' onclick=\"document.title = 'read'\">Read more</button>\
            <button id=b style='position: absolute; top: 40px' onclick=\"document.title = 'paid'\">Pay 500</button></div>\
            <script>a.onpointermove = () => { a.style.top = '40px'; b.style.top = '0' }</script>".to_owned(),
        "bar" => "<title>Bar</title><div style='height: 650px'></div><button onclick=\"document.title = 'bought'\">Buy</button>\
            <div style='height: 1500px'></div><div style='position: fixed; bottom: 0; left: 0; right: 0; height: 90px'>Cookies</div>".to_owned(),
        "dead" => "<title>Dead</title><button disabled>Off</button><fieldset disabled><button>Within</button></fieldset>\
            <button style='position: absolute; left: -500px'>Far</button>\
            <div><button style='pointer-events: none'>Through</button></div>\
            <a href='#x' onclick=\"document.title = 'inner'\"><button style='pointer-events: none'>Inner</button></a>".to_owned(),
        "grid" => "<title>Grid</title><style>body { margin: 0 } button { position: absolute; width: 150px; height: 60px }</style>\
            <button style='left: 0; top: 0'>TL</button><button style='right: 0; top: 0'>TR</button>\
            <button style='left: 0; bottom: 0'>BL</button><button style='right: 0; bottom: 0'>BR</button>\
            <script>onclick = (e) => fetch('/hit?' + e.target.textContent)</script>".to_owned(),
        "padded" => frame("grid", "border: 30px solid red; padding: 50px 70px"),
        "scaled" => frame("grid", "transform: scale(.5); transform-origin: 20px 30px; padding: 10px"),
        "zoomed" => frame("grid", "zoom: .5; border: 8px solid"),
        "editor" => "<title>Editor</title><div id=e contenteditable role=textbox aria-label=Text></div>".to_owned(),
        _ => "<title>Nothing</title>".to_owned(),
    }
}

async fn titled(tab: &Tab, title: &str) -> bool {
    tab.title().await.is_ok_and(|it| it == title)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_id_names_what_it_says_and_nothing_else() {
    let world = World::new().await;
    let (_, tab) = world.show("/aim/reuse").await;
    let apple = id(&tab, "Delete Apple").await;
    let number = apple.rsplit('_').next().unwrap();
    for made_up in [
        format!("link_Delete_Apple_{number}"),
        format!("btn_Delete_Pear_{number}"),
        format!("secret_Delete_Apple_{number}"),
        format!("x_{number}"),
    ] {
        let clicked = tab.click(&made_up).await;
        assert!(
            matches!(clicked, Err(Error::ElementNotFound { .. })),
            "{made_up}: {clicked:?}"
        );
    }
    tab.click(&id(&tab, "Update").await).await.unwrap();
    let refused = tab.click(&apple).await.unwrap_err();
    let Error::ElementNotFound { near, .. } = refused else {
        panic!("{refused:?}");
    };
    assert_eq!(near[0].label, "Delete Database", "{near:?}");
    assert!(titled(&tab, "Reuse").await);
    tab.click(&near[0].id).await.unwrap();
    assert!(titled(&tab, "did Delete Database").await);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_typed_goes_nowhere_else() {
    let world = World::new().await;
    let (_, tab) = world.show("/aim/victim").await;
    let password = id(&tab, "Password").await;
    for _ in 0..3 {
        tab.set_value(&password, "", false).await.unwrap();
        tab.type_text(&password, "correct-horse-battery", false)
            .await
            .unwrap();
        assert!(tab.holds(&password, "correct-horse-battery").await.unwrap());
    }
    let user = id(&tab, "User").await;
    // One key may be on its way when the focus goes.
    let typed = tab.type_text(&user, "a-rather-long-name", false).await;
    let took = world.site.seen();
    let took = took.iter().filter(|it| it.contains("/took?")).count();
    assert!(took <= 1, "{:?}", world.site.seen());
    assert!(took == 0 || typed.is_err(), "{typed:?}");

    let (_, tab) = world.show("/aim/jump").await;
    let typed = tab
        .type_text(&id(&tab, "Name").await, "somebody", false)
        .await;
    assert!(matches!(typed, Err(Error::Invalid(_))), "{typed:?}");
    let password = id(&tab, "Password").await;
    tab.type_text(&password, "correct-horse", false)
        .await
        .unwrap();
    assert!(tab.holds(&password, "correct-horse").await.unwrap());
    let note = id(&tab, "Note").await;
    assert!(tab.holds(&note, "s").await.unwrap());
    let tabbed = tab.type_text(&note, "x\tsecret", false).await;
    assert!(matches!(tabbed, Err(Error::Invalid(_))), "{tabbed:?}");
    assert!(tab.holds(&note, "s").await.unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_moves_under_the_mouse_is_not_taken_for_something_else() {
    let world = World::new().await;
    let (_, tab) = world.show("/aim/shift").await;
    for _ in 0..3 {
        tab.hover(&id(&tab, "Menu").await).await.unwrap();
        tab.click(&id(&tab, "Save").await).await.unwrap();
        assert!(titled(&tab, "saved").await, "{:?}", tab.title().await);
    }
    for _ in 0..3 {
        let (_, tab) = world.show("/aim/swap").await;
        tab.click(&id(&tab, "Read more").await).await.unwrap();
        assert!(titled(&tab, "read").await, "{:?}", tab.title().await);
    }
    let (_, tab) = world.show("/aim/bar").await;
    tab.click(&id(&tab, "Buy").await).await.unwrap();
    assert!(titled(&tab, "bought").await);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_clicked_is_not_said_to_be() {
    let world = World::new().await;
    let (_, tab) = world.show("/aim/dead").await;
    for label in ["Off", "Within", "Far", "Through"] {
        let clicked = tab.click(&id(&tab, label).await).await;
        assert!(
            matches!(clicked, Err(Error::Invalid(_) | Error::Script(_))),
            "{label}: {clicked:?}"
        );
    }
    tab.click(&id(&tab, "Inner").await).await.unwrap();
    assert!(titled(&tab, "inner").await);
}

#[tokio::test(flavor = "multi_thread")]
async fn frames_of_other_sites_are_clicked_where_they_are_drawn() {
    let world = World::new().await;
    for path in ["padded", "scaled", "zoomed"] {
        let (_, tab) = world.show(&format!("/aim/{path}")).await;
        eventually("the frame is there", || async {
            tab.elements().await.is_ok_and(|all| all.len() == 4)
        })
        .await;
        for label in ["TL", "TR", "BL", "BR"] {
            let before = world.site.seen().len();
            tab.click(&id(&tab, label).await).await.unwrap();
            eventually("it is hit", || async { world.site.seen().len() > before }).await;
            let hit = world.site.seen().pop().unwrap();
            assert!(hit.ends_with(&format!("/hit?{label}")), "{path}: {hit}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn html_that_is_set_does_nothing() {
    let world = World::new().await;
    let (_, tab) = world.show("/aim/editor").await;
    let field = id(&tab, "Text").await;
    let html = "<p onclick='f()'>One <b>two</b> <a href='javascript:f()'>three</a> <a href='/four'>four</a></p>\
        <img src=x onerror=\"document.title='ran img'\"><script>document.title='ran'</script><svg onload=\"document.title='ran svg'\"></svg>\
        <iframe src='/ran'></iframe>";
    tab.set_value(&field, html, true).await.unwrap();
    assert!(text(&tab).await.contains("One two three four"));
    let made = tab
        .execute(
            "document.getElementById('e').innerHTML",
            std::time::Duration::from_secs(5),
        )
        .await
        .unwrap();
    assert_eq!(
        made,
        "<p>One <b>two</b> <a>three</a> <a href=\"/four\">four</a></p><img src=\"x\">"
    );
    eventually("the picture is asked for", || async {
        world.site.seen().iter().any(|it| it.ends_with("/aim/x"))
    })
    .await;
    assert!(titled(&tab, "Editor").await, "{:?}", tab.title().await);
    assert!(!world.site.seen().iter().any(|it| it.ends_with("/ran")));
}
