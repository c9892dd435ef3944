//! Lists and schemas: tools, codes, warnings, keys, tables, commands.

use clap::CommandFactory;
use tollgate::{config, frontends::cli::Cli};
use tollgate_core::{ErrorCode, Retry, Warning, envelope};
use tollgate_engine::policy::Source;

use super::{Files, check_file, check_folder, pretty, specs};

#[tokio::test]
async fn every_tool_is_committed() {
    let files: Files = specs()
        .await
        .iter()
        .map(|spec| {
            let name = format!("{}/{}.json", spec.provider_id, spec.name.as_str());
            let mut shown = serde_json::to_value(spec).unwrap();
            shown["output_schema"] = envelope::schema(spec.output_schema.as_deref());
            (name, pretty(&shown))
        })
        .collect();
    check_folder("contracts/tools", &files);
}

#[test]
fn every_error_code_is_committed() {
    let mut text = String::new();
    for code in ErrorCode::ALL {
        let retry = match code.retry() {
            Retry::Never => "never",
            Retry::Later => "later",
            Retry::WhenHarmless => "when_harmless",
        };
        text.push_str(&format!("{code} {} {retry}\n", code.kind()));
    }
    check_file("contracts/errors.txt", &text);
}

#[test]
fn every_warning_is_committed() {
    let lines: Vec<&str> = Warning::ALL.iter().map(|it| it.as_str()).collect();
    check_file("contracts/warnings.txt", &(lines.join("\n") + "\n"));
}

#[test]
fn the_schema_of_the_configuration_is_committed() {
    check_file(
        "contracts/config.schema.json",
        &pretty(&config::json_schema()),
    );
}

#[test]
fn the_tables_are_committed() {
    let schema = tollgate_store::schema_sql();
    let files = Files::from([("schema.sql".to_owned(), schema.to_string())]);
    check_folder("contracts/sql", &files);
}

#[test]
fn the_shipped_rules_are_committed() {
    let shipped = Source::shipped().text;
    let mut text = String::new();
    for line in shipped.lines() {
        if let Some(id) = annotation(line, "@id") {
            text.push_str(&format!("{id}: "));
        } else if let Some(reason) = annotation(line, "@reason") {
            text.push_str(&format!("{reason}\n"));
        }
    }
    let files = Files::from([("rules.txt".to_owned(), text)]);
    check_folder("contracts/policy", &files);
}

fn annotation<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    line.strip_prefix(name)?
        .strip_prefix("(\"")?
        .strip_suffix("\")")
}

#[test]
fn the_help_of_every_command_is_committed() {
    let mut root = Cli::command().term_width(100);
    root.build();
    let mut files = Files::new();
    add_help(&mut root, "", &mut files);
    check_folder("contracts/cli", &files);
}

fn add_help(command: &mut clap::Command, above: &str, files: &mut Files) {
    let name = format!("{above}{}", command.get_name());
    let help = command.render_long_help().to_string();
    let lines: Vec<&str> = help.lines().map(str::trim_end).collect();
    files.insert(format!("{name}.txt"), lines.join("\n") + "\n");
    for below in command.get_subcommands_mut() {
        if below.get_name() != "help" {
            add_help(below, &format!("{name}-"), files);
        }
    }
}
