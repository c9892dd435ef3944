//! Where sessions end and where they give up, from what was seen of them.

use std::collections::BTreeMap;

use serde::Serialize;

/// What was seen of one session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observed {
    /// The base it walked in.
    pub base: String,
    /// The nodes it was at, in order.
    pub path: Vec<String>,
    /// How it stands.
    pub ending: Ending,
    /// The nodes at which words were not understood, once for each time.
    pub misheard: Vec<String>,
}

/// How a session stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// It came to an end.
    Complete,
    /// Nobody has gone on with it for a while.
    GaveUp,
    /// It may go on.
    Running,
}

/// What sessions of one base did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The base.
    pub knowledge_base: String,
    /// How many sessions there were.
    pub sessions: u64,
    /// How many came to an end.
    pub complete: u64,
    /// How many gave up.
    pub gave_up: u64,
    /// How many may go on.
    pub running: u64,
    /// Steps of all of them.
    pub steps: u64,
    /// The nodes, those where the most gave up first.
    pub nodes: Vec<NodeReport>,
}

/// What happened at one node.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct NodeReport {
    /// Its id.
    pub node: String,
    /// Sessions that were here.
    pub sessions: u64,
    /// Sessions that began here.
    pub began: u64,
    /// Sessions that ended here.
    pub ended: u64,
    /// Sessions that gave up here.
    pub gave_up: u64,
    /// How often words were not understood here.
    pub not_understood: u64,
}

impl Report {
    /// A report for each base, in the order of their names.
    pub fn of(sessions: &[Observed]) -> Vec<Self> {
        let mut reports: BTreeMap<&str, (Self, BTreeMap<&str, NodeReport>)> = BTreeMap::new();
        for session in sessions {
            let (report, nodes) = reports.entry(&session.base).or_default();
            report.sessions += 1;
            report.steps += session.path.len().saturating_sub(1) as u64;
            let mut seen: Vec<&str> = session.path.iter().map(String::as_str).collect();
            let (first, last) = (seen.first().copied(), seen.last().copied());
            seen.sort_unstable();
            seen.dedup();
            for node in seen {
                nodes.entry(node).or_default().sessions += 1;
            }
            if let Some(first) = first {
                nodes.entry(first).or_default().began += 1;
            }
            for node in &session.misheard {
                nodes.entry(node).or_default().not_understood += 1;
            }
            let at_last = last.map(|node| nodes.entry(node).or_default());
            let (count, here) = match session.ending {
                Ending::Complete => (&mut report.complete, at_last.map(|node| &mut node.ended)),
                Ending::GaveUp => (&mut report.gave_up, at_last.map(|node| &mut node.gave_up)),
                Ending::Running => (&mut report.running, None),
            };
            *count += 1;
            if let Some(here) = here {
                *here += 1;
            }
        }
        let finished = |(base, (report, nodes)): (&str, (Self, BTreeMap<&str, NodeReport>))| {
            let named = nodes.into_iter().map(|(name, node)| NodeReport {
                node: name.to_owned(),
                ..node
            });
            let mut nodes: Vec<NodeReport> = named.collect();
            nodes.sort_by(|a, b| {
                let worst = |node: &NodeReport| (node.gave_up, node.not_understood, node.sessions);
                worst(b).cmp(&worst(a)).then(a.node.cmp(&b.node))
            });
            Self {
                knowledge_base: base.to_owned(),
                nodes,
                ..report
            }
        };
        reports.into_iter().map(finished).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(path: &[&str], ending: Ending, misheard: &[&str]) -> Observed {
        let owned = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
        Observed {
            base: "k".to_owned(),
            path: owned(path),
            ending,
            misheard: owned(misheard),
        }
    }

    #[test]
    fn sessions_are_counted_where_they_were() {
        let sessions = [
            session(&["root", "a", "root", "b"], Ending::Complete, &[]),
            session(&["root", "a"], Ending::GaveUp, &["a", "a"]),
            session(&["a"], Ending::GaveUp, &[]),
            session(&["root"], Ending::Running, &[]),
        ];
        let reports = Report::of(&sessions);
        let [report] = reports.as_slice() else {
            panic!("{reports:?}");
        };
        let counts = (
            report.sessions,
            report.complete,
            report.gave_up,
            report.running,
        );
        assert_eq!((counts, report.steps), ((4, 1, 2, 1), 4));
        let first = &report.nodes[0];
        assert_eq!((first.node.as_str(), first.sessions), ("a", 3));
        assert_eq!((first.began, first.ended, first.gave_up), (1, 0, 2));
        assert_eq!(first.not_understood, 2);
        let root = &report.nodes[1];
        assert_eq!(
            (root.node.as_str(), root.sessions, root.began),
            ("root", 3, 3)
        );
    }
}
