//! The tree of Keepa's commands, made from the pack's own table: what can be typed is what the tools take.

use clap::{
    Arg, ArgAction, ArgMatches, Command as Clap, Error, FromArgMatches, Subcommand,
    builder::PossibleValuesParser, error::ErrorKind,
};
use serde_json::{Map, Value};
use tollgate_keepa::{Command, tool};

/// Flags that every command of the program has.
const GLOBAL: [&str; 1] = ["profile"];

/// What was typed after `tollgate keepa`.
#[derive(Debug, Clone)]
pub(crate) enum Typed {
    /// A command and its parameters.
    Run(Command, Map<String, Value>),
    /// `eval`.
    Eval {
        folder: String,
        fixtures: Option<String>,
        prefix: String,
    },
}

/// The words of a command, as they are typed.
fn words(command: Command) -> Vec<String> {
    command
        .name()
        .split('.')
        .map(|word| word.replace('_', "-"))
        .collect()
}

fn is_switch(schema: &Value) -> bool {
    schema["type"] == "boolean"
}

fn takes_many(schema: &Value) -> bool {
    schema["type"]
        .as_array()
        .is_some_and(|kinds| kinds.iter().any(|kind| kind == "array"))
        || schema["type"] == "array"
}

fn names(command: Command) -> impl Iterator<Item = &'static str> {
    tool::arguments(command)
        .split_whitespace()
        .map(|word| word.trim_end_matches('*'))
        .filter(|name| !GLOBAL.contains(name))
}

/// The words an argument chooses from, if it does.
fn choices(schema: &Value) -> Option<Vec<String>> {
    let all = schema["enum"].as_array()?.iter().filter_map(Value::as_str);
    Some(all.map(str::to_owned).collect())
}

fn argument(command: Command, name: &'static str, is_bare: bool) -> Arg {
    let schema = tool::argument_of(command, name);
    let about = schema["description"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    let mut arg = Arg::new(name).help(about);
    if let Some(words) = choices(&schema) {
        arg = arg.value_parser(PossibleValuesParser::new(words));
    }
    if is_bare {
        let arg = arg.value_name(name.to_uppercase());
        return if takes_many(&schema) {
            arg.num_args(0..).action(ArgAction::Append)
        } else {
            arg
        };
    }
    let arg = arg.long(name.replace('_', "-"));
    if is_switch(&schema) {
        return arg.action(ArgAction::SetTrue);
    }
    if name == "from_cache" {
        return arg
            .num_args(0..=1)
            .default_missing_value("true")
            .value_name("KEY");
    }
    let arg = arg.value_name("VALUE").allow_hyphen_values(true);
    if takes_many(&schema) {
        arg.action(ArgAction::Append)
    } else {
        arg
    }
}

fn leaf(command: Command, word: &str) -> Clap {
    let about = tool::about(command);
    let first = about.split(". ").next().unwrap_or(about);
    let bare = tool::bare(command);
    let mut clap = Clap::new(word.to_owned())
        .about(first.trim_end_matches('.'))
        .long_about(about);
    for name in names(command) {
        clap = clap.arg(argument(command, name, bare == Some(name)));
    }
    clap
}

/// What commands that begin with the same words are about.
fn group(words: &str) -> String {
    let about = match words {
        "products" => "Read, compare and search products",
        "categories" => "Find categories and what is in them",
        "finder" => "Search products by figures",
        "deals" => "Find price drops",
        "sellers" => "Read sellers and their storefronts",
        "bestsellers" => "Read lists of best sellers",
        "topsellers" => "Read the largest sellers",
        "lightningdeals" => "Read lightning deals",
        "graphs" => "Fetch Keepa's own pictures",
        "charts" => "Draw histories",
        "history" => "Histories as rows and trends",
        "tokens" => "The balance, and what plans cost",
        "tracking" => "Read and change trackings",
        "workflow" => "Plan a piece of research",
        "research-graph" => "Merge graphs",
        "research-brief" => "Write a brief to hand on",
        "docs" => "What can be read here",
        "context" => "What may be done here",
        "research" => "Find out what is meant and what is here about it",
        "audit" => "Price commands",
        "cassettes" => "Make recordings into samples",
        "reports" => "Reports of earlier results",
        "browse" => "A page to look at",
        "request" => "Plain requests",
        "batch" => "Files of ASINs",
        "templates" => "Parameters to begin with",
        "schema" => "Schemas of commands",
        "domains" => "The marketplaces",
        "cache" => "Answers that are kept",
        _ => "",
    };
    if about.is_empty() {
        format!("Commands of `{words}`")
    } else {
        about.to_owned()
    }
}

/// Adds commands whose first words are `path` below a node.
fn below(mut node: Clap, path: &[String]) -> Clap {
    let mut seen: Vec<String> = Vec::new();
    for command in Command::ALL {
        let words = words(*command);
        let Some(next) = words.get(path.len()).filter(|_| words.starts_with(path)) else {
            continue;
        };
        if seen.contains(next) {
            continue;
        }
        seen.push(next.clone());
        let mut inner = path.to_vec();
        inner.push(next.clone());
        node = node.subcommand(if inner.len() == words.len() {
            leaf(*command, next)
        } else {
            let group = Clap::new(next.clone()).about(group(&inner.join(" ")));
            below(
                group.subcommand_required(true).arg_required_else_help(true),
                &inner,
            )
        });
    }
    node
}

fn eval() -> Clap {
    Clap::new("eval")
        .about("Run acceptance specs offline and say which hold")
        .arg(
            Arg::new("folder")
                .required(true)
                .value_name("DIR")
                .help("Folder with specs"),
        )
        .arg(
            Arg::new("fixtures")
                .long("fixtures")
                .value_name("DIR")
                .help("Folder with samples, searched before those that come along"),
        )
        .arg(
            Arg::new("prefix")
                .long("prefix")
                .value_name("TEXT")
                .default_value("")
                .help("What the specs leave out before the names of tools"),
        )
}

impl Subcommand for Typed {
    /// The tree is only made when somebody asks for it.
    fn augment_subcommands(node: Clap) -> Clap {
        node.defer(|node| {
            let plan = leaf(Command::WorkflowPlan, "plan");
            let node = node.subcommand_required(true).arg_required_else_help(true);
            below(node, &[]).subcommand(plan).subcommand(eval())
        })
    }

    fn augment_subcommands_for_update(node: Clap) -> Clap {
        Self::augment_subcommands(node)
    }

    fn has_subcommand(name: &str) -> bool {
        name == "eval" || name == "plan" || Command::ALL.iter().any(|one| words(*one)[0] == name)
    }
}

impl FromArgMatches for Typed {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let mut path = Vec::new();
        let mut here = matches;
        while let Some((word, inner)) = here.subcommand() {
            path.push(word.to_owned());
            here = inner;
        }
        let text = |name: &str| here.get_one::<String>(name).cloned();
        if path == ["eval"] {
            return Ok(Self::Eval {
                folder: text("folder").unwrap_or_default(),
                fixtures: text("fixtures"),
                prefix: text("prefix").unwrap_or_default(),
            });
        }
        let command = if path == ["plan"] {
            Some(Command::WorkflowPlan)
        } else {
            Command::ALL.iter().copied().find(|one| words(*one) == path)
        };
        let Some(command) = command else {
            let message = format!("there is no command {:?}\n", path.join(" "));
            return Err(Error::raw(ErrorKind::InvalidSubcommand, message));
        };
        let mut params = Map::new();
        for name in names(command) {
            if let Some(value) = value(command, name, here)? {
                params.insert(name.to_owned(), value);
            }
        }
        Ok(Self::Run(command, params))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// What was typed for an argument, as the tool takes it.
fn value(command: Command, name: &str, matches: &ArgMatches) -> Result<Option<Value>, Error> {
    let schema = tool::argument_of(command, name);
    if is_switch(&schema) {
        return Ok(matches.get_flag(name).then_some(Value::Bool(true)));
    }
    let Some(texts) = matches.get_many::<String>(name) else {
        return Ok(None);
    };
    let texts: Vec<&String> = texts.collect();
    let kinds = schema["type"].as_array().cloned();
    let kinds = kinds.unwrap_or_else(|| vec![schema["type"].clone()]);
    let has = |kind: &str| kinds.iter().any(|one| one == kind);
    if takes_many(&schema) && texts.len() > 1 {
        return Ok(Some(
            texts
                .into_iter()
                .map(|text| Value::from(text.as_str()))
                .collect(),
        ));
    }
    let Some(text) = texts.first() else {
        return Ok(None);
    };
    if name == "from_cache" && text.as_str() == "true" {
        return Ok(Some(Value::Bool(true)));
    }
    let is_json = has("object") || (has("array") && !has("string"));
    if is_json && text.trim_start().starts_with(['{', '[']) {
        let wrong = |error| {
            let message = format!("{name} is not JSON: {error}\n");
            Error::raw(ErrorKind::ValueValidation, message)
        };
        return serde_json::from_str(text).map(Some).map_err(wrong);
    }
    if has("integer") && !has("string") {
        let wrong = |_| {
            let message = format!("{name} is a whole number\n");
            Error::raw(ErrorKind::ValueValidation, message)
        };
        return text
            .parse::<i64>()
            .map(|number| Some(number.into()))
            .map_err(wrong);
    }
    Ok(Some(Value::from(text.as_str())))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;
    use serde_json::json;

    use super::*;
    use crate::frontends::cli::Cli;

    fn typed(line: &str) -> Typed {
        let words = std::iter::once("keepa").chain(line.split(' '));
        let clap = Typed::augment_subcommands(Clap::new("keepa"));
        Typed::from_arg_matches(&clap.try_get_matches_from(words).unwrap()).unwrap()
    }

    #[test]
    fn the_tree_is_sound_and_every_command_can_be_typed() {
        Cli::command().debug_assert();
        for command in Command::ALL {
            let line = words(*command).join(" ");
            let found = typed(&line);
            assert!(
                matches!(found, Typed::Run(one, _) if one == *command),
                "{line}"
            );
        }
    }

    #[test]
    fn what_is_typed_is_what_the_tool_takes() {
        let cases = [
            (
                "products get B0KETTLE01 --full --view summary --history-limit 0 --offers 20",
                json!({"asin": "B0KETTLE01", "full": true, "view": "summary", "history_limit": 0, "offers": "20"}),
            ),
            (
                "products compare B0KETTLE01 B0GRINDER2 --fixture a.json",
                json!({"asin": ["B0KETTLE01", "B0GRINDER2"], "fixture": "a.json"}),
            ),
            (
                "finder query --selection {\"perPage\":50} --yes",
                json!({"selection": {"perPage": 50}, "yes": true}),
            ),
            (
                "plan category-research --term coffee --hydrate-top 2",
                json!({"name": "category-research", "term": "coffee", "hydrate_top": 2}),
            ),
            ("docs index --from-cache", json!({"from_cache": true})),
        ];
        for (line, expected) in cases {
            let Typed::Run(_, params) = typed(line) else {
                panic!("{line}");
            };
            let params: Value = params.into();
            for (name, value) in expected.as_object().unwrap() {
                assert_eq!(&params[name], value, "{line}");
            }
            assert_eq!(
                params.as_object().unwrap().len(),
                expected.as_object().unwrap().len()
            );
        }
    }

    #[test]
    fn what_an_action_shows_can_be_typed() {
        let actions = [
            (
                Command::CategoriesSearch,
                json!({"term": "tea pots", "domain": "US"}),
            ),
            (
                Command::ProductsCompare,
                json!({"asin": ["B0KETTLE01", "B0GRINDER2"], "full": true, "view": "deal"}),
            ),
            (
                Command::FinderQuery,
                json!({"selection": {"title": "it's"}, "dry_run": true, "max_tokens": 25}),
            ),
            (Command::DocsRead, json!({"uri": "keepa://fixtures/a.json"})),
        ];
        for (command, params) in actions {
            let shown = tollgate_keepa::action(command, &params, "a reason");
            let line = shown["cli"].as_str().unwrap();
            let words = shell_words(line);
            let clap = Typed::augment_subcommands(Clap::new("keepa"));
            let words = std::iter::once("keepa".to_owned()).chain(words);
            let typed = Typed::from_arg_matches(&clap.try_get_matches_from(words).unwrap());
            let Typed::Run(found, given) = typed.unwrap() else {
                panic!("{line}");
            };
            assert_eq!(found, command);
            assert_eq!(Value::Object(given), params, "{line}");
        }
    }

    /// The words of a line, as a shell reads them.
    fn shell_words(line: &str) -> Vec<String> {
        let mut words = vec![String::new()];
        let mut is_quoted = false;
        let mut letters = line.chars();
        while let Some(letter) = letters.next() {
            match letter {
                '\'' => is_quoted = !is_quoted,
                '\\' if !is_quoted => words.last_mut().unwrap().extend(letters.next()),
                ' ' if !is_quoted => words.push(String::new()),
                _ => words.last_mut().unwrap().push(letter),
            }
        }
        words
    }
}
