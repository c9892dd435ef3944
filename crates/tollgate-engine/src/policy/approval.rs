//! The digest that binds an approval to exactly one call.
//!
//! Invariant: two calls share a digest only if tool, spec, arguments, principal
//! and session (for clients over stdio: that they come over stdio) are the same, where the spelling of the arguments (order of keys,
//! white space, `1.0` for `1`) is not part of what they are.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use tollgate_core::{
    Payload, Secret, SessionKey, ToolName,
    canonical::{CanonicalError, Form, Node},
};

/// Sets these digests apart from any other use of the key.
const PURPOSE: &str = "tollgate approval 1";

/// The key of the digests, so that nobody can guess arguments from what is stored.
#[derive(Debug, Clone)]
pub struct ApprovalKey(Secret<[u8; 32]>);

impl ApprovalKey {
    /// A tag that only the holder of the key can make, for state that travels through a client.
    pub fn authenticate(&self, message: &[u8]) -> [u8; 32] {
        let mut mac = self.mac();
        mac.update(b"tollgate sealed state 1");
        mac.update(message);
        mac.finalize().into_bytes().into()
    }

    /// Whether a message carries its own tag, told in constant time.
    pub fn is_authentic(&self, message: &[u8], tag: &[u8]) -> bool {
        let mut mac = self.mac();
        mac.update(b"tollgate sealed state 1");
        mac.update(message);
        mac.verify_slice(tag).is_ok()
    }

    /// A digest by which equal arguments can be told but not guessed.
    pub fn fingerprint(&self, arguments: &[u8]) -> [u8; 32] {
        let mut mac = self.mac();
        mac.update(b"tollgate fingerprint 1");
        mac.update(arguments);
        mac.finalize().into_bytes().into()
    }

    /// A key of its own for another purpose; who has it cannot tell this one.
    pub fn derive(&self, purpose: &str) -> Secret<[u8; 32]> {
        let mut mac = self.mac();
        mac.update(b"tollgate derived key 1");
        mac.update(purpose.as_bytes());
        Secret::new(mac.finalize().into_bytes().into())
    }

    /// HMAC itself fills a short key up with zeros; doing it here cannot fail.
    fn mac(&self) -> Hmac<Sha256> {
        let mut block = [0; 64];
        block[..32].copy_from_slice(self.0.reveal());
        Hmac::<Sha256>::new(&block.into())
    }

    /// Takes a key that is kept beside the state.
    pub fn new(key: Secret<[u8; 32]>) -> Self {
        Self(key)
    }

    /// The digest of a call; arguments that can be read two ways have none.
    pub fn digest(
        &self,
        tool: &ToolName,
        spec_digest: &str,
        arguments: &Payload,
        session: &SessionKey,
    ) -> Result<[u8; 32], CanonicalError> {
        let arguments = Node::of(arguments)?.print(Form::Jcs);
        let mut mac = self.mac();
        let fields = [
            PURPOSE,
            tool.as_str(),
            spec_digest,
            &arguments,
            session.principal.as_str(),
            session.approval_scope(),
        ];
        for field in fields {
            mac.update(&(field.len() as u64).to_be_bytes());
            mac.update(field.as_bytes());
        }
        Ok(mac.finalize().into_bytes().into())
    }
}
