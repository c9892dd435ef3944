//! What a verified token says, and whether it is meant for this server now.

use serde::Deserialize;
use serde_json::Value;
use tollgate_core::Timestamp;

use super::Refused;
use crate::config::Oauth;

/// The longest subject; it becomes part of the principal's name everywhere.
const SUBJECT: usize = 255;

#[derive(Deserialize)]
pub(super) struct Claims {
    iss: Option<String>,
    sub: Option<String>,
    aud: Option<Words>,
    exp: Option<f64>,
    nbf: Option<f64>,
    scope: Option<Words>,
    /// Where some issuers put the scopes.
    scp: Option<Words>,
    /// The token is only good together with a proof that we do not ask for.
    cnf: Option<Value>,
}

/// One text, or several.
#[derive(Deserialize)]
#[serde(untagged)]
enum Words {
    One(String),
    Many(Vec<String>),
}

impl Words {
    fn each(&self) -> &[String] {
        match self {
            Self::One(one) => std::slice::from_ref(one),
            Self::Many(many) => many,
        }
    }
}

impl Claims {
    pub(super) fn read(payload: &[u8]) -> Result<Self, Refused> {
        serde_json::from_slice(payload)
            .map_err(|_| Refused::Invalid("the token's claims cannot be read"))
    }

    /// Whether the token is from the issuer, for this server and for this moment; says when
    /// it ends.
    pub(super) fn check(&self, settings: &Oauth, now: Timestamp) -> Result<Timestamp, Refused> {
        if self.iss.as_ref() != Some(&settings.issuer) {
            return Err(Refused::Invalid("the token is from another issuer"));
        }
        let audiences = self.aud.as_ref().map_or(&[][..], Words::each);
        if !audiences.contains(&settings.audience) {
            return Err(Refused::Invalid("the token is for another audience"));
        }
        let ends = self.exp.and_then(moment);
        let ends = ends.ok_or(Refused::Invalid("the token does not say when it ends"))?;
        let ends = ends.plus(settings.leeway);
        if now >= ends {
            return Err(Refused::Invalid("the token has expired"));
        }
        match self.nbf.map(moment) {
            None => {}
            Some(Some(begins)) if begins <= now.plus(settings.leeway) => {}
            Some(_) => return Err(Refused::Invalid("the token is not valid yet")),
        }
        if self.cnf.is_some() {
            return Err(Refused::Invalid("the token is bound to a key"));
        }
        let subject = self.subject();
        if subject.is_empty() || subject.len() > SUBJECT || subject.chars().any(char::is_control) {
            return Err(Refused::Invalid("the token does not say whom it is for"));
        }
        Ok(ends)
    }

    pub(super) fn subject(&self) -> &str {
        self.sub.as_deref().unwrap_or_default()
    }

    pub(super) fn scopes(&self) -> Vec<&str> {
        let claims = self.scope.iter().chain(&self.scp);
        let texts = claims.flat_map(Words::each);
        texts
            .flat_map(|text| text.split_ascii_whitespace())
            .collect()
    }
}

/// Seconds since 1970, perhaps with a fraction.
fn moment(seconds: f64) -> Option<Timestamp> {
    let in_range = seconds.is_finite() && (0.0..=1e12).contains(&seconds);
    in_range.then_some(Timestamp((seconds * 1000.0) as i64))
}
