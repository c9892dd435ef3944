//! What a page says, what it only seems to say, and pages that say nothing because they did not come.

use std::time::Duration;

use tollgate_browser::Error;

use crate::{
    widgets::drawn,
    world::{World, eventually, id, text},
};

#[tokio::test(flavor = "multi_thread")]
async fn text_that_nobody_sees_is_not_read_and_lines_are_kept() {
    let world = World::new().await;
    let html = "<h1>Seen</h1><p style='opacity:0'>BAD opacity</p><p style='opacity:0;transition:opacity 1s'>fades in</p>\
        <p style='opacity:0;transform:translateY(9px)'>slides in</p><p style='font-size:0'>BAD size</p>\
        <p style='position:absolute;left:-9999px'>BAD off</p><p style='clip-path:inset(100%)'>BAD clip</p>\
        <p style='position:absolute;clip:rect(0,0,0,0)'>BAD rectangle</p>\
        <div style='height:0;overflow:hidden'><p>BAD height</p></div>\
        <p style='text-indent:-9999px'>BAD indent</p><div style='opacity:0'><div><p>BAD inside</p></div></div>\
        <p>Partly <span style='opacity:0'>BAD span</span><span>shown</span><br>below</p>\
        <div style='font-size:0'><span style='font-size:16px'>Reset</span></div>\
        <pre>a\n  b\n    c</pre>";
    let (_session, tab) = drawn(&world, html).await;
    let said = text(&tab).await;
    assert_eq!(
        said,
        "Seen\nfades in\nslides in\nPartly shown below\nReset\na\n  b\n    c"
    );
    let many = "document.body.innerHTML = '<p>x</p>'.repeat(4001) + '<p>the last</p>'; 0";
    tab.execute(many, Duration::from_secs(10)).await.unwrap();
    let first = tab.content(500).await.unwrap();
    assert_eq!(
        (first.sections.len(), first.total, first.cut),
        (4002, 4002, false)
    );
    let long = "document.body.innerHTML = [...Array(9000)].map((_, n) => '<p>' + n + ' ' + 'x'.repeat(480) + '</p>').join(''); 0";
    tab.execute(long, Duration::from_secs(10)).await.unwrap();
    let (mut numbers, mut part) = (Vec::new(), 0);
    loop {
        let content = tab.content_from(500, part).await.unwrap();
        assert_eq!(content.total, 9000);
        let said = content
            .sections
            .iter()
            .map(|it| it.text.split(' ').next().unwrap());
        numbers.extend(said.map(|it| it.parse::<usize>().unwrap()));
        part += 1;
        if !content.cut {
            break;
        }
    }
    assert_eq!(part, 3);
    assert!(
        numbers.into_iter().eq(0..9000),
        "nothing is lost between two parts"
    );
    assert!(tab.content_from(500, 9).await.unwrap().sections.is_empty());
    let long = "history.pushState(0, '', '/' + 'x'.repeat(100000)); 0";
    tab.execute(long, Duration::from_secs(10)).await.unwrap();
    assert!(tab.url().len() > 100_000 && tab.shown_url().len() < 2100);
    world.browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn text_in_closed_shadow_trees_is_read_where_it_stands() {
    let world = World::new().await;
    let (_session, tab) = world.show("/closed-shadow").await;
    let said = text(&tab).await;
    assert_eq!(
        said,
        "In the open\nBehind the card\nClosed words\nDeeper words\nIn a plain host"
    );
    world.browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_is_led_where_nothing_comes_from_learns_why() {
    let world = World::new().await;
    let html = "<a href='http://forbidden.test/secret'>Away</a>";
    let (_session, tab) = drawn(&world, html).await;
    let refused = tab.click(&id(&tab, "Away").await).await;
    assert!(
        matches!(&refused, Err(Error::Refused(why)) if why.contains("out of bounds")),
        "{refused:?}"
    );
    let (all, _) = tab.network();
    let entry = all.iter().find(|it| it.url.contains("forbidden.test"));
    assert!(entry.is_some_and(|it| it.error.is_some()), "{all:#?}");
    tab.navigate(&world.site.url("/near")).await.unwrap();
    assert!(tab.failure().is_none());
    // A page that leaves by itself is no different.
    let leave = "location.href = 'http://forbidden.test/again'; 0";
    tab.execute(leave, Duration::from_secs(5)).await.unwrap();
    eventually("it says why", || async {
        matches!(tab.failure(), Some(Error::Refused(_)))
    })
    .await;
    world.browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn scripts_may_wait_and_do_not_compute_for_ever() {
    let world = World::new().await;
    let (_session, tab) = world.show("/near").await;
    let waits = "const found = await fetch('/near'); found.status";
    let status = tab.execute(waits, Duration::from_secs(10)).await.unwrap();
    assert_eq!(status, 200);
    let endless = tab.execute("while (1);", Duration::from_secs(1)).await;
    assert!(
        matches!(&endless, Err(Error::Script(why)) if why.contains("did not end in time")),
        "{endless:?}"
    );
    assert_eq!(tab.title().await.unwrap(), "near");
    for html in [
        "<a href='#' onclick='1'>Next</a>",
        "<a href='javascript:void(0)'>Next</a>",
        "<button>Load more</button>",
    ] {
        let (_session, tab) = drawn(&world, html).await;
        let onward = tab.onward(None, None, 100).await.unwrap();
        assert!(onward.is_button && onward.url.is_none(), "{html}");
    }
    world.browser.close().await;
}
