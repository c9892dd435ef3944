//! Who was known before is known again: after a restart, and after the browser died.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use tollgate_browser::{Browser, Keeper, Kept, Options, Session, Tab};

use crate::world::{World, eventually, id, owner};

/// Keeps in memory what others keep on disk.
#[derive(Default)]
struct Shelf {
    kept: Mutex<Kept>,
    ended: Mutex<bool>,
}

impl Keeper for Shelf {
    fn load(&self) -> Result<Kept, String> {
        Ok(self.kept.lock().unwrap().clone())
    }

    fn save(&self, before: &Kept, now: &Kept) -> Result<(), String> {
        let mut kept = self.kept.lock().unwrap();
        *kept = kept.clone().with_changes(before, now);
        Ok(())
    }

    fn ended(&self) {
        *self.ended.lock().unwrap() = true;
    }

    fn keeps_tabs(&self) -> bool {
        true
    }
}

fn session(world: &World, browser: &Arc<Browser>, shelf: &Arc<Shelf>) -> Arc<Session> {
    let options = Options {
        keeper: Some(shelf.clone()),
        ..world.options()
    };
    browser.create(&owner("ada"), options).unwrap()
}

async fn log_in(world: &World, tab: &Tab) {
    tab.navigate(&world.site.url("/login")).await.unwrap();
    let name = id(tab, "Name").await;
    tab.type_text(&name, "ada", false).await.unwrap();
    let word = id(tab, "Password").await;
    tab.type_text(&word, "lovelace", true).await.unwrap();
    eventually("ada is in", || async {
        tab.title().await.is_ok_and(|it| it == "Home")
    })
    .await;
}

async fn title(tab: &Tab, url: &str) -> String {
    tab.navigate(url).await.unwrap();
    tab.title().await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kept_session_is_known_again_by_another_browser() {
    let world = World::new().await;
    let shelf = Arc::<Shelf>::default();
    let first = session(&world, &world.browser, &shelf);
    let (_, tab) = first.tab(None, true).await.unwrap();
    log_in(&world, &tab).await;
    let note = world.site.url("/note");
    assert_eq!(title(&tab, &note).await, "none");
    let store = "localStorage.setItem('word', 'kept'); localStorage.setItem('gone', 1); localStorage.removeItem('gone')";
    let patience = Duration::from_secs(10);
    tab.execute(store, patience).await.unwrap();
    let other = world.site.at("other.test", "/note");
    tab.navigate(&other).await.unwrap();
    tab.execute("localStorage.word = 'elsewhere'", patience)
        .await
        .unwrap();
    // It is written down while the session goes on, without anybody's asking.
    eventually("all of it is kept", || async {
        let kept = shelf.kept.lock().unwrap();
        !kept.cookies.is_empty()
            && kept.origins.len() == 2
            && kept.tabs.iter().any(|it| it.url == other)
    })
    .await;
    let kept = shelf.kept.lock().unwrap().clone();
    let shop = &kept.origins[world.site.url("").as_str()];
    assert_eq!(
        Vec::from_iter(shop),
        [(&"word".to_owned(), &"kept".to_owned())]
    );

    // A browser that dies costs nobody their login.
    let pid = world.browser.processes().await[0];
    let pid = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    eventually("its end is noticed", || async { tab.has_ended() }).await;
    let (_, tab) = first.tab(None, true).await.unwrap();
    assert!(first.was_reopened() && !first.was_reopened());
    assert_eq!(tab.title().await.unwrap(), "elsewhere");
    let home = world.site.url("/home");
    assert_eq!(title(&tab, &home).await, "Home");
    assert_eq!(title(&tab, &note).await, "kept");
    let asked = world.site.seen();
    assert!(
        !asked.iter().any(|it| it.ends_with(" /")),
        "storage was brought back without a request: {asked:?}"
    );

    // Nor does another process.
    world.browser.close().await;
    assert!(!*shelf.ended.lock().unwrap());
    let second = World::new().await;
    let again = session(&world, &second.browser, &shelf);
    again.awake().await.unwrap();
    let (active, tabs) = again.list();
    assert_eq!(tabs.len(), 1);
    assert_eq!(
        (active.as_ref(), tabs[0].1.url()),
        (Some(&tabs[0].0), note.clone())
    );
    let (_, tab) = again.tab(None, true).await.unwrap();
    assert_eq!(tab.title().await.unwrap(), "kept");
    assert!(again.was_reopened());
    assert_eq!(title(&tab, &home).await, "Home");
    assert_eq!(title(&tab, &other).await, "elsewhere");
    // Whoever logs out is out the next time, too.
    tab.execute(
        "localStorage.clear(); document.cookie = 'user=; Max-Age=0; Path=/'",
        patience,
    )
    .await
    .unwrap();
    eventually("it is noticed", || async {
        again.kept().await.unwrap().origins.len() == 1
    })
    .await;
    second.browser.close_session(again.id()).await;
    assert!(*shelf.ended.lock().unwrap());
    let kept = shelf.kept.lock().unwrap().clone();
    let shop = world.site.url("");
    assert!(
        kept.origins.contains_key(&shop) && kept.origins.len() == 1,
        "{kept:?}"
    );
    second.browser.close().await;
}

/// Stores so much that events that tell of it come long after it, and does one thing more.
async fn store(tab: &Tab, word: &str, then: &str) {
    let script = format!(
        "for (let i = 0; i < 5000; i++) localStorage.setItem('word', i); localStorage.setItem('word', '{word}'); {then}"
    );
    let patience = Duration::from_secs(10);
    tab.execute(&script, patience).await.unwrap();
}

async fn comes_to(tab: &Tab, url: &str) {
    eventually("the page leaves", || async {
        tab.url() == url && tab.title().await.is_ok()
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_page_stores_before_it_is_left_is_kept() {
    let world = World::new().await;
    let (shop, other) = (world.site.url(""), world.site.at("other.test", ""));
    let (note, elsewhere) = (format!("{shop}/note"), format!("{other}/note"));
    let shelf = Arc::<Shelf>::default();
    let session = session(&world, &world.browser, &shelf);
    let kept = async |origin: &str| session.kept().await.unwrap().origins[origin]["word"].clone();

    let (_, tab) = session.tab(None, true).await.unwrap();
    tab.navigate(&note).await.unwrap();
    store(&tab, "led away", "").await;
    tab.navigate(&elsewhere).await.unwrap();
    assert_eq!(kept(&shop).await, "led away");
    store(&tab, "led back", "").await;
    assert!(tab.go_back().await.unwrap());
    assert_eq!(kept(&other).await, "led back");
    let (id, second) = session.open().await.unwrap();
    second.navigate(&elsewhere).await.unwrap();
    store(&second, "tab closed", "").await;
    assert!(session.close_tab(&id).await.unwrap());
    assert_eq!(kept(&other).await, "tab closed");
    store(&tab, "session closed", "").await;
    world.browser.close_session(session.id()).await;
    let kept = shelf.kept.lock().unwrap().clone();
    assert_eq!(kept.origins[&shop]["word"], "session closed");
    world.browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_page_stores_before_it_leaves_by_itself_is_kept() {
    let world = World::new().await;
    let (shop, other) = (world.site.url(""), world.site.at("other.test", ""));
    let (near, note) = (format!("{other}/near"), format!("{shop}/note"));
    let shelf = Arc::<Shelf>::default();
    let session = session(&world, &world.browser, &shelf);
    let kept = async || session.kept().await.unwrap().origins[&shop]["word"].clone();

    let (_, tab) = session.tab(None, true).await.unwrap();
    tab.navigate(&note).await.unwrap();
    store(&tab, "a link", &format!("location.href = '{near}'")).await;
    comes_to(&tab, &near).await;
    assert_eq!(kept().await, "a link");
    tab.navigate(&note).await.unwrap();
    store(&tab, "a redirect", "location.href = '/to-other'").await;
    comes_to(&tab, &near).await;
    assert_eq!(kept().await, "a redirect");
    tab.navigate(&note).await.unwrap();
    store(&tab, "our redirect", "").await;
    tab.navigate(&format!("{shop}/to-other")).await.unwrap();
    assert_eq!(tab.url(), near);
    assert_eq!(kept().await, "our redirect");

    world.browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_page_stores_that_nobody_could_ask_is_kept() {
    let world = World::new().await;
    let (shop, other) = (world.site.url(""), world.site.at("other.test", ""));
    let note = format!("{shop}/note");
    let shelf = Arc::<Shelf>::default();
    let session = session(&world, &world.browser, &shelf);
    let kept = async || session.kept().await.unwrap().origins[&shop]["word"].clone();

    // A page that a service worker gives is nobody's request.
    let app = world.site.at("app.localhost", "/offline");
    let (_, tab) = session.tab(None, true).await.unwrap();
    tab.navigate(&app).await.unwrap();
    eventually("the worker works", || async {
        tab.title().await.is_ok_and(|it| it == "ready")
    })
    .await;
    tab.navigate(&note).await.unwrap();
    store(&tab, "a worker", &format!("location.href = '{app}'")).await;
    comes_to(&tab, &app).await;
    assert_eq!(tab.title().await.unwrap(), "from the worker");
    assert_eq!(kept().await, "a worker");

    // A window that closes itself leaves nobody behind to be asked.
    tab.navigate(&format!("{other}/note")).await.unwrap();
    let patience = Duration::from_secs(10);
    let button = format!(
        "document.body.innerHTML = `<button onclick=\"window.open('{note}')\">Open</button>`"
    );
    tab.execute(&button, patience).await.unwrap();
    tab.click(&id(&tab, "Open").await).await.unwrap();
    eventually("a window opens", || async {
        session.list().1.iter().any(|(_, it)| it.url() == note)
    })
    .await;
    let (_, all) = session.list();
    let (_, window) = all.into_iter().find(|(_, it)| it.url() == note).unwrap();
    store(&window, "a window", "setTimeout(close), 1").await;
    eventually("it closes", || async { session.list().1.len() == 1 }).await;
    // The browser itself may lose the last of what a window stored that closes at once.
    let known = kept().await;
    tab.navigate(&note).await.unwrap();
    assert_eq!(known, tab.title().await.unwrap());
    let asked = world.site.seen();
    assert!(
        !asked.iter().any(|it| it.ends_with(" /")),
        "no server was asked for it: {asked:?}"
    );
    world.browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_could_not_be_kept_is_kept_later_without_another_change() {
    /// A disk that is full until somebody makes room.
    #[derive(Default)]
    struct Full {
        shelf: Shelf,
        tries: Mutex<u32>,
        has_room: Mutex<bool>,
    }
    impl Keeper for Full {
        fn load(&self) -> Result<Kept, String> {
            self.shelf.load()
        }
        fn save(&self, before: &Kept, now: &Kept) -> Result<(), String> {
            *self.tries.lock().unwrap() += 1;
            match *self.has_room.lock().unwrap() {
                true => self.shelf.save(before, now),
                false => Err("there is no room".to_owned()),
            }
        }
        fn ended(&self) {}
        fn keeps_tabs(&self) -> bool {
            false
        }
    }
    let world = World::new().await;
    let full = Arc::<Full>::default();
    let options = Options {
        keeper: Some(full.clone()),
        ..world.options()
    };
    let session = world.browser.create(&owner("ada"), options).unwrap();
    let (_, tab) = session.tab(None, true).await.unwrap();
    tab.navigate(&world.site.url("/note")).await.unwrap();
    let patience = Duration::from_secs(10);
    tab.execute("localStorage.word = 'first'", patience)
        .await
        .unwrap();
    // Nothing changes any more, and it is tried all the same.
    let tries = || *full.tries.lock().unwrap();
    eventually("it was tried", || async { tries() > 0 }).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let begun = tries();
    eventually("it is tried again", || async { tries() > begun }).await;
    let word = || {
        let kept = full.shelf.kept.lock().unwrap();
        Some(kept.origins.get(&world.site.url(""))?["word"].clone())
    };
    assert_eq!(word(), None);
    *full.has_room.lock().unwrap() = true;
    eventually("it is kept", || async {
        word().as_deref() == Some("first")
    })
    .await;

    // At the end there is no later, but a moment more.
    *full.has_room.lock().unwrap() = false;
    tab.execute("localStorage.word = 'last'", patience)
        .await
        .unwrap();
    let begun = tries();
    eventually("it fails", || async { tries() > begun }).await;
    let refused = session.save().await.unwrap_err();
    assert!(refused.to_string().contains("no room"), "{refused}");
    let begun = tries();
    let closing = world.browser.close_session(session.id());
    let making_room = async {
        eventually("it is tried at the end", || async { tries() > begun }).await;
        *full.has_room.lock().unwrap() = true;
    };
    tokio::join!(closing, making_room);
    assert_eq!(word().as_deref(), Some("last"));
    world.browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_state_that_cannot_be_read_is_said_and_not_replaced() {
    struct Broken;
    impl Keeper for Broken {
        fn load(&self) -> Result<Kept, String> {
            Err("it was altered".to_owned())
        }
        fn save(&self, _: &Kept, _: &Kept) -> Result<(), String> {
            panic!("nothing was read, so nothing is written")
        }
        fn ended(&self) {}
        fn keeps_tabs(&self) -> bool {
            false
        }
    }
    let world = World::new().await;
    let options = Options {
        keeper: Some(Arc::new(Broken)),
        ..world.options()
    };
    let session = world.browser.create(&owner("ada"), options).unwrap();
    let refused = session.tab(None, true).await.err().unwrap();
    assert!(refused.to_string().contains("it was altered"), "{refused}");
    session.touched();
    session.save().await.unwrap();
    world.browser.close().await;
}
