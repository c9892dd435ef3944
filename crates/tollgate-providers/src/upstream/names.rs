//! What things of a server are called here, and back.

use tollgate_core::{ToolName, canonical::hex_digest};

/// The longest name of a tool that is taken as it is.
const LONGEST: usize = 200;

/// How one server's names are spelled here.
#[derive(Debug, Clone)]
pub(super) struct Names {
    server: String,
    prefix: bool,
}

/// Why a server without our prefix may not call a tool or a prompt of its own this: it is how
/// those of servers with a prefix are called.
pub fn refused_bare(own: &str) -> Option<&'static str> {
    let rest = own.strip_prefix("mcp");
    let is_ours = rest.is_some_and(|rest| rest.starts_with(['.', '/', '_']));
    is_ours.then_some("names that begin so are of servers with a prefix")
}

impl Names {
    pub(super) fn new(server: &str, prefix: bool) -> Self {
        Self {
            server: server.to_owned(),
            prefix,
        }
    }

    /// The canonical id of a tool; what cannot be spelled is replaced and told apart by a
    /// digest.
    pub(super) fn tool(&self, own: &str) -> Option<ToolName> {
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/');
        let mut spelled: String = own
            .chars()
            .take(LONGEST)
            .map(|c| if fits(c) { c } else { '_' })
            .collect();
        if spelled != own {
            spelled.push('_');
            spelled.push_str(&hex_digest(own.as_bytes())[..8]);
        }
        if self.prefix {
            spelled = format!("mcp.{}.{spelled}", self.server);
        }
        ToolName::new(spelled).ok()
    }

    /// Why a tool or a prompt cannot be called what its server calls it.
    pub(super) fn refused(&self, own: &str) -> Option<&'static str> {
        refused_bare(own).filter(|_| !self.prefix)
    }

    /// Why something to read cannot be where its server says it is.
    pub(super) fn refused_uri(&self, own: &str) -> Option<&'static str> {
        let is_ours = !self.prefix && own.starts_with("mcp:");
        is_ours.then_some("addresses that begin so are of servers with a prefix")
    }

    /// The id of a tool without our prefix.
    pub(super) fn bare(&self, name: &ToolName) -> String {
        let name = name.as_str();
        let own = name.strip_prefix("mcp.").filter(|_| self.prefix);
        let own = own.and_then(|own| own.strip_prefix(self.server.as_str())?.strip_prefix('.'));
        own.unwrap_or(name).to_owned()
    }

    /// Whether a tool with this name, in any spelling, could only be this server's.
    pub(super) fn is_own(&self, name: &str) -> bool {
        let rest = |between: char| {
            let own = name.strip_prefix("mcp")?.strip_prefix(between)?;
            own.strip_prefix(self.server.as_str())?
                .strip_prefix(between)
        };
        let own = rest('.').or_else(|| rest('_'));
        self.prefix && own.is_some_and(|own| !own.is_empty())
    }

    /// The name of a prompt.
    pub(super) fn prompt(&self, own: &str) -> String {
        if self.prefix {
            format!("mcp.{}.{own}", self.server)
        } else {
            own.to_owned()
        }
    }

    /// The server's own name of a prompt.
    pub(super) fn own_prompt<'a>(&self, name: &'a str) -> Option<&'a str> {
        if !self.prefix {
            return Some(name);
        }
        name.strip_prefix("mcp.")?
            .strip_prefix(self.server.as_str())?
            .strip_prefix('.')
    }

    /// The address of something to read.
    pub(super) fn uri(&self, own: &str) -> String {
        if self.prefix {
            format!("mcp://{}/{own}", self.server)
        } else {
            own.to_owned()
        }
    }

    /// The server's own address of something to read.
    pub(super) fn own_uri<'a>(&self, uri: &'a str) -> Option<&'a str> {
        if !self.prefix {
            return Some(uri);
        }
        uri.strip_prefix("mcp://")?
            .strip_prefix(self.server.as_str())?
            .strip_prefix('/')
    }

    /// Whether addresses are different here.
    pub(super) fn rewrites(&self) -> bool {
        self.prefix
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_ours_and_lead_back() {
        let names = Names::new("files", true);
        let tool = |own: &str| names.tool(own).unwrap().as_str().to_owned();
        assert_eq!(tool("read_file"), "mcp.files.read_file");
        assert!(tool("read file").starts_with("mcp.files.read_file_"));
        assert_ne!(tool("read file"), tool("read:file"));
        assert!(names.tool(&"x".repeat(5000)).is_some());
        for own in ["file:///a/b?c=d#e", "test://{id}/data"] {
            assert_eq!(names.own_uri(&names.uri(own)), Some(own));
        }
        assert_eq!(names.own_prompt(&names.prompt("a.b")), Some("a.b"));
        assert_eq!(names.own_uri("mcp://other/x"), None);
        for (name, is_own) in [
            ("mcp.files.read", true),
            ("mcp_files_read", true),
            ("mcp.files", false),
            ("mcp.files.", false),
            ("mcp.filesystem.read", false),
            ("mcp.files_x.read", false),
            ("files.read", false),
        ] {
            assert_eq!(names.is_own(name), is_own, "{name}");
        }
        let bare = Names::new("files", false);
        assert_eq!(bare.tool("echo").unwrap().as_str(), "echo");
        assert_eq!(bare.own_uri("x://y"), Some("x://y"));
        assert!(!bare.is_own("mcp.files.read"));
        for (own, is_refused) in [
            ("mcp.files.read", true),
            ("mcp_files_read", true),
            ("mcp/files/read", true),
            ("mcp", false),
            ("mcpx.read", false),
            ("read", false),
        ] {
            assert_eq!(bare.refused(own).is_some(), is_refused, "{own}");
            assert_eq!(names.refused(own), None, "{own}");
        }
        assert!(bare.refused_uri("mcp://files/x").is_some());
        assert!(bare.refused_uri("file:///mcp").is_none());
        assert!(names.refused_uri("mcp://files/x").is_none());
    }
}
