//! What a session needs to be known again: cookies, what pages stored, and where its tabs are.
//!
//! Invariant: two sessions that keep the same state lose nothing of each other: what is written
//! down is what one of them changed, put on top of what is there.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What is kept of a cookie.
const COOKIE: &[&str] = &[
    "name",
    "value",
    "domain",
    "path",
    "secure",
    "httpOnly",
    "sameSite",
    "expires",
    "priority",
    "partitionKey",
];

/// A cookie, as the browser writes it.
pub type Cookie = BTreeMap<String, Value>;

/// What a session needs to be known again.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Kept {
    /// All cookies.
    pub cookies: Vec<Cookie>,
    /// What pages stored, by origin.
    pub origins: BTreeMap<String, BTreeMap<String, String>>,
    /// Where its tabs are.
    pub tabs: Vec<KeptTab>,
}

/// Where a tab is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptTab {
    /// Its id.
    pub id: String,
    /// Its address.
    pub url: String,
    /// Whether it is the active one.
    pub is_active: bool,
}

/// Values are nobody's business.
impl fmt::Debug for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kept")
            .field("cookies", &self.cookies.len())
            .field("origins", &self.origins.len())
            .field("tabs", &self.tabs.len())
            .finish()
    }
}

/// Keeps the state of a session where it outlives the process. Its functions may wait for disks.
pub trait Keeper: Send + Sync {
    /// What was kept; nothing kept is nothing.
    fn load(&self) -> Result<Kept, String>;

    /// Keeps what became different between `before` and `now`.
    fn save(&self, before: &Kept, now: &Kept) -> Result<(), String>;

    /// The session was closed by somebody, or nobody used it.
    fn ended(&self);

    /// Whether tabs are opened again, too.
    fn keeps_tabs(&self) -> bool;
}

impl Kept {
    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        self.cookies.is_empty() && self.origins.is_empty() && self.tabs.is_empty()
    }

    /// Sites that have something here.
    pub fn sites(&self) -> BTreeSet<String> {
        let domains = self.cookies.iter().filter_map(|it| {
            let domain = it.get("domain")?.as_str()?;
            Some(domain.trim_start_matches('.').to_owned())
        });
        let hosts = self.origins.keys().filter_map(|origin| {
            let (_, host) = origin.split_once("://")?;
            Some(host.to_owned())
        });
        domains.chain(hosts).collect()
    }

    /// What is kept here, with what became different between `before` and `now`.
    #[must_use]
    pub fn with_changes(self, before: &Self, now: &Self) -> Self {
        let (old, new) = (by_key(&before.cookies), by_key(&now.cookies));
        let mut cookies = by_key(&self.cookies);
        apply(&mut cookies, &old, &new);
        let (old, new) = (entries(&before.origins), entries(&now.origins));
        let mut items = entries(&self.origins);
        apply(&mut items, &old, &new);
        let mut origins = BTreeMap::<String, BTreeMap<String, String>>::new();
        for ((origin, name), value) in items {
            let of = origins.entry(origin.to_owned()).or_default();
            of.insert(name.to_owned(), value.to_owned());
        }
        Self {
            cookies: cookies.into_values().cloned().collect(),
            origins,
            tabs: now.tabs.clone(),
        }
    }
}

/// Takes over what is new or different, and lets go of what is gone.
fn apply<K: Ord + Clone, V: PartialEq + Copy>(
    all: &mut BTreeMap<K, V>,
    old: &BTreeMap<K, V>,
    new: &BTreeMap<K, V>,
) {
    all.retain(|key, _| new.contains_key(key) || !old.contains_key(key));
    for (key, value) in new {
        if old.get(key) != Some(value) {
            all.insert(key.clone(), *value);
        }
    }
}

/// Cookies by what makes two of them the same one.
fn by_key(cookies: &[Cookie]) -> BTreeMap<[String; 4], &Cookie> {
    let text = |cookie: &Cookie, name: &str| match cookie.get(name) {
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None => String::new(),
    };
    let key = |cookie| ["domain", "path", "name", "partitionKey"].map(|it| text(cookie, it));
    cookies.iter().map(|cookie| (key(cookie), cookie)).collect()
}

fn entries(origins: &BTreeMap<String, BTreeMap<String, String>>) -> BTreeMap<(&str, &str), &str> {
    let all = origins.iter().flat_map(|(origin, items)| {
        let items = items.iter();
        items.map(move |(name, value)| ((origin.as_str(), name.as_str()), value.as_str()))
    });
    all.collect()
}

/// Cookies as the browser takes them back.
pub(super) fn presentable(cookies: &[Cookie]) -> Vec<Cookie> {
    let kept = cookies.iter().map(|cookie| {
        let mut cookie = cookie.clone();
        cookie.retain(|name, value| {
            // A cookie without an end is said to have ended before time began.
            let is_endless = name == "expires" && value.as_f64().is_none_or(|end| end <= 0.0);
            COOKIE.contains(&name.as_str()) && !is_endless
        });
        cookie
    });
    kept.collect()
}

/// Cookies as they are kept: in one order, and without what changes but means nothing.
pub(super) fn essential(cookies: &[Cookie]) -> Vec<Cookie> {
    let kept = by_key(cookies).into_values().map(|cookie| {
        let mut cookie = cookie.clone();
        cookie.retain(|name, _| COOKIE.contains(&name.as_str()));
        cookie
    });
    kept.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn cookie(name: &str, value: &str) -> Cookie {
        let cookie = json!({"name": name, "value": value, "domain": ".shop.test", "path": "/"});
        serde_json::from_value(cookie).unwrap()
    }

    fn stored(items: &[(&str, &str)]) -> BTreeMap<String, BTreeMap<String, String>> {
        let items = items.iter().map(|(k, v)| ((*k).into(), (*v).into()));
        BTreeMap::from([("https://shop.test".to_owned(), items.collect())])
    }

    #[test]
    fn sessions_that_keep_the_same_state_lose_nothing_of_each_other() {
        let before = Kept {
            cookies: vec![cookie("a", "1"), cookie("b", "1")],
            origins: stored(&[("theme", "dark"), ("old", "x")]),
            tabs: Vec::new(),
        };
        // One session logs out of `b` and stores something; the other changed `a` meanwhile.
        let now = Kept {
            cookies: vec![cookie("a", "1")],
            origins: stored(&[("theme", "dark"), ("cart", "7")]),
            tabs: Vec::new(),
        };
        let there = Kept {
            cookies: vec![cookie("a", "2"), cookie("b", "1"), cookie("c", "1")],
            origins: stored(&[("theme", "light"), ("old", "x")]),
            tabs: Vec::new(),
        };
        let kept = there.with_changes(&before, &now);
        assert_eq!(kept.cookies, [cookie("a", "2"), cookie("c", "1")]);
        assert_eq!(kept.origins, stored(&[("theme", "light"), ("cart", "7")]));
        assert_eq!(Vec::from_iter(kept.sites()), ["shop.test"]);
        assert!(!format!("{kept:?}").contains("light"));
    }
}
