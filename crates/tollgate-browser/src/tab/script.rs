//! Our own scripts in a page, and the caller's.
//!
//! Ours run in a world apart: they see the page's elements and none of its changes to the
//! language, so a page cannot lie to them with functions of its own.

use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::Tab;
use crate::{
    error::{Error, unless_gone},
    protocol::commands::{Argument, Call, Evaluate, Evaluated},
};

/// Notes when elements came or went, and which fields for passwords were turned into others that
/// show what they hold; begins with every document. Nothing tells of a shadow tree that begins,
/// so open ones are looked for when the document is there and when somebody asks.
pub(crate) const WATCHER: &str = "globalThis.tollgate ??= (() => { \
    const seen = { at: performance.now() }, known = new WeakSet(); \
    const changed = () => { seen.at = performance.now(); }; \
    const observer = new MutationObserver(changed); \
    seen.turned = []; \
    const turns = new MutationObserver((all) => { for (const { target, oldValue } of all) \
        if (/^password$/i.test(oldValue ?? '') && !seen.turned.includes(target) && seen.turned.length < 100) \
            seen.turned.push(target); }); \
    const watch = (root) => { observer.observe(root, { childList: true, subtree: true }); \
        turns.observe(root, { attributeFilter: ['type'], attributeOldValue: true, subtree: true }); }; \
    seen.look = (root) => { \
        for (const one of root.querySelectorAll('*')) { \
            const inner = one.shadowRoot; \
            if (!inner) continue; \
            if (!known.has(inner)) { known.add(inner); watch(inner); changed(); } \
            seen.look(inner); \
        } }; \
    watch(document); \
    for (const when of ['DOMContentLoaded', 'load']) \
        addEventListener(when, () => seen.look(document), { once: true }); \
    return seen; })();";

/// How long ago an element came or went, in milliseconds. In a frame that is not drawn nothing
/// does that anybody could notice.
const QUIET: &str = "(wanted) => { \
    const seen = globalThis.tollgate; \
    if (!seen || (globalThis !== top && !(innerWidth && innerHeight))) return 1e9; \
    if (performance.now() - seen.at >= wanted) seen.look(document); \
    return performance.now() - seen.at; }";

/// How long a frame may take to say whether it rests.
const FRAME: Duration = Duration::from_secs(2);

impl Tab {
    /// Runs one of our functions in the main frame.
    pub(crate) async fn run<T: DeserializeOwned>(
        &self,
        function: &str,
        arguments: Vec<Value>,
    ) -> Result<T, Error> {
        let frame = self.lock().main_frame.clone();
        self.run_in(&self.session, frame, function, arguments).await
    }

    /// Runs one of our functions in a frame.
    pub(crate) async fn run_in<T: DeserializeOwned>(
        &self,
        session: &str,
        frame: String,
        function: &str,
        arguments: Vec<Value>,
    ) -> Result<T, Error> {
        let arguments = arguments.into_iter().map(Argument::Value).collect();
        self.run_with(session, &frame, function, arguments).await
    }

    /// The same with things of the page among the arguments.
    pub(crate) async fn run_with<T: DeserializeOwned>(
        &self,
        session: &str,
        frame: &str,
        function: &str,
        arguments: Vec<Argument>,
    ) -> Result<T, Error> {
        let world = self.world(session, frame).await?;
        let call = Call {
            function_declaration: function.to_owned(),
            arguments,
            await_promise: true,
            return_by_value: true,
            execution_context_id: Some(world),
            ..Call::default()
        };
        let answer = self.ask_in(session, &call, super::PATIENCE).await?;
        read(answer)
    }

    /// The element that one of our functions gives, if it gives one.
    pub(crate) async fn object_in(
        &self,
        session: &str,
        frame: &str,
        function: &str,
        argument: Value,
    ) -> Result<Option<String>, Error> {
        let world = self.world(session, frame).await?;
        let call = Call {
            function_declaration: function.to_owned(),
            arguments: vec![Argument::Value(argument)],
            execution_context_id: Some(world),
            ..Call::default()
        };
        let answer = self.ask_in(session, &call, super::PATIENCE).await?;
        match answer.exception_details {
            Some(why) => Err(Error::Invalid(why.said())),
            None => Ok(answer.result.object_id),
        }
    }

    /// Runs one of our functions on an element, in the world that the element was found in.
    pub(crate) async fn run_on<T: DeserializeOwned>(
        &self,
        session: &str,
        object: &str,
        function: &str,
        arguments: Vec<Value>,
    ) -> Result<T, Error> {
        let call = Call {
            function_declaration: function.to_owned(),
            arguments: arguments.into_iter().map(Argument::Value).collect(),
            await_promise: true,
            return_by_value: true,
            object_id: Some(object.to_owned()),
            user_gesture: Some(true),
            ..Call::default()
        };
        read(self.ask_in(session, &call, super::PATIENCE).await?)
    }

    /// Its title.
    pub async fn title(&self) -> Result<String, Error> {
        self.run("() => document.title.slice(0, 500)", Vec::new())
            .await
    }

    /// How long no element came or went, in any frame; `wanted` is all that matters.
    pub(crate) async fn quiet_for(&self, wanted: Duration) -> Result<Duration, Error> {
        let arguments = || vec![json!(wanted.as_millis())];
        let mut least: f64 = self.run(QUIET, arguments()).await?;
        let main = self.lock().main_frame.clone();
        for (session, frames) in self.conversations() {
            for frame in frames {
                if frame == main || least < wanted.as_secs_f64() * 1000.0 {
                    continue;
                }
                let asked = self.run_in::<f64>(&session, frame, QUIET, arguments());
                match timeout(FRAME, asked).await {
                    Ok(quiet) => least = unless_gone(quiet)?.unwrap_or(least).min(least),
                    // What computes without end does not rest.
                    Err(_) => least = 0.0,
                }
            }
        }
        Ok(Duration::from_millis(least.clamp(0.0, 1e9) as u64))
    }

    /// Runs a caller's script in the page's own world and gives what it comes to.
    pub async fn execute(&self, script: &str, patience: Duration) -> Result<Value, Error> {
        let first = self.evaluate(script.to_owned(), patience).await?;
        let answer = match &first.exception_details {
            // A script of statements with a `return`, or one that declares a name again.
            Some(why)
                if ["Illegal return", "has already been declared"]
                    .iter()
                    .any(|it| why.said().contains(it)) =>
            {
                let wrapped = format!("(async () => {{\n{script}\n}})()");
                self.evaluate(wrapped, patience).await?
            }
            Some(why) if why.said().contains("await is only valid") => {
                let top = Evaluate {
                    repl_mode: Some(true),
                    ..evaluated(script.to_owned(), patience)
                };
                self.evaluate_as(top, patience).await?
            }
            Some(_) | None => first,
        };
        if let Some(why) = answer.exception_details {
            return Err(Error::Script(why.said()));
        }
        let result = answer.result;
        Ok(result
            .value
            .or(result.unserializable_value.map(Value::String))
            .unwrap_or(Value::Null))
    }

    async fn evaluate(&self, expression: String, patience: Duration) -> Result<Evaluated, Error> {
        self.evaluate_as(evaluated(expression, patience), patience)
            .await
    }

    async fn evaluate_as(
        &self,
        evaluate: Evaluate,
        patience: Duration,
    ) -> Result<Evaluated, Error> {
        // The browser ends a script that computes for ever; one that waits for ever is left.
        let more = patience + Duration::from_secs(2);
        let answer = self.ask_in(&self.session, &evaluate, more).await;
        match answer {
            Err(Error::Timeout(_)) => {
                Err(Error::Script("the script did not end in time".to_owned()))
            }
            // Chromium's words for a script that it ended.
            Err(Error::Protocol(why)) if why.contains("Internal error") => Err(Error::Script(
                "the script did not end in time and was stopped".to_owned(),
            )),
            Err(Error::Protocol(why)) => Err(Error::Script(why)),
            Ok(_) | Err(_) => answer,
        }
    }
}

fn evaluated(expression: String, patience: Duration) -> Evaluate {
    Evaluate {
        expression,
        await_promise: true,
        return_by_value: true,
        timeout: Some(patience.as_secs_f64() * 1000.0),
        ..Evaluate::default()
    }
}

fn read<T: DeserializeOwned>(answer: Evaluated) -> Result<T, Error> {
    if let Some(why) = answer.exception_details {
        return Err(Error::Script(why.said()));
    }
    let value = answer.result.value.unwrap_or(Value::Null);
    serde_json::from_value(value).map_err(|error| Error::Protocol(error.to_string()))
}
