//! A profile as other programs read and write it: cookies, and what pages stored by origin.
//!
//! The shape is the one that browser drivers call a storage state.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tollgate_browser::{Cookie, Kept};

/// What sites know somebody by.
#[derive(Serialize, Deserialize)]
pub struct StorageState {
    #[serde(default)]
    cookies: Vec<PortableCookie>,
    #[serde(default)]
    origins: Vec<Origin>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PortableCookie {
    name: String,
    value: String,
    domain: String,
    path: String,
    /// Seconds since 1970; -1 if it ends with the browser.
    #[serde(default = "endless")]
    expires: f64,
    #[serde(default)]
    http_only: bool,
    #[serde(default)]
    secure: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    same_site: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    partition_key: Option<Value>,
}

fn endless() -> f64 {
    -1.0
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Origin {
    origin: String,
    #[serde(default)]
    local_storage: Vec<Item>,
}

#[derive(Serialize, Deserialize)]
struct Item {
    name: String,
    value: String,
}

impl From<Kept> for StorageState {
    fn from(kept: Kept) -> Self {
        let text = |cookie: &Cookie, name: &str| {
            let value = cookie.get(name).and_then(Value::as_str);
            value.map(str::to_owned)
        };
        let is = |cookie: &Cookie, name: &str| cookie.get(name) == Some(&Value::Bool(true));
        let cookies = kept.cookies.iter().map(|it| PortableCookie {
            name: text(it, "name").unwrap_or_default(),
            value: text(it, "value").unwrap_or_default(),
            domain: text(it, "domain").unwrap_or_default(),
            path: text(it, "path").unwrap_or_default(),
            expires: it.get("expires").and_then(Value::as_f64).unwrap_or(-1.0),
            http_only: is(it, "httpOnly"),
            secure: is(it, "secure"),
            same_site: text(it, "sameSite"),
            partition_key: it.get("partitionKey").cloned(),
        });
        let origins = kept.origins.into_iter().map(|(origin, items)| Origin {
            origin,
            local_storage: items
                .into_iter()
                .map(|(name, value)| Item { name, value })
                .collect(),
        });
        Self {
            cookies: cookies.collect(),
            origins: origins.collect(),
        }
    }
}

impl From<StorageState> for Kept {
    fn from(state: StorageState) -> Self {
        let cookies = state.cookies.into_iter().map(|it| {
            let mut cookie = Cookie::from([
                ("name".to_owned(), json!(it.name)),
                ("value".to_owned(), json!(it.value)),
                ("domain".to_owned(), json!(it.domain)),
                ("path".to_owned(), json!(it.path)),
                ("expires".to_owned(), json!(it.expires)),
                ("httpOnly".to_owned(), json!(it.http_only)),
                ("secure".to_owned(), json!(it.secure)),
            ]);
            cookie.extend(
                it.same_site
                    .map(|site| ("sameSite".to_owned(), site.into())),
            );
            let partition = it.partition_key.filter(Value::is_object);
            cookie.extend(partition.map(|key| ("partitionKey".to_owned(), key)));
            cookie
        });
        let origins = state.origins.into_iter().map(|it| {
            let items = it.local_storage.into_iter();
            let items: BTreeMap<_, _> = items.map(|it| (it.name, it.value)).collect();
            (it.origin.trim_end_matches('/').to_owned(), items)
        });
        Self {
            cookies: cookies.collect(),
            origins: origins.collect(),
            tabs: Vec::new(),
        }
    }
}
