//! Pages and browsers that die, hang or never come.

use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tollgate_browser::{Error, Limits};

use crate::world::{World, eventually, id};

pub(crate) fn kill(pid: u32) {
    let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    // It may have ended by itself.
    let _ = kill_process(pid, Signal::KILL);
}

/// Processes that a process started, and those that they did, whose command line has a word.
pub(crate) fn descendants(of: u32, word: &str) -> Vec<u32> {
    let mut parents = std::collections::HashMap::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Ok(pid) = entry.file_name().to_string_lossy().parse::<u32>() else {
            continue;
        };
        let stat = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        let after = stat.rsplit(')').next().unwrap_or_default();
        let parent = after
            .split_whitespace()
            .nth(1)
            .and_then(|it| it.parse::<u32>().ok());
        parents.insert(pid, parent.unwrap_or_default());
    }
    let is_below = |pid: u32| {
        let mut above = parents.get(&pid).copied();
        while let Some(one) = above.filter(|it| *it > 1) {
            if one == of {
                return true;
            }
            above = parents.get(&one).copied();
        }
        false
    };
    let says = |pid: u32| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains(word)
    };
    let found = parents
        .keys()
        .copied()
        .filter(|pid| is_below(*pid) && says(*pid));
    found.collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_dies_ends_the_calls_on_it_and_nothing_else() {
    let world = World::new().await;
    let (session, tab) = world.show("/shop").await;
    let (other, harmed) = world.show("/near").await;
    // Every renderer dies; the browser does not.
    let pid = world.browser.processes().await[0];
    let renderers = descendants(pid, "--type=renderer");
    assert!(!renderers.is_empty());
    for renderer in renderers {
        kill(renderer);
    }
    eventually("the end is noticed", || async {
        tab.has_ended() && harmed.has_ended()
    })
    .await;
    assert!(matches!(tab.elements().await, Err(Error::Crashed)));
    let (_, again) = other.tab(None, true).await.unwrap();
    assert_eq!(again.title().await.unwrap(), "near");
    assert_eq!(world.browser.processes().await, [pid]);
    let (id_before, revived) = session.tab(None, false).await.unwrap();
    revived.navigate(&world.site.url("/near")).await.unwrap();
    assert_eq!(revived.title().await.unwrap(), "near");

    // The browser dies in the middle of a call.
    let waiting = {
        let revived = revived.clone();
        tokio::spawn(async move {
            revived
                .execute("new Promise(() => {})", Duration::from_secs(60))
                .await
        })
    };
    eventually("the script waits", || async { !waiting.is_finished() }).await;
    kill(pid);
    assert!(matches!(waiting.await.unwrap(), Err(Error::Crashed)));
    // The next call works, in the same tab, on the same page.
    let (id_after, back) = session.tab(None, true).await.unwrap();
    assert_eq!(id_before, id_after);
    assert_eq!(back.title().await.unwrap(), "near");
    world.browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_that_never_come_do_not_hold_anyone() {
    let limits = Limits {
        navigation: Duration::from_secs(3),
        calm: Duration::from_secs(1),
        ..Limits::default()
    };
    let world = World::with(limits).await;
    let (_session, tab) = world.show("/near").await;
    let never = tab.navigate(&world.site.url("/never")).await;
    assert!(
        matches!(&never, Err(Error::Timeout(why)) if why == "no page came from shop.test within 3 s"),
        "{never:?}"
    );
    assert_eq!(tab.title().await.unwrap(), "near", "what is shown stays");
    // Something of it never comes, but the page is there.
    let slow = tab.navigate(&world.site.url("/slow")).await.unwrap();
    assert_eq!((slow.partial, slow.status), (false, Some(200)));
    let round = tab.navigate(&world.site.url("/round")).await;
    assert!(
        matches!(&round, Err(Error::Load(why)) if why == "ERR_TOO_MANY_REDIRECTS"),
        "{round:?}"
    );
    let closed = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let nobody = tab
        .navigate(&format!("http://shop.test:{}/", closed.port()))
        .await;
    assert!(
        matches!(&nobody, Err(Error::Load(why)) if why.contains("cannot be reached")),
        "{nobody:?}"
    );
    let nonsense = tab.navigate("not an address").await;
    assert!(
        matches!(nonsense, Err(Error::Invalid(_) | Error::Load(_))),
        "{nonsense:?}"
    );
    let endless = tab.execute("for(;;);", Duration::from_secs(1)).await;
    assert!(matches!(endless, Err(Error::Script(_))), "{endless:?}");
    // It still works.
    tab.navigate(&world.site.url("/hang")).await.unwrap();
    assert!(!id(&tab, "Hang").await.is_empty());
    world.browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_page_that_fails_holds_the_one_that_follows() {
    let world = World::new().await;
    let (session, mut tab) = world.show("/near").await;
    let closed = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let nobody = format!("http://shop.test:{}/", closed.port());
    let pid = world.browser.processes().await[0];
    for round in 0..30 {
        match round % 6 {
            0 | 3 => {
                let failed = tab.navigate(&nobody).await;
                assert!(matches!(failed, Err(Error::Load(_))), "{round}: {failed:?}");
            }
            1 => {
                let refused = tab.navigate("http://10.9.8.7/").await;
                assert!(
                    matches!(refused, Err(Error::Refused(_))),
                    "{round}: {refused:?}"
                );
            }
            2 => {
                let refused = tab.navigate(&world.site.url("/to-private")).await;
                assert!(
                    matches!(refused, Err(Error::Refused(_))),
                    "{round}: {refused:?}"
                );
            }
            4 => {
                let endless = tab.navigate(&world.site.url("/round")).await;
                assert!(
                    matches!(endless, Err(Error::Load(_))),
                    "{round}: {endless:?}"
                );
            }
            _ => {
                for renderer in descendants(pid, "--type=renderer") {
                    kill(renderer);
                }
                eventually("the end is noticed", || async { tab.has_ended() }).await;
                tab = session.tab(None, false).await.unwrap().1;
            }
        }
        let loaded = tab.navigate(&world.site.url("/near")).await.unwrap();
        assert!(!loaded.partial, "{round}");
        assert_eq!(tab.title().await.unwrap(), "near", "{round}");
    }
    assert_eq!(world.browser.processes().await, [pid]);
    world.browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_browser_without_its_network_process_is_replaced() {
    let world = World::new().await;
    let (session, tab) = world.show("/near").await;
    let pid = world.browser.processes().await[0];
    let network = descendants(pid, "network.mojom.NetworkService");
    assert_eq!(network.len(), 1);
    kill(network[0]);
    eventually("it is started again", || async {
        let now = descendants(pid, "network.mojom.NetworkService");
        now.iter().any(|it| *it != network[0])
    })
    .await;
    let lost = tab.navigate(&world.site.url("/shop")).await;
    assert!(matches!(lost, Err(Error::Crashed)), "{lost:?}");
    let (_, again) = session.tab(None, true).await.unwrap();
    again.navigate(&world.site.url("/near")).await.unwrap();
    assert_eq!(again.title().await.unwrap(), "near");
    assert_ne!(world.browser.processes().await, [pid]);
    world.browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_browser_that_stands_still_is_replaced_after_one_call() {
    let world = World::new().await;
    let (session, tab) = world.show("/near").await;
    let pid = world.browser.processes().await[0];
    let process = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    kill_process(process, Signal::STOP).unwrap();
    let lost = tab.navigate(&world.site.url("/shop")).await;
    assert!(matches!(lost, Err(Error::Crashed)), "{lost:?}");
    let (_, again) = session.tab(None, true).await.unwrap();
    assert_eq!(again.title().await.unwrap(), "near");
    assert_ne!(world.browser.processes().await, [pid]);
    world.browser.close().await;
}
