//! What lifts the human for tools that may destroy something or carry data out.

use tollgate_core::{Annotations, ToolSpec};

use super::{Ask, beside_default, only, reader, user, writer};
use crate::policy::{Consent, Decision, Policies, Problem, Source};

fn of_server(name: &str, provider: &str, annotations: Annotations) -> ToolSpec {
    let set = provider.trim_start_matches("mcp_");
    ToolSpec {
        provider_id: provider.to_owned(),
        toolsets: vec![set.to_owned(), "mcp".to_owned()],
        annotations,
        ..writer(name)
    }
}

/// A tool of the server `files` that nobody graded.
fn unknown() -> ToolSpec {
    of_server("mcp.files.write", "mcp_files", Annotations::UNKNOWN)
}

fn decided(rules: &str, tool: ToolSpec) -> Decision {
    Ask::about(tool).decide(&beside_default(rules)).decision
}

const HUMAN: Decision = Decision::NeedsConsent(Consent::Human);

#[test]
fn a_blanket_permit_lifts_nobody_for_a_delicate_tool() {
    let blanket = r#"@id("all") permit (principal, action == Action::"call", resource);"#;
    let sink = Annotations {
        sensitive_sink: true,
        ..Annotations::READ
    };
    let destroys = Annotations {
        destructive: true,
        ..Annotations::READ
    };
    for annotations in [sink, destroys, Annotations::UNKNOWN] {
        let tool = of_server("mcp.files.write", "mcp_files", annotations);
        assert_eq!(decided(blanket, tool.clone()), HUMAN, "{annotations:?}");
        let verdict = Ask::about(tool)
            .consenting(Consent::Agent)
            .decide(&beside_default(blanket));
        assert_eq!(verdict.decision, HUMAN, "an agent's yes is no human");
    }
    assert_eq!(decided(blanket, writer("notes.add")), Decision::Allow);
    let marked = blanket.replace("permit", r#"@lifts("human") permit"#);
    assert_eq!(decided(&marked, unknown()), HUMAN, "it names nothing");
}

#[test]
fn a_marked_permit_lifts_the_human_for_what_it_names() {
    for (scope, condition) in [
        (r#"resource == Tool::"mcp.files.write""#, "true"),
        (r#"resource in Toolset::"files""#, "true"),
        (r#"resource is Tool in Toolset::"files""#, "true"),
        ("resource", r#"resource == Tool::"mcp.files.write""#),
        ("resource", r#"resource.provider == "mcp_files""#),
        (
            "resource",
            r#"context.trust == "local" && resource.name == "mcp.files.write""#,
        ),
        (
            "resource",
            r#"resource in [Tool::"mcp.files.read", Tool::"mcp.files.write"]"#,
        ),
        (
            "resource",
            r#"resource.provider == "mcp_a" || resource.provider == "mcp_files""#,
        ),
    ] {
        let marked = format!(
            r#"@id("x") @lifts("human") permit (principal, action == Action::"call", {scope}) when {{ {condition} }};"#
        );
        assert_eq!(decided(&marked, unknown()), Decision::Allow, "{marked}");
        let unmarked = marked.replace(r#"@lifts("human")"#, "");
        assert_eq!(decided(&unmarked, unknown()), HUMAN, "{unmarked}");
    }
}

#[test]
fn a_marked_permit_that_says_what_tools_are_names_none() {
    for condition in [
        "true",
        "resource.destructive",
        r#"resource.name like "mcp.files.*""#,
        r#"resource.namespace == "mcp""#,
        r#"resource in Toolset::"mcp""#,
        r#"resource.provider == "mcp_files" || resource.capability == 1"#,
        r#"resource in [Toolset::"files", Toolset::"mcp"]"#,
        r#"!(resource.provider == "mcp_other")"#,
    ] {
        let rule = format!(
            r#"@id("x") @lifts("human") permit (principal, action == Action::"call", resource) when {{ {condition} }};"#
        );
        assert_eq!(decided(&rule, unknown()), HUMAN, "{condition}");
    }
}

#[test]
fn a_forbid_and_tainted_text_still_stop_what_is_lifted() {
    let rules = r#"@id("files") @lifts("human")
        permit (principal, action == Action::"call", resource in Toolset::"files");
        @id("no") forbid (principal, action, resource) when { context.trust == "remote" };"#;
    let policies = beside_default(rules);
    assert_eq!(
        Ask::about(unknown()).decide(&policies).decision,
        Decision::Allow
    );
    let tainted = Ask {
        tainted: true,
        ..Ask::about(unknown())
    };
    assert_eq!(tainted.decide(&policies).decision, HUMAN);
    let remote = Ask {
        trust: tollgate_core::TrustLevel::Remote,
        ..Ask::about(unknown())
    };
    assert_eq!(remote.decide(&policies).decision, Decision::Deny);
}

#[test]
fn only_a_permit_lifts_and_only_the_human() {
    for rule in [
        r#"@id("x") @lifts("agent") permit (principal, action, resource);"#,
        r#"@id("x") @lifts("human") forbid (principal, action, resource);"#,
        r#"@id("x") @lifts permit (principal, action, resource);"#,
    ] {
        let problems = Policies::compile(vec![Source::shipped(), user(rule)]).unwrap_err();
        assert_eq!(
            problems[0].problem,
            Problem::BadLift("x".to_owned()),
            "{rule}"
        );
    }
}

#[test]
fn a_list_says_which_tools_need_a_human() {
    let rules = r#"@id("all") permit (principal, action == Action::"call", resource);
        @id("one") @lifts("human")
        permit (principal, action == Action::"call", resource == Tool::"mcp.files.read");"#;
    let policies = beside_default(rules);
    let needs = |tool: ToolSpec| policies.needs_human(&Ask::about(tool).question());
    assert!(needs(unknown()));
    assert!(!needs(of_server(
        "mcp.files.read",
        "mcp_files",
        Annotations::UNKNOWN
    )));
    assert!(!needs(writer("notes.add")));
    assert!(!needs(reader("text.stats")));
    let shipped = Policies::shipped().unwrap();
    assert!(shipped.needs_human(&Ask::about(writer("notes.add")).question()));
    let by_argument = beside_default(
        r#"@id("mine") permit (principal, action, resource) when { context.arguments.path like "/tmp/*" };"#,
    );
    assert!(
        !by_argument.needs_human(&Ask::about(writer("notes.add")).question()),
        "some call may go on"
    );
}

#[test]
fn a_permit_that_no_longer_suffices_is_named_with_what_to_add() {
    let rules = r#"@id("files")
permit (principal == Principal::"token:ci", action == Action::"call", resource in Toolset::"files")
when { context.arguments.path like "/tmp/*" };
@id("all")
permit (principal, action, resource) when { context.surface == "cli" };
@id("asks") permit (principal, action, resource) when { context.consent >= 2 };
@id("careful") permit (principal, action, resource)
unless { resource.destructive || resource.sensitive_sink };"#;
    let policies = beside_default(rules);
    let other = of_server("mcp.git.push", "mcp_git", Annotations::UNKNOWN);
    let tools = [unknown(), other, writer("notes.add"), reader("text.stats")];
    let found = policies.insufficient_permits(tools.iter());
    let named: Vec<_> = found
        .iter()
        .map(|it| {
            (
                it.rule.as_str(),
                it.file.as_str(),
                it.line,
                it.tools.clone(),
            )
        })
        .collect();
    let (write, push) = ("mcp.files.write".to_owned(), "mcp.git.push".to_owned());
    assert_eq!(
        named,
        [
            ("files", "user.cedar", 1, vec![write.clone()]),
            ("all", "user.cedar", 4, vec![write, push]),
        ]
    );
    assert!(
        found[0].remedy.contains(r#"@lifts("human")"#),
        "{}",
        found[0]
    );
    let line = r#"@id("all.mcp_git") @lifts("human") permit (principal, action, resource) when { resource.provider == "mcp_git" }"#;
    assert!(found[1].remedy.contains(line), "{}", found[1]);

    // With the lines added, nothing is left to say, and the tools run unasked.
    let added = found[1].remedy.split_once("add: ").unwrap().1;
    let marked = rules.replacen("permit", r#"@lifts("human") permit"#, 1);
    let policies = beside_default(&format!("{marked}\n{added}"));
    assert_eq!(policies.insufficient_permits(tools.iter()), []);
    for tool in tools {
        assert_eq!(Ask::about(tool).decide(&policies).decision, Decision::Allow);
    }
    assert_eq!(only("").insufficient_permits([unknown()].iter()), []);
}

#[test]
fn an_explanation_names_the_permit_that_does_not_count() {
    let policies = beside_default(r#"@id("all") permit (principal, action, resource);"#);
    let told = policies
        .explain(&Ask::about(unknown()).question())
        .to_string();
    assert!(
        told.contains("all would permit it, but lifts no human"),
        "{told}"
    );
    assert!(told.contains("needs consent: human"), "{told}");
}
