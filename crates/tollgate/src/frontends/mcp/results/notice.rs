//! The last text block of a result: what a model has to know of a call beside its answer.
//!
//! Invariant: it is at most [`MOST`] bytes, and nothing where there is nothing to say.

use tollgate_core::{
    Envelope, Status, Warning,
    print::{self, ObjectText, Print},
};

/// The most bytes that are added to what a model reads.
pub(in super::super) const MOST: usize = 200;

/// What is to be said, as compact JSON. That a call failed is said by `isError` already.
pub(super) fn of(envelope: &Envelope) -> Option<String> {
    let status = match envelope.status {
        Status::Ok | Status::Error => None,
        status @ (Status::Degraded | Status::Empty) => Some(status),
    };
    let tainted = envelope.meta.tainted;
    if status.is_none() && envelope.warnings.is_empty() && !tainted {
        return None;
    }
    let shown = |warnings| {
        let notice = Notice {
            status,
            warnings: &envelope.warnings,
            shown: warnings,
            tainted,
        };
        print::printed(&notice, MOST)
    };
    let fitting = (0..=envelope.warnings.len()).rev().map(shown);
    let mut fitting = fitting.filter(|text| text.len() <= MOST);
    fitting.next()
}

struct Notice<'a> {
    status: Option<Status>,
    warnings: &'a [Warning],
    /// How many of them have room.
    shown: usize,
    tainted: bool,
}

impl Print for Notice<'_> {
    fn print(&self, object: &mut ObjectText<'_>) {
        object.some_text("status", self.status.map(Status::as_str));
        let (shown, more) = self.warnings.split_at(self.shown);
        if !shown.is_empty() {
            object.texts("warnings", shown.iter().map(|it| it.as_str()));
        }
        if let Ok(more @ 1..) = u64::try_from(more.len()) {
            object.number("more_warnings", more);
        }
        if self.tainted {
            object.flag("tainted", true);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use tollgate_core::envelope::Meta;

    use super::*;

    fn envelope(status: Status, warnings: Vec<Warning>, tainted: bool) -> Envelope {
        Envelope {
            ok: status != Status::Error,
            status,
            tool: "shop.find".to_owned(),
            command: None,
            data: None,
            warnings,
            error: None,
            request: None,
            token_bucket: None,
            cache_key: None,
            cache_hit: false,
            budget_ledger: tollgate_core::BudgetLedger::default(),
            meta: Meta {
                tainted,
                ..Meta::default()
            },
        }
    }

    #[test]
    fn a_plain_success_and_a_failure_add_nothing() {
        assert_eq!(of(&envelope(Status::Ok, Vec::new(), false)), None);
        assert_eq!(of(&envelope(Status::Error, Vec::new(), false)), None);
    }

    #[test]
    fn a_notice_says_status_warnings_and_taint() {
        let all = envelope(Status::Degraded, vec![Warning::TruncatedOutput], true);
        let said: Value = serde_json::from_str(&of(&all).unwrap()).unwrap();
        let expected =
            json!({"status": "degraded", "warnings": ["truncated_output"], "tainted": true});
        assert_eq!(said, expected);
    }

    #[test]
    fn every_warning_there_is_has_no_room_and_is_counted() {
        let all = Warning::ALL.to_vec();
        let said = of(&envelope(Status::Degraded, all.clone(), true)).unwrap();
        assert!(said.len() <= MOST, "{said}");
        let said: Value = serde_json::from_str(&said).unwrap();
        let shown = said["warnings"].as_array().unwrap().len();
        assert!(shown > 2);
        assert_eq!(said["more_warnings"], all.len() - shown);
    }
}
