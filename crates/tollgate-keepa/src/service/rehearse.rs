//! What a command would send and cost, told without a world: nothing is read, written or asked.

use std::{
    pin::pin,
    sync::Arc,
    task::{Context, Poll, Waker},
};

use serde_json::Value;

use super::{Failure, Outcome, Place, Reuse, Samples, Saved, Shelf, Target, Told, World, dispatch};
use crate::{
    Command, Effect, Error, Kind, Params, client::Failed, request::Request, tool::RUNTIME_ARGUMENTS,
};

/// A dry run of a command that asks Keepa; nothing if its parameters alone do not tell.
pub fn rehearse(command: Command, params: &Params) -> Option<Result<Outcome, Failure>> {
    let elsewhere = || RUNTIME_ARGUMENTS.iter().chain(&["selection_file", "input"]);
    if command.effect() == Effect::Local || elsewhere().any(|name| params.get(&[*name]).is_some()) {
        return None;
    }
    let mut params = params.canonical().clone();
    params.insert("dry_run".to_owned(), Value::Bool(true));
    let params = Params::from(params);
    // A dry run waits for nothing, so it is done when it is first looked at.
    let mut run = pin!(dispatch(&Nowhere, command, &params));
    match run.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(outcome) => Some(outcome),
        Poll::Pending => None,
    }
}

/// A world with nothing in it.
struct Nowhere;

fn nothing() -> Error {
    Error::new(Kind::FileRefused, "a dry run reads and writes nothing")
}

impl World for Nowhere {
    async fn ask(&self, _: &Request, _: Reuse) -> Result<Told, Failed> {
        Err(Failed {
            error: nothing(),
            bucket: None,
        })
    }

    fn load(&self, _: Place<'_>) -> Result<String, Error> {
        Err(nothing())
    }

    fn names(&self, _: Shelf) -> Vec<String> {
        Vec::new()
    }

    fn samples(&self, _: &str) -> Result<Samples, Error> {
        Err(nothing())
    }

    fn save(&self, _: Target<'_>, _: &[u8]) -> Result<Saved, Error> {
        Err(nothing())
    }

    fn recall(&self, _: &str) -> Option<Arc<Value>> {
        None
    }

    fn recalled(&self) -> Vec<String> {
        Vec::new()
    }

    fn now_ms(&self) -> i64 {
        0
    }

    fn has_key(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn told(command: Command, params: Value) -> Outcome {
        rehearse(command, &Params::of(&params)).unwrap().unwrap()
    }

    #[test]
    fn every_question_can_be_rehearsed() {
        let params = json!({
            "asin": ["B0KETTLE01"], "term": "kettle", "category": "289754",
            "seller": "A1SELLER01", "endpoint": "token", "url": "https://example.org/hook",
            "trackings": [{"asin": "B0KETTLE01"}], "commands": ["bestsellers.get"],
        });
        for command in Command::ALL {
            let mut params = params.clone();
            params["selection"] = if *command == Command::DealsQuery {
                json!({"page": 0, "priceTypes": [0]})
            } else {
                json!({"perPage": 50})
            };
            let ran = rehearse(*command, &Params::of(&params));
            if command.effect() == Effect::Local {
                assert!(ran.is_none(), "{}", command.name());
                continue;
            }
            let outcome = ran.unwrap().unwrap();
            assert_eq!(outcome.data["dry_run"], true, "{}", command.name());
            assert_eq!(outcome.request["dry_run"], true, "{}", command.name());
            assert!(outcome.token_bucket["estimated"].is_object());
            assert_eq!(outcome.data["cache_provenance"]["source"], "dry-run");
        }
    }

    #[test]
    fn a_list_of_products_is_planned_with_what_comes_next() {
        let outcome = told(
            Command::CategoriesProducts,
            json!({"category": "289754", "hydrate_top": 3}),
        );
        assert_eq!(outcome.data["view"], "category_products");
        assert_eq!(outcome.data["next_actions"].as_array().unwrap().len(), 2);
        assert_eq!(outcome.data["next_actions"][0]["params"]["yes"], true);
        assert_eq!(outcome.token_bucket["estimated"]["estimated_tokens"], 53);
    }

    #[test]
    fn a_wrong_selection_is_refused_and_a_file_is_left_alone() {
        let wrong = Params::of(&json!({"selection": {"current_SALE_lte": 5}}));
        let failure = rehearse(Command::FinderQuery, &wrong).unwrap().unwrap_err();
        assert_eq!(failure.error.kind, Kind::InvalidArgument);
        let file = Params::of(&json!({"selection_file": "selection.json"}));
        assert!(rehearse(Command::FinderQuery, &file).is_none());
        let later = Params::of(&json!({"resource_uri": "keepa://research/x"}));
        assert!(rehearse(Command::CategoriesProducts, &later).is_none());
    }
}
