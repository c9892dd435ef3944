//! What a session needs to be known again: its cookies, given out and taken back.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::Value;

use super::{PATIENCE, Session};
use crate::{
    error::Error,
    protocol::commands::{GetCookies, SetCookies},
};

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

impl Session {
    /// What pages stored to know their visitor again: all cookies, as the browser keeps them.
    pub async fn cookies(self: &Arc<Self>) -> Result<Vec<Cookie>, Error> {
        let mut place = self.place.lock().await;
        let place = self.settled(&mut place).await?;
        let get = GetCookies {
            browser_context_id: place.context.clone(),
        };
        let connection = &place.running.process.connection;
        Ok(connection.ask(None, &get, PATIENCE).await?.cookies)
    }

    /// Gives the browser cookies that were kept.
    pub async fn restore(self: &Arc<Self>, cookies: Vec<Cookie>) -> Result<(), Error> {
        let mut place = self.place.lock().await;
        let place = self.settled(&mut place).await?;
        let kept = cookies.into_iter().map(|mut cookie| {
            cookie.retain(|name, value| {
                // A cookie without an end is said to have ended before time began.
                let is_endless = name == "expires" && value.as_f64().is_none_or(|end| end <= 0.0);
                COOKIE.contains(&name.as_str()) && !is_endless
            });
            cookie
        });
        let set = SetCookies {
            cookies: kept.collect(),
            browser_context_id: place.context.clone(),
        };
        let connection = &place.running.process.connection;
        connection.ask(None, &set, PATIENCE).await?;
        Ok(())
    }
}
