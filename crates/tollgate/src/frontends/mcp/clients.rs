//! What is known of clients: how they take names of tools, and which parts of a result they read.

use std::sync::LazyLock;

use serde::Deserialize;
use tollgate_core::{ResultForm, ResultView, Spelling};

use super::era::Client;
use crate::config::{Names, ResultParts, Results};

/// Facts about clients, kept as data.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Clients {
    dots: Vec<String>,
    content_only: Vec<Versions>,
}

/// Some versions of a client.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Versions {
    name: String,
    /// The first one.
    since: Option<String>,
    /// The first one that is no longer meant.
    before: Option<String>,
}

// A table that does not parse knows nobody; a test keeps it parsing.
static CLIENTS: LazyLock<Clients> =
    LazyLock::new(|| toml::from_str(include_str!("clients.toml")).unwrap_or_default());

/// The spelling of tool names for a client of this name.
pub(super) fn spelling(names: Names, client: Option<&str>) -> Spelling {
    let takes_dots = |client| CLIENTS.dots.iter().any(|known| is_named(known, client));
    match names {
        Names::Canonical => Spelling::Dotted,
        Names::Safe => Spelling::Safe,
        Names::Auto if client.is_some_and(takes_dots) => Spelling::Dotted,
        Names::Auto => Spelling::Safe,
    }
}

/// How a client is shown results; what the operator says comes before what is known.
pub(super) fn results(settings: &Results, client: &Client) -> ResultView {
    let name = client.name.as_deref().unwrap_or_default();
    let set = settings
        .clients
        .iter()
        .filter(|(pattern, _)| is_named(pattern, name))
        .max_by_key(|(pattern, _)| pattern.len());
    ResultView {
        form: if settings.envelope {
            ResultForm::Envelope
        } else {
            ResultForm::Native
        },
        content_only: match set {
            Some((_, parts)) => *parts == ResultParts::Content,
            None => reads_content_only(&CLIENTS.content_only, name, client.build.as_deref()),
        },
    }
}

fn reads_content_only(known: &[Versions], name: &str, build: Option<&str>) -> bool {
    let build = build.map(numbers);
    known.iter().any(|versions| {
        let begun = versions.since.as_deref().map(numbers);
        let over = versions.before.as_deref().map(numbers);
        // A client that does not say its version is taken for one of today.
        is_named(&versions.name, name)
            && begun.is_none_or(|begun| build.as_ref().is_none_or(|build| *build >= begun))
            && over.is_none_or(|over| build.as_ref().is_some_and(|build| *build < over))
    })
}

/// The numbers a version begins with.
fn numbers(version: &str) -> Vec<u64> {
    let plain = version.split(['-', '+', ' ']).next().unwrap_or_default();
    plain.split('.').map_while(|it| it.parse().ok()).collect()
}

/// Whether a name is meant; a star at the end means any ending.
fn is_named(known: &str, client: &str) -> bool {
    match known.strip_suffix('*') {
        Some(start) => client.starts_with(start),
        None => client == known,
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, time::Duration};

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

    fn client(name: &str) -> Client {
        Client {
            name: Some(name.to_owned()),
            build: Some("2.1.280".to_owned()),
            ..Client::unknown("2025-11-25")
        }
    }

    #[test]
    fn clients_that_drop_the_text_are_sent_nothing_else() {
        let set = |clients: &[(&str, ResultParts)]| Results {
            envelope: false,
            clients: clients
                .iter()
                .map(|(name, parts)| ((*name).to_owned(), *parts))
                .collect::<BTreeMap<_, _>>(),
            text_bytes: 1,
            structured_bytes: 1,
            chunk_bytes: 1,
            keep: Duration::from_secs(60),
            native_text_bytes: 1,
        };
        let nothing = set(&[]);
        let text_only = |settings: &Results, name| results(settings, &client(name)).content_only;
        assert!(text_only(&nothing, "claude-code"));
        assert!(text_only(&nothing, "codex-mcp-client"));
        assert!(!text_only(&nothing, "mcp"));
        assert!(!results(&nothing, &Client::unknown("2025-11-25")).content_only);
        let both = set(&[
            ("claude-*", ResultParts::Both),
            ("mcp", ResultParts::Content),
        ]);
        assert!(!text_only(&both, "claude-code"));
        assert!(text_only(&both, "mcp"));
        let longer = set(&[
            ("c*", ResultParts::Both),
            ("claude-*", ResultParts::Content),
        ]);
        assert!(text_only(&longer, "claude-code"));
    }

    #[test]
    fn versions_are_compared_by_number() {
        let known = [Versions {
            name: "shop".to_owned(),
            since: Some("2.0.21".to_owned()),
            before: Some("2.10".to_owned()),
        }];
        for (build, is_meant) in [
            ("2.0.21", true),
            ("2.0.20", false),
            ("2.9.9-beta.1", true),
            ("2.10.0", false),
            ("3", false),
        ] {
            assert_eq!(
                reads_content_only(&known, "shop", Some(build)),
                is_meant,
                "{build}"
            );
        }
        assert!(!reads_content_only(&known, "shop", None), "it is of today");
        assert!(!reads_content_only(&known, "shops", Some("2.1")));
    }
}
