//! Who seals the login state of browsers.
//!
//! The key is the one that the configuration refers to, else one made of the key that lies
//! beside the state. It is read when something is first sealed or opened, not before.

use std::{path::PathBuf, sync::OnceLock};

use tollgate_core::{SealError, Sealer};
use tollgate_engine::{Seals, policy::ApprovalKey};

use crate::{
    config::{Environment, SecretRef},
    keys,
};

const PURPOSE: &str = "login state of browsers";
/// A shorter text is a word that can be guessed.
const SHORTEST: usize = 32;

/// Seals login state.
pub(crate) struct Vault {
    pub(crate) state_dir: PathBuf,
    pub(crate) key: Option<SecretRef>,
    pub(crate) environment: Environment,
    pub(crate) seals: OnceLock<Seals>,
}

impl Vault {
    fn seals(&self) -> Result<&Seals, SealError> {
        if let Some(seals) = self.seals.get() {
            return Ok(seals);
        }
        let seals = self.unlocked()?;
        Ok(self.seals.get_or_init(|| seals))
    }

    fn unlocked(&self) -> Result<Seals, SealError> {
        let Some(reference) = &self.key else {
            let key = keys::approval_key(&self.state_dir);
            let key = key.map_err(|error| SealError::NoKey(error.to_string()))?;
            return Seals::new(&ApprovalKey::new(key), PURPOSE);
        };
        let text = reference
            .read(&self.environment)
            .map_err(|error| SealError::NoKey(error.to_string()))?;
        if text.reveal().len() < SHORTEST {
            let why = format!("what {reference} names has fewer than {SHORTEST} characters");
            return Err(SealError::NoKey(why));
        }
        Seals::from_text(&text, PURPOSE)
    }
}

impl Sealer for Vault {
    fn seal(&self, place: &str, plain: &[u8]) -> Result<Vec<u8>, SealError> {
        self.seals()?.seal(place, plain)
    }

    fn open(&self, place: &str, sealed: &[u8]) -> Result<Vec<u8>, SealError> {
        self.seals()?.open(place, sealed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_is_a_reference_or_lies_beside_the_state() {
        let dir = tempfile::tempdir().unwrap();
        let vault = |key: Option<&str>, word: &str| {
            let mut environment = Environment::default();
            environment.variables.insert("WORD".into(), word.into());
            Vault {
                state_dir: dir.path().to_owned(),
                key: key.map(|it| SecretRef::parse(it).unwrap()),
                environment,
                seals: OnceLock::new(),
            }
        };
        let long = "a long word that nobody guesses, ever";
        let sealed = vault(None, "").seal("here", b"words").unwrap();
        assert_eq!(vault(None, "").open("here", &sealed).unwrap(), b"words");
        let named = vault(Some("env:WORD"), long);
        assert_eq!(named.open("here", &sealed), Err(SealError::NotOurs));
        let sealed = named.seal("here", b"words").unwrap();
        let again = vault(Some("env:WORD"), long);
        assert_eq!(again.open("here", &sealed).unwrap(), b"words");
        for (key, word) in [
            ("env:WORD", "short"),
            ("env:NONE", ""),
            ("file:/none/at/all", ""),
        ] {
            let none = vault(Some(key), word).seal("here", b"words");
            assert!(matches!(none, Err(SealError::NoKey(_))), "{key}");
        }
    }
}
