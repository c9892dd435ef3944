//! The key that vouches for heads of the chain.
//!
//! The secret half is readable by its owner only and never leaves this module;
//! the public half lies beside it for whoever wants to check a receipt.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read as _, Write as _},
    path::Path,
};

use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};
use tollgate_core::{
    audit::{Hash, SignedHead},
    canonical::hex,
};

use crate::error::OpenError;

const SECRET: &str = "audit-signing.key";

/// Files that nobody but their owner may read or write.
pub(crate) const KEY_FILES: [&str; 2] = [SECRET, "approval.key"];

const PUBLIC: &str = "audit-signing.pub";

/// Signs heads.
pub(crate) struct Keyring {
    secret: SigningKey,
}

/// A head with its signature, as the database keeps it.
#[derive(Debug, Clone)]
pub(crate) struct Seal {
    pub(crate) seq: u64,
    pub(crate) hash: Hash,
    pub(crate) key: [u8; 32],
    pub(crate) signature: [u8; 64],
}

impl Keyring {
    /// Reads the key, making it first if there is none; the caller holds the lock.
    pub(crate) fn load_or_create(directory: &Path) -> Result<Self, OpenError> {
        if let Some(keyring) = Self::load(directory)? {
            return Ok(keyring);
        }
        if directory.join(PUBLIC).exists() {
            let gone = "it is gone while its public half is still there; restore it from a backup, \
                        or move the public half away to begin with another";
            return Err(OpenError::Key(gone.to_owned()));
        }
        let mut secret = [0_u8; 32];
        getrandom::fill(&mut secret).map_err(|error| OpenError::Key(error.to_string()))?;
        let keyring = Self {
            secret: SigningKey::from_bytes(&secret),
        };
        let public = hex(keyring.secret.verifying_key().as_bytes());
        write_new(directory, SECRET, &secret).map_err(OpenError::Directory)?;
        write_new(directory, PUBLIC, public.as_bytes()).map_err(OpenError::Directory)?;
        Ok(keyring)
    }

    /// Reads the key.
    pub(crate) fn load(directory: &Path) -> Result<Option<Self>, OpenError> {
        let mut secret = Vec::new();
        match File::open(directory.join(SECRET)).and_then(|mut file| file.read_to_end(&mut secret))
        {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(OpenError::Key(error.to_string())),
        }
        let secret = <[u8; 32]>::try_from(secret)
            .map_err(|_| OpenError::Key("it does not have 32 bytes".to_owned()))?;
        Ok(Some(Self {
            secret: SigningKey::from_bytes(&secret),
        }))
    }

    /// Vouches for a head.
    pub(crate) fn seal(&self, chain: &str, seq: u64, hash: Hash) -> Seal {
        let message = SignedHead::message(chain, seq, &hex(&hash));
        Seal {
            seq,
            hash,
            key: self.secret.verifying_key().to_bytes(),
            signature: self.secret.sign(message.as_bytes()).to_bytes(),
        }
    }

    /// The public half.
    pub(crate) fn public(&self) -> VerifyingKey {
        self.secret.verifying_key()
    }
}

impl Seal {
    /// The head as receipts carry it.
    pub(crate) fn signed_head(&self, chain: &str) -> SignedHead {
        SignedHead {
            chain: chain.to_owned(),
            seq: self.seq,
            hash: hex(&self.hash),
            key: hex(&self.key),
            signature: hex(&self.signature),
        }
    }
}

/// Reads the public half alone.
pub(crate) fn public(directory: &Path) -> Result<Option<VerifyingKey>, OpenError> {
    if let Some(keyring) = Keyring::load(directory)? {
        return Ok(Some(keyring.public()));
    }
    match fs::read_to_string(directory.join(PUBLIC)) {
        Ok(text) => unhex::<32>(text.trim())
            .and_then(|bytes| VerifyingKey::from_bytes(&bytes).ok())
            .map(Some)
            .ok_or_else(|| OpenError::Key("the public half is malformed".to_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(OpenError::Key(error.to_string())),
    }
}

/// Whether `head` was signed with `key`.
pub(crate) fn vouches(key: &VerifyingKey, head: &SignedHead) -> bool {
    let Some(signature) = unhex::<64>(&head.signature) else {
        return false;
    };
    let message = SignedHead::message(&head.chain, head.seq, &head.hash);
    head.key == hex(key.as_bytes())
        && key
            .verify_strict(message.as_bytes(), &Signature::from_bytes(&signature))
            .is_ok()
}

/// Reads lower-case hex of exactly `N` bytes.
pub(crate) fn unhex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let text = text.as_bytes();
    if text.len() != N * 2 {
        return None;
    }
    let mut bytes = [0_u8; N];
    for (byte, pair) in bytes.iter_mut().zip(text.chunks_exact(2)) {
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(bytes)
}

/// Writes a file that appears whole or not at all, for its owner only.
fn write_new(directory: &Path, name: &str, content: &[u8]) -> io::Result<()> {
    let unnamed = directory.join(format!("{name}.tmp"));
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&unnamed)?;
    file.write_all(content)?;
    file.sync_all()?;
    fs::rename(unnamed, directory.join(name))
}
