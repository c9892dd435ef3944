//! How tool names are spelled for one client.

use std::sync::LazyLock;

use serde::Deserialize;
use tollgate_core::Spelling;

use crate::config::Names;

/// Facts about clients, kept as data.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Clients {
    dots: Vec<String>,
}

static CLIENTS: LazyLock<Clients> = LazyLock::new(|| {
    // A table that does not parse knows nobody; a test keeps it parsing.
    toml::from_str(include_str!("clients.toml")).unwrap_or(Clients { dots: Vec::new() })
});

/// The spelling for a client of this name.
pub(super) fn spelling(names: Names, client: Option<&str>) -> Spelling {
    match names {
        Names::Canonical => Spelling::Dotted,
        Names::Safe => Spelling::Safe,
        Names::Auto if client.is_some_and(takes_dots) => Spelling::Dotted,
        Names::Auto => Spelling::Safe,
    }
}

fn takes_dots(client: &str) -> bool {
    CLIENTS
        .dots
        .iter()
        .any(|known| match known.strip_suffix('*') {
            Some(start) => client.starts_with(start),
            None => client == known,
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_read_and_strangers_get_the_safe_spelling() {
        let auto = |client| spelling(Names::Auto, client);
        assert_eq!(auto(Some("mcp")), Spelling::Dotted);
        assert_eq!(
            auto(Some("Visual Studio Code - Insiders")),
            Spelling::Dotted
        );
        for client in [
            None,
            Some("claude-code"),
            Some("claude-ai"),
            Some("mcp-of-mine"),
        ] {
            assert_eq!(auto(client), Spelling::Safe, "{client:?}");
        }
        assert_eq!(spelling(Names::Safe, Some("mcp")), Spelling::Safe);
        assert_eq!(spelling(Names::Canonical, None), Spelling::Dotted);
    }
}
