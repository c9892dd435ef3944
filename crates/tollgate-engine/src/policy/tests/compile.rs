//! What is wrong with rules is said all at once, with file and line.

use super::*;

fn source(name: &str, origin: Origin, text: &str) -> Source {
    Source {
        name: name.to_owned(),
        text: text.to_owned(),
        origin,
    }
}

fn problems(sources: Vec<Source>) -> String {
    match Policies::compile(sources) {
        Ok(_) => "compiled".to_owned(),
        Err(problems) => problems
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join("\n"),
    }
}

fn problems_of(text: &str) -> String {
    problems(vec![user(text)])
}

#[test]
fn the_shipped_rules_fit_the_schema_and_look_at_nothing_of_one_call() {
    let as_if_foreign = Source {
        origin: Origin::User,
        ..Source::shipped()
    };
    let policies = compiled(vec![as_if_foreign]);
    for rule in &policies.rules {
        assert!(!rule.mentions.is_of_one_call(), "{}", rule.id);
        assert!(!rule.mentions.session, "{}", rule.id);
        assert!(rule.reason.is_some(), "{}", rule.id);
        assert!(rule.id.starts_with("default."), "{}", rule.id);
    }
}

#[test]
fn everything_wrong_is_reported_at_once() {
    let sources = vec![
        source(
            "a.cedar",
            Origin::User,
            "// A comment.\n\npermit (principal, action, resource);\n\n@id(\"one\")\npermit (principal, action, resource);\n",
        ),
        source(
            "b.cedar",
            Origin::User,
            "@id(\"two\")\npermit (principal, action, resource)\nwhen { context.consnt >= 2 };\n@id(\"bad id\")\npermit (principal, action, resource);\n",
        ),
        source(
            "c.cedar",
            Origin::User,
            "@id(\"three\")\npermit (principal action);\n",
        ),
        source(
            "skill.cedar",
            Origin::Restricting,
            "@id(\"skill.no\") forbid (principal, action, resource);\n\n@id(\"skill.yes\")\npermit (principal, action, resource);\n",
        ),
    ];
    insta::assert_snapshot!(problems(sources), @r#"
    a.cedar:3: a rule has no @id; write @id("some-name") above it
    b.cedar:3: the rule `two` does not fit the schema: attribute `consnt` in context not found (did you mean `consent`?)
    b.cedar:4: the @id "bad id" cannot be used; use 1 to 64 letters, digits and `. _ - : /`, and neither `default-deny` nor `unaskable`
    c.cedar:2: unexpected token `action`
    skill.cedar:3: the rule `skill.yes` permits, but rules of skills and projects may only forbid
    "#);
}

#[test]
fn an_id_belongs_to_one_rule() {
    let one = source(
        "a.cedar",
        Origin::User,
        "@id(\"x\")\nforbid (principal, action, resource);",
    );
    let other = source(
        "b.cedar",
        Origin::User,
        "\n@id(\"x\")\nforbid (principal, action, resource);",
    );
    insta::assert_snapshot!(problems(vec![one, other]), @r#"b.cedar:2: the @id `x` is taken by a rule in a.cedar, line 1"#);
    let mine = "@id(\"default.read\")\npermit (principal, action, resource);";
    insta::assert_snapshot!(problems(vec![Source::shipped(), user(mine)]), @r#"user.cedar:1: the @id `default.read` is taken by a rule in default.cedar, line 15"#);
}

#[test]
fn ids_that_could_mislead_are_refused() {
    for id in [
        "",
        "default-deny",
        "unaskable",
        "a b",
        "a\\nb",
        "名",
        &"x".repeat(65),
    ] {
        let text = format!("@id(\"{id}\") forbid (principal, action, resource);");
        assert!(problems_of(&text).contains("cannot be used"), "{id}");
    }
    assert!(problems_of("@id forbid (principal, action, resource);").contains("cannot be used"));
}

#[test]
fn templates_are_refused() {
    insta::assert_snapshot!(
        problems_of("\n@id(\"t\")\npermit (principal == ?principal, action, resource);"),
        @r#"user.cedar:2: `t` is a template; write the principal and the resource out"#
    );
}

#[test]
fn a_rule_is_held_against_the_schema_also_beside_its_arguments() {
    let cases = [
        // What is misspelt or of the wrong type is found.
        ("context.consnt >= 2", false),
        ("context.consent >= \"2\"", false),
        ("resource.readonly", false),
        ("principal.kind == 3", false),
        ("context.profile == \"x\"", false),
        ("context.budget_left > 3", false),
        ("context.arguments.a == 1 && context.consnt >= 2", false),
        ("context.arguments.a == context.sesion", false),
        (
            "!(context.arguments.a > context.consent + resource.nam)",
            false,
        ),
        (
            "if context.arguments.a then context.consnt == 1 else true",
            false,
        ),
        ("context.argumets.a == 1", false),
        (
            "principal in Toolset::\"x\" && context.arguments.a == 1",
            false,
        ),
        ("context.arguments.a == 1 && false", false),
        (
            "context.arguments.a == 1 && resource.name == \"\u{202e}x\"",
            false,
        ),
        // What is right is not.
        ("context has profile && context.profile == \"x\"", true),
        (
            "context has profile && context.arguments.a == context.profile",
            true,
        ),
        (
            "context.arguments has a && context.arguments.a like \"x*\"",
            true,
        ),
        ("context.arguments.a.b.c.contains([1, \"x\"])", true),
        (
            "if context.arguments.a then context.consent == 1 else context.tainted",
            true,
        ),
        (
            "ip(context.arguments.host).isInRange(ip(\"10.0.0.0/8\"))",
            true,
        ),
        (
            "context has budget_left && context.budget_left < context.worst_case",
            true,
        ),
        (
            "resource in Toolset::\"gate\" && resource.toolsets.contains(\"gate\")",
            true,
        ),
        (
            "principal has issuer && principal.issuer == \"https://id.example\"",
            true,
        ),
    ];
    for (condition, fits) in cases {
        let text =
            format!("@id(\"x\")\nforbid (principal, action, resource) when {{ {condition} }};");
        let found = problems_of(&text);
        assert_eq!(found == "compiled", fits, "{condition}: {found}");
    }
    for scope in [
        "principal, action == Action::\"cal\", resource",
        "principal, action, resource == Tol::\"x\"",
        "principal == Tool::\"x\", action, resource",
    ] {
        let found = problems_of(&format!("@id(\"x\") forbid ({scope});"));
        assert!(found.contains("does not fit"), "{scope}: {found}");
    }
}

#[test]
fn a_restricting_source_narrows() {
    let policies = compiled(vec![
        Source::shipped(),
        source(
            "skill.cedar",
            Origin::Restricting,
            "@id(\"skill.local\") forbid (principal, action, resource) unless { context.trust == \"local\" };",
        ),
    ]);
    let mut ask = Ask::about(reader("a.b"));
    assert_eq!(ask.decide(&policies).decision, Decision::Allow);
    ask.trust = TrustLevel::Remote;
    let verdict = ask.decide(&policies);
    assert_eq!(
        (verdict.decision, verdict.rule.as_str()),
        (Decision::Deny, "skill.local")
    );
}

#[test]
fn the_version_changes_with_anything_compiled() {
    let text = "@id(\"x\") forbid (principal, action, resource);";
    let version = |name: &str, origin, text: &str| {
        compiled(vec![source(name, origin, text)])
            .version()
            .to_owned()
    };
    let base = version("a", Origin::User, text);
    assert_eq!(base.len(), 64);
    assert_eq!(base, version("a", Origin::User, text));
    assert_ne!(base, version("b", Origin::User, text));
    assert_ne!(base, version("a", Origin::Restricting, text));
    assert_ne!(base, version("a", Origin::User, &format!("{text} ")));
}

#[test]
fn only_what_can_apply_to_a_tool_counts_as_looked_at() {
    let policies = only(
        r#"@id("a") forbid (principal, action, resource == Tool::"web.get")
           when { context.arguments has url && context.arguments.url like "x*" };
           @id("b") forbid (principal, action, resource) when { context has arguments && context.session == "s" };"#,
    );
    assert!(policies.needs_arguments("web.get"));
    assert!(!policies.needs_arguments("web.put"));
}
