//! Nothing leads where it may not.

use std::{
    net::{TcpListener, UdpSocket},
    time::Duration,
};

use tollgate_browser::{Error, Options};

use crate::world::{World, eventually, owner};

#[tokio::test(flavor = "multi_thread")]
async fn no_way_out_leads_past_the_boundary() {
    let world = World::new().await;
    let (_session, tab) = world.show("/near").await;
    for url in [
        "http://10.9.8.7/",
        "https://10.9.8.7/",
        "http://localhost:8099/",
        "http://[::1]/",
    ] {
        let refused = tab.navigate(url).await;
        assert!(
            matches!(&refused, Err(Error::Refused(why)) if why.contains("out of bounds")),
            "{url}: {refused:?}"
        );
    }
    let redirected = tab.navigate(&world.site.url("/to-private")).await;
    assert!(
        matches!(&redirected, Err(Error::Refused(why)) if why.contains("10.9.8.7")),
        "{redirected:?}"
    );
    tab.navigate(&world.site.url("/to-other")).await.unwrap();
    assert!(tab.url().starts_with("http://other.test"));
    let to_file = tab.navigate(&world.site.url("/to-file")).await;
    assert!(
        matches!(to_file, Err(Error::Load(_) | Error::Refused(_))),
        "{to_file:?}"
    );

    tab.navigate(&world.site.url("/reach")).await.unwrap();
    eventually("every try has ended", || async {
        tab.title().await.is_ok_and(|it| it.contains("fine:"))
    })
    .await;
    let title = tab.title().await.unwrap();
    let reached: Vec<&str> = title
        .split(' ')
        .filter(|it| it.ends_with(":reached"))
        .collect();
    assert_eq!(reached, ["fine:reached"], "{title}");
    let asked = world.fence.asked.lock().unwrap().clone();
    assert!(asked.iter().any(|it| it == "10.9.8.7"), "{asked:?}");
    let seen = world.site.seen();
    assert!(
        !seen.iter().any(|it| it.contains("forbidden.test")),
        "{seen:?}"
    );
    assert!(!crate::world::text(&tab).await.contains("root:"));

    // A page that asks for its own address over UDP gets no packet out.
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_nonblocking(true).unwrap();
    let port = socket.local_addr().unwrap().port();
    let script = format!(
        "const c = new RTCPeerConnection({{iceServers: [{{urls: 'stun:127.0.0.1:{port}'}}]}}); \
         c.createDataChannel('x'); const found = []; \
         const done = new Promise((yes) => {{ c.onicecandidate = (e) => e.candidate ? found.push(e.candidate.candidate) : yes(); setTimeout(yes, 5000); }}); \
         await c.setLocalDescription(); await done; return found;"
    );
    let found = tab
        .execute(
            &format!("(async () => {{ {script} }})()"),
            Duration::from_secs(20),
        )
        .await
        .unwrap();
    assert_eq!(found, serde_json::json!([]));
    assert!(socket.recv(&mut [0; 64]).is_err());
    world.browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_can_be_reached_is_reached_through_the_boundary_alone() {
    let world = World::new().await;
    let (_session, tab) = world.show("/near").await;
    let try_all = async |host: &str| {
        tab.navigate(&world.site.url(&format!("/everywhere?{host}")))
            .await
            .unwrap();
        eventually("all of it was tried", || async {
            tab.title().await.is_ok_and(|it| it == "tried")
        })
        .await;
    };
    let ways = |host: &str| {
        let seen = world.site.seen();
        let ways = seen
            .iter()
            .filter(|it| it.contains(&format!(" {host} /e-")));
        let ways = ways.filter_map(|it| Some(it.split_once("/e-")?.1.to_owned()));
        ways.collect::<std::collections::BTreeSet<_>>()
    };
    // These are ways that lead to somebody, if he may be reached.
    try_all(&format!("other.test:{}", world.site.port)).await;
    let found = ways("other.test");
    for way in [
        "background",
        "beacon",
        "blob",
        "data",
        "embed",
        "events",
        "fetch",
        "font",
        "form",
        "frame",
        "image",
        "import",
        "keepalive",
        "object",
        "prefetch",
        "preload",
        "refresh",
        "shared",
        "srcdoc",
        "style",
        "worker",
        "xhr",
    ] {
        assert!(found.contains(way), "{way} is missing in {found:?}");
    }
    // This machine itself can be reached without a name and without a proxy, so whoever gets
    // past the boundary is seen there: not one connection is made, by whatever way.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    let packets = UdpSocket::bind(("127.0.0.1", port)).unwrap();
    packets.set_nonblocking(true).unwrap();
    for host in ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "0x7f000001"] {
        try_all(&format!("{host}:{port}")).await;
        assert!(listener.accept().is_err(), "{host}");
        assert!(packets.recv(&mut [0; 64]).is_err(), "{host}");
    }
    try_all(&format!("forbidden.test:{}", world.site.port)).await;
    assert_eq!(ways("forbidden.test"), Default::default());
    let asked = world.fence.asked.lock().unwrap().clone();
    for host in ["127.0.0.1", "localhost", "forbidden.test"] {
        assert!(asked.iter().any(|it| it == host), "{host}: {asked:?}");
    }
    world.browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_between_pages_go_through_the_boundary_as_well() {
    let world = World::new().await;
    let (_session, tab) = world.show("/near").await;
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    let call = async |host: &str| {
        let script = format!(
            "globalThis.call = new RTCPeerConnection({{iceServers: [\
             {{urls: 'turn:{host}:{port}?transport=tcp', username: 'u', credential: 'c'}}]}}); \
             call.createDataChannel('x'); call.createOffer().then((it) => call.setLocalDescription(it)).then(() => 0)"
        );
        tab.execute(&script, Duration::from_secs(60)).await.unwrap();
    };
    let gathered = || async {
        let state = tab.execute("call.iceGatheringState", Duration::from_secs(60));
        state.await.unwrap() == "complete"
    };
    for host in ["127.0.0.1", "forbidden.test"] {
        call(host).await;
        eventually("it has asked everybody it knows", gathered).await;
        let asked = world.fence.asked.lock().unwrap().clone();
        assert!(asked.iter().any(|it| it == host), "{host}: {asked:?}");
        assert!(listener.accept().is_err(), "{host}");
    }
    call("turn.test").await;
    eventually("one that is admitted is reached", || async {
        listener.accept().is_ok()
    })
    .await;
    world.browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn files_are_shown_below_the_roots_and_nowhere_else() {
    let world = World::new().await;
    let root = world.folder.path().join("pages");
    std::fs::create_dir(&root).unwrap();
    let outside = world.folder.path().join("secret.html");
    std::fs::write(&outside, "<title>secret</title><p>hidden</p>").unwrap();
    let inside = format!(
        "<title>mine</title><p>shown</p><iframe src='file://{}'></iframe>",
        outside.display()
    );
    std::fs::write(root.join("page.html"), inside).unwrap();
    std::os::unix::fs::symlink(&outside, root.join("link.html")).unwrap();
    let options = Options {
        roots: vec![root.clone()],
        ..world.options()
    };
    let session = world.browser.create(&owner("ada"), options).unwrap();
    let (_, tab) = session.tab(None, true).await.unwrap();
    tab.navigate(&format!("file://{}/page.html", root.display()))
        .await
        .unwrap();
    assert_eq!(tab.title().await.unwrap(), "mine");
    let said = crate::world::text(&tab).await;
    assert!(said.contains("shown") && !said.contains("hidden"), "{said}");
    for other in [
        outside.display().to_string(),
        format!("{}/link.html", root.display()),
        format!("{}/../secret.html", root.display()),
    ] {
        let refused = tab.navigate(&format!("file://{other}")).await;
        assert!(
            matches!(refused, Err(Error::Refused(_))),
            "{other}: {refused:?}"
        );
    }
    world.browser.close().await;
}
