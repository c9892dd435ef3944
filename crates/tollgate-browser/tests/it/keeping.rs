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

#[tokio::test(flavor = "multi_thread")]
async fn what_a_page_stores_before_it_is_left_is_kept() {
    // Events that tell of so much come long after it.
    async fn store(tab: &Tab, word: &str) {
        let script = format!(
            "for (let i = 0; i < 5000; i++) localStorage.setItem('word', i); localStorage.setItem('word', '{word}')"
        );
        let patience = Duration::from_secs(10);
        tab.execute(&script, patience).await.unwrap();
    }
    let world = World::new().await;
    let (shop, other) = (world.site.url(""), world.site.at("other.test", ""));
    let (note, elsewhere) = (format!("{shop}/note"), format!("{other}/note"));
    let shelf = Arc::<Shelf>::default();
    let session = session(&world, &world.browser, &shelf);
    let kept = async |origin: &str| session.kept().await.unwrap().origins[origin]["word"].clone();

    let (_, tab) = session.tab(None, true).await.unwrap();
    tab.navigate(&note).await.unwrap();
    store(&tab, "led away").await;
    tab.navigate(&elsewhere).await.unwrap();
    assert_eq!(kept(&shop).await, "led away");
    store(&tab, "led back").await;
    assert!(tab.go_back().await.unwrap());
    assert_eq!(kept(&other).await, "led back");
    let (id, second) = session.open().await.unwrap();
    second.navigate(&elsewhere).await.unwrap();
    store(&second, "tab closed").await;
    assert!(session.close_tab(&id).await.unwrap());
    assert_eq!(kept(&other).await, "tab closed");
    store(&tab, "session closed").await;
    world.browser.close_session(session.id()).await;
    let kept = shelf.kept.lock().unwrap().clone();
    assert_eq!(kept.origins[&shop]["word"], "session closed");
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
