//! A browser for a test, and a boundary that leads every name of the tests to the test's site.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use tempfile::TempDir;
use tollgate_browser::{
    Admission, Boundary, Browser, Limits, Options, Owner, Session, Settings, Tab, Whereabouts,
};

use crate::site::Site;

/// Names below `.test` lead to this machine, but for one; nothing else is admitted.
#[derive(Default)]
pub(crate) struct Fence {
    pub(crate) asked: Mutex<Vec<String>>,
}

impl Boundary for Fence {
    fn admit(&self, host: String, port: u16) -> Admission {
        let asked = {
            let mut all = self.asked.lock().unwrap();
            all.push(host.clone());
            all.iter().filter(|it| **it == host).count()
        };
        // One name leads elsewhere the second time it is looked up; another counts as secure.
        let is_fine = match host.as_str() {
            "forbidden.test" => false,
            "rebinding.test" => asked == 1,
            _ => host.ends_with(".test") || host == "app.localhost",
        };
        Box::pin(async move {
            if is_fine {
                Ok(vec![SocketAddr::from(([127, 0, 0, 1], port))])
            } else {
                Err(format!("{host} is out of bounds"))
            }
        })
    }
}

pub(crate) struct World {
    pub(crate) browser: Arc<Browser>,
    pub(crate) site: Site,
    pub(crate) fence: Arc<Fence>,
    pub(crate) folder: TempDir,
}

pub(crate) fn owner(name: &str) -> Owner {
    Owner {
        principal: name.to_owned(),
        conversation: "c".to_owned(),
    }
}

/// Where programs of this machine are, for an environment.
pub(crate) fn path() -> Option<(OsString, OsString)> {
    #[expect(
        clippy::disallowed_methods,
        reason = "tests look for programs of this machine"
    )]
    let path = std::env::var_os("PATH");
    path.map(|path| ("PATH".into(), path))
}

impl World {
    pub(crate) async fn new() -> Self {
        Self::with(Limits::default()).await
    }

    pub(crate) async fn with(limits: Limits) -> Self {
        Self::within(BTreeMap::new(), limits).await
    }

    /// With more in its environment than programs are found with. Fails with the command that
    /// installs it where there is no Chromium.
    pub(crate) async fn within(mut env: BTreeMap<OsString, OsString>, limits: Limits) -> Self {
        #[expect(
            clippy::disallowed_methods,
            reason = "tests look for the browser of this machine"
        )]
        let named = std::env::var_os("CHROME_PATH");
        let whereabouts = Whereabouts {
            named: named.map(Into::into),
            path: path().map(|(_, path)| path),
        };
        if let Err(missing) = whereabouts.find() {
            panic!("{missing}");
        }
        let folder = tempfile::tempdir().unwrap();
        env.extend(path());
        let settings = Settings {
            whereabouts,
            root: folder.path().join("run"),
            downloads: folder.path().join("downloads"),
            env,
            limits,
        };
        Self {
            browser: Browser::new(settings),
            site: Site::start().await,
            fence: Arc::default(),
            folder,
        }
    }

    pub(crate) fn session(&self) -> Arc<Session> {
        self.browser.create(&owner("ada"), self.options()).unwrap()
    }

    pub(crate) fn options(&self) -> Options {
        Options {
            is_headless: true,
            ttl: None,
            boundary: self.fence.clone(),
            roots: Vec::new(),
            keeper: None,
        }
    }

    /// A tab of a new session that shows a page.
    pub(crate) async fn show(&self, path: &str) -> (Arc<Session>, Arc<Tab>) {
        let session = self.session();
        let (_, tab) = session.tab(None, true).await.unwrap();
        let loaded = tab.navigate(&self.site.url(path)).await.unwrap();
        assert!(!loaded.partial, "{path}");
        (session, tab)
    }
}

/// The id of the element with a label.
pub(crate) async fn id(tab: &Tab, label: &str) -> String {
    let all = tab.elements().await.unwrap();
    let found = all.iter().find(|it| it.label == label);
    found
        .unwrap_or_else(|| panic!("no {label} in {all:#?}"))
        .id
        .clone()
}

/// Waits until something holds; a test that waits in vain ends here.
pub(crate) async fn eventually<F: Future<Output = bool>>(what: &str, holds: impl Fn() -> F) {
    for _ in 0..600 {
        if holds().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("never: {what}");
}

pub(crate) async fn text(tab: &Tab) -> String {
    let content = tab.content(500).await.unwrap();
    let texts: Vec<String> = content.sections.into_iter().map(|it| it.text).collect();
    texts.join("\n")
}
