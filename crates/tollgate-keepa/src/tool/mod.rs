//! What agents may call: which arguments each command takes, where it is listed, and in which profiles it may run.
//!
//! One line per tool and one per argument. Schemas, the command line and the checks of profiles all follow from here, so
//! none of them can know an argument the others do not.

mod argument;
mod output;
mod table;

use std::collections::BTreeSet;

use serde_json::{Value, json};

pub use argument::{argument, argument_of};
pub use output::output;
pub use table::{TOOLS, about, arguments, bare};

use argument::{arguments_of, runtime, schema};

use crate::Command;

/// The version of the tools' schemas; it changes when an argument or an answer does.
pub const VERSION: &str = "2026-05-11.1";

/// How a session works: what may run in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// Nothing leaves this machine: samples and what is made here.
    OfflineFixtureOnly,
    /// Questions are priced, not asked.
    DryRunDefault,
    /// Questions that only read may be asked.
    LiveReadAllowed,
    /// Trackings may be read.
    TrackingReadonly,
    /// Answers may be made into samples.
    FixtureCuration,
}

impl Profile {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::OfflineFixtureOnly,
        Self::DryRunDefault,
        Self::LiveReadAllowed,
        Self::TrackingReadonly,
        Self::FixtureCuration,
    ];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::OfflineFixtureOnly => "offline_fixture_only",
            Self::DryRunDefault => "dry_run_default",
            Self::LiveReadAllowed => "live_read_allowed",
            Self::TrackingReadonly => "tracking_readonly",
            Self::FixtureCuration => "fixture_curation",
        }
    }

    /// What it is for.
    pub const fn about(self) -> &'static str {
        match self {
            Self::OfflineFixtureOnly => "samples and local work only",
            Self::DryRunDefault => "prices are looked at before anything is asked",
            Self::LiveReadAllowed => "everything that only reads",
            Self::TrackingReadonly => "trackings are read, never changed",
            Self::FixtureCuration => "answers are cleaned and made into samples",
        }
    }

    /// The profile with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name() == name)
    }
}

/// What a profile lets a tool do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leave {
    /// It runs.
    Runs,
    /// It runs on a sample or as a dry run.
    OnSamples,
    /// It does not run.
    Off,
}

/// One tool.
#[derive(Clone, Copy, Debug)]
pub struct Tool {
    /// The command it runs.
    pub command: Command,
    /// A title for people.
    pub title: &'static str,
    /// What it does, when to use it, what comes back.
    pub about: &'static str,
    /// The sets it is listed in, between blanks.
    pub groups: &'static str,
    /// Its arguments, between blanks; `*` marks those that must be there.
    pub arguments: &'static str,
    /// Whether it takes the results of earlier steps.
    pub takes_results: bool,
    /// The profiles it runs in, as letters: o, d, l, t, f.
    profiles: &'static str,
}

/// Arguments by which earlier results are handed on.
pub const RUNTIME_ARGUMENTS: [&str; 6] = [
    "artifact",
    "artifacts",
    "resource_uri",
    "resource_uris",
    "workflow_inputs",
    "workflow_context",
];

impl Tool {
    /// The name agents call it by.
    pub fn name(&self) -> String {
        format!("keepa.{}", self.command.tool().unwrap_or_default())
    }

    /// The tool of a command or a name, with the prefix or without.
    pub fn named(name: &str) -> Option<&'static Self> {
        let bare = name.strip_prefix("keepa.").unwrap_or(name);
        TOOLS
            .iter()
            .find(|tool| tool.command.tool() == Some(bare) || tool.command.name() == name)
    }

    /// The tool of a command, if agents may call it.
    pub fn of(command: Command) -> Option<&'static Self> {
        TOOLS.iter().find(|tool| tool.command == command)
    }

    /// The sets it is listed in.
    pub fn sets(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.groups.split_whitespace()
    }

    /// Whether a profile is made for it.
    fn is_listed(&self, profile: Profile) -> bool {
        let letter = match profile {
            Profile::OfflineFixtureOnly => 'o',
            Profile::DryRunDefault => 'd',
            Profile::LiveReadAllowed => 'l',
            Profile::TrackingReadonly => 't',
            Profile::FixtureCuration => 'f',
        };
        self.profiles.contains(letter)
    }

    /// What a call in a profile may do. Samples and dry runs of what only reads are open to the offline ones.
    pub fn leave(&self, profile: Profile) -> Leave {
        let is_offline = matches!(
            profile,
            Profile::OfflineFixtureOnly | Profile::DryRunDefault
        );
        let is_tracking = self.groups == "tracking-readonly";
        let asks = self.command.effect() == crate::Effect::Read;
        match (self.is_listed(profile), is_offline && asks) {
            (true, true) => Leave::OnSamples,
            (true, false) => Leave::Runs,
            (false, true) if !is_tracking => Leave::OnSamples,
            (false, _) => Leave::Off,
        }
    }

    /// Whether it can be used in a profile at all, be it on samples only: what lists mark, plans count on and the gate lets
    /// through.
    pub fn is_active(&self, profile: Profile) -> bool {
        self.leave(profile) != Leave::Off
    }

    /// Its arguments: name, and whether it must be there.
    pub fn takes(&self) -> impl Iterator<Item = (&'static str, bool)> + use<> {
        arguments_of(self.arguments)
    }

    /// The schema of its arguments.
    pub fn schema(&self) -> Value {
        let mut schema = schema(self.command, self.arguments);
        if let Some(properties) = schema["properties"].as_object_mut() {
            if self.takes_results {
                for name in RUNTIME_ARGUMENTS {
                    properties.insert(name.to_owned(), runtime(name));
                }
            }
            let names: Vec<&str> = Profile::ALL.iter().map(|one| one.name()).collect();
            properties.insert("profile".to_owned(), json!({"enum": names}));
        }
        // What must be there may come from an earlier result instead.
        if self.takes_results
            && let Some(map) = schema.as_object_mut()
        {
            map.shift_remove("required");
        }
        schema
    }
}

/// The schema of a command's arguments, whether agents may call it or not.
pub fn input(command: Command) -> Value {
    match Tool::of(command) {
        Some(tool) => tool.schema(),
        None => schema(command, arguments(command)),
    }
}

/// Which names of arguments may also be written with dashes.
///
/// Looked up and not worked out: a caller may send as many names as an argument's size allows.
#[derive(Clone, Debug)]
pub struct Spelling(BTreeSet<String>);

impl Spelling {
    /// That of a command's arguments, by their schema.
    pub fn of(input: &Value) -> Self {
        let names = input["properties"].as_object().into_iter().flatten();
        Self(names.map(|(name, _)| name.clone()).collect())
    }

    /// The name the command knows an argument by, if this is its spelling with dashes.
    pub fn own(&self, name: &str) -> Option<String> {
        if !name.contains('-') {
            return None;
        }
        let plain = name.replace('-', "_");
        self.0.contains(&plain).then_some(plain)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_of_a_command_is_here_once_and_every_argument_is_described() {
        let with_tools = Command::ALL.iter().filter(|one| one.tool().is_some());
        for command in with_tools {
            let found = TOOLS.iter().filter(|tool| tool.command == *command);
            assert_eq!(found.count(), 1, "{}", command.name());
        }
        assert_eq!(TOOLS.len(), 28);
        for command in Command::ALL {
            assert!(about(*command).ends_with('.'), "{}", command.name());
            for (name, _) in arguments_of(arguments(*command)) {
                assert_ne!(argument(name), json!({}), "{name} of {}", command.name());
            }
        }
    }

    #[test]
    fn every_name_with_a_blank_may_have_a_dash() {
        for command in Command::ALL {
            let spelling = Spelling::of(&input(*command));
            for (name, _) in arguments_of(arguments(*command)) {
                let dashed = name.replace('_', "-");
                let expected = (dashed != name).then(|| name.to_owned());
                assert_eq!(spelling.own(&dashed), expected);
                assert_eq!(spelling.own(name), None);
            }
        }
        let spelling = Spelling::of(&input(Command::ProductsGet));
        let known = |name| spelling.own(name);
        assert_eq!(
            known("cache-ttl-seconds").as_deref(),
            Some("cache_ttl_seconds")
        );
        assert_eq!(known("resource-uri").as_deref(), Some("resource_uri"));
        assert_eq!((known("per-page"), known("out-dir")), (None, None));
    }

    #[test]
    fn sets_have_their_published_sizes() {
        let size = |set: &str| {
            TOOLS
                .iter()
                .filter(|tool| tool.sets().any(|one| one == set))
                .count()
        };
        let sets = ["research", "audit", "docs", "reports", "tracking-readonly"];
        assert_eq!(sets.map(size), [18, 4, 4, 4, 5]);
    }

    #[test]
    fn profiles_close_what_they_are_not_for() {
        let leave = |name: &str, profile| Tool::named(name).unwrap().leave(profile);
        let get = Tool::named("products_get").unwrap();
        assert!(
            !get.is_listed(Profile::OfflineFixtureOnly)
                && get.is_active(Profile::OfflineFixtureOnly)
        );
        assert!(get.is_listed(Profile::LiveReadAllowed));
        assert_eq!(
            leave("keepa.products_get", Profile::OfflineFixtureOnly),
            Leave::OnSamples
        );
        assert_eq!(leave("products_get", Profile::LiveReadAllowed), Leave::Runs);
        assert_eq!(leave("products.get", Profile::TrackingReadonly), Leave::Off);
        assert_eq!(
            leave("tracking_list", Profile::TrackingReadonly),
            Leave::Runs
        );
        assert_eq!(
            leave("workflow_plan", Profile::OfflineFixtureOnly),
            Leave::Runs
        );
        assert_eq!(
            leave("cassettes_promote", Profile::DryRunDefault),
            Leave::Off
        );
    }
}
