//! What a refused client is told: the `WWW-Authenticate` header (RFC 6750) and where to get a
//! token (RFC 9728).

use serde_json::{Value, json};

use super::{Authenticator, Refused};

impl Authenticator {
    /// The value of `WWW-Authenticate`. Only with an issuer does it point at the metadata,
    /// because clients take that as an invitation to sign in.
    pub(crate) fn challenge(&self, refused: &Refused, metadata_url: &str) -> String {
        let mut said = vec![field("realm", "tollgate")];
        match refused {
            Refused::Missing | Refused::Unavailable(_) => {}
            Refused::Invalid(why) => {
                said.push(field("error", "invalid_token"));
                said.push(field("error_description", why));
            }
            Refused::Insufficient(_) => said.push(field("error", "insufficient_scope")),
        }
        let wanted = match (refused, &self.oauth) {
            (Refused::Insufficient(scopes), _) => scopes.as_slice(),
            (_, Some(oauth)) => oauth.settings().scopes.as_slice(),
            (_, None) => &[],
        };
        if !wanted.is_empty() {
            said.push(field("scope", &wanted.join(" ")));
        }
        if self.oauth.is_some() {
            said.push(field("resource_metadata", metadata_url));
        }
        format!("Bearer {}", said.join(", "))
    }

    /// Where clients find that document, if the audience says under which address we are known:
    /// they may reach us through somebody who encrypts.
    pub(crate) fn metadata_address(&self, path: &str) -> Option<String> {
        let settings = self.oauth.as_ref()?.settings();
        let (scheme, rest) = settings.audience.split_once("://")?;
        let (host, below) = match rest.split_once('/') {
            Some((host, below)) => (host, format!("/{below}")),
            None => (rest, String::new()),
        };
        let below = below.trim_end_matches('/');
        Some(format!("{scheme}://{host}{path}{below}"))
    }

    /// The document of RFC 9728. Clients compare `resource` with the address they know, so an
    /// audience that is no address gives way to the one they used.
    pub(crate) fn metadata(&self, resource: &str) -> Value {
        let mut document = json!({
            "resource": resource,
            "resource_name": "Tollgate",
            "bearer_methods_supported": ["header"],
        });
        if let Some(oauth) = &self.oauth {
            let settings = oauth.settings();
            if settings.audience.contains("://") {
                document["resource"] = json!(settings.audience);
            }
            document["authorization_servers"] = json!([settings.issuer]);
            if !settings.scopes.is_empty() {
                document["scopes_supported"] = json!(settings.scopes);
            }
        }
        document
    }
}

/// One quoted parameter; what has no place in a header is left out.
fn field(name: &str, value: &str) -> String {
    let mut quoted = String::with_capacity(value.len());
    for c in value.chars().filter(|c| matches!(c, ' '..='~')) {
        if matches!(c, '"' | '\\') {
            quoted.push('\\');
        }
        quoted.push(c);
    }
    format!("{name}=\"{quoted}\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_breaks_out_of_a_parameter() {
        let said = field("a", "x\", b=\"y\\\r\nSet-Cookie: z\u{e9}");
        assert_eq!(said, r#"a="x\", b=\"y\\Set-Cookie: z""#);
    }
}
