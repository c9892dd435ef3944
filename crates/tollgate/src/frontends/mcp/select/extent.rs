//! How much a list holds: what a client asks for, or what fits.
//!
//! Invariant: a list that nobody asked for holds the tools of other servers and the toolsets of the configuration only
//! while they are short enough; what finds, describes and calls tools is on every list.

use tollgate_core::ToolSpec;

use super::{ALL, Selection};
use crate::config::{DiscoveryMode, Schemas};

/// The toolsets that every list holds: search, describe and call, and guided sessions,
/// whose tools exist only where there is knowledge.
const ALWAYS: [&str; 2] = ["discovery", "knowledge"];
/// The tools that lead to runs; they are listed unless a client asks for toolsets.
const RUNS: [&str; 2] = ["list_task_templates", "run_task_template"];
/// The toolset of every tool of `mcp.servers`.
const SERVERS: &str = "mcp";
/// How many bytes are counted as a token.
const TOKEN_BYTES: usize = 4;

impl Selection {
    /// What a list may hold.
    pub(in super::super) fn extents(&self, mode: DiscoveryMode, tokens: usize) -> Extents<'_> {
        let brief = self.schemas == Some(Schemas::Brief);
        let of = |toolsets| Extent {
            toolsets,
            everything: false,
            servers: false,
            runs: true,
            brief,
            bytes: None,
        };
        if let Some(asked) = &self.toolsets {
            return Extents::just(Extent {
                runs: false,
                ..of(asked)
            });
        }
        let forms: &[bool] = match self.schemas {
            Some(Schemas::Brief) => &[true],
            Some(Schemas::Full) => &[false],
            Some(Schemas::Auto) | None => &[false, true],
        };
        let configured = |servers, brief| Extent {
            servers,
            brief,
            bytes: Some(tokens.saturating_mul(TOKEN_BYTES)),
            ..of(&self.configured)
        };
        let both = [true, false].into_iter();
        let each = both.flat_map(|servers| forms.iter().map(move |brief| (servers, *brief)));
        match mode {
            DiscoveryMode::Search => Extents::just(of(&[])),
            DiscoveryMode::List => Extents::just(Extent {
                everything: true,
                servers: true,
                ..of(&self.configured)
            }),
            DiscoveryMode::Auto => Extents {
                wider: each
                    .map(|(servers, brief)| configured(servers, brief))
                    .collect(),
                least: of(&[]),
            },
        }
    }
}

/// What a list may hold, from the most to the least: the first that fits is shown.
pub(in super::super) struct Extents<'a> {
    pub(in super::super) wider: Vec<Extent<'a>>,
    /// What is shown if nothing else fits.
    pub(in super::super) least: Extent<'a>,
}

impl<'a> Extents<'a> {
    fn just(least: Extent<'a>) -> Self {
        Self {
            wider: Vec::new(),
            least,
        }
    }
}

/// How much a list holds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in super::super) struct Extent<'a> {
    pub(super) toolsets: &'a [String],
    /// Whether every tool is listed that need not be asked for by its toolset.
    everything: bool,
    /// Whether the tools of other servers are listed.
    pub(super) servers: bool,
    /// Whether the tools that lead to runs are listed.
    runs: bool,
    /// Whether only the least of each tool is shown.
    pub(in super::super) brief: bool,
    /// The longest such list.
    bytes: Option<usize>,
}

impl Extent<'_> {
    pub(super) fn holds(&self, spec: &ToolSpec) -> bool {
        let is_in = |set: &String| {
            self.toolsets.contains(set)
                || ALWAYS.contains(&set.as_str())
                || self.servers && set == SERVERS
        };
        let all = self.everything || self.toolsets.iter().any(|set| set == ALL);
        spec.toolsets.iter().any(is_in)
            || all && !spec.requires_explicit_toolset
            || self.runs && RUNS.contains(&spec.name.as_str())
    }

    /// Whether a list of this many bytes, counting what a model reads of it, is short enough.
    pub(in super::super) fn fits(&self, bytes: usize) -> bool {
        self.bytes.is_none_or(|most| bytes <= most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_that_is_too_long_gives_up_descriptions_then_servers_then_toolsets() {
        let selection = Selection {
            configured: vec!["research".to_owned()],
            schemas: Some(Schemas::Auto),
            ..Selection::default()
        };
        let steps = |mode| {
            let Extents { wider, least } = selection.extents(mode, 10);
            let step = |it: &Extent<'_>| (it.servers, it.toolsets.len(), it.brief, it.fits(41));
            wider.iter().chain([&least]).map(step).collect::<Vec<_>>()
        };
        let auto = [
            (true, 1, false, false),
            (true, 1, true, false),
            (false, 1, false, false),
            (false, 1, true, false),
            (false, 0, false, true),
        ];
        assert_eq!(steps(DiscoveryMode::Auto), auto);
        assert_eq!(steps(DiscoveryMode::Search), [(false, 0, false, true)]);
        assert_eq!(steps(DiscoveryMode::List), [(true, 1, false, true)]);
        let asked = Selection {
            toolsets: Some(vec!["gate".to_owned()]),
            ..selection.clone()
        };
        assert!(asked.extents(DiscoveryMode::Auto, 0).wider.is_empty());
    }
}
