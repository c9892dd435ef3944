//! Skills: what is hidden, which runs are refused, and what is said about it.

use serde_json::json;
use tollgate_core::ToolSpec;
use tollgate_engine::{Changed, RunType, Skill, policy::Policies};
use tollgate_testkit::fakes::says;

use crate::support::{Setup, World, said, spec_kept};

fn skill(name: &str, tools: &[&str]) -> Skill {
    Skill {
        name: name.to_owned(),
        description: String::new(),
        required_tools: tools.iter().map(|&tool| tool.to_owned()).collect(),
        allowed_run_types: vec![format!("run_{name}"), "shared".to_owned()],
        templates: Vec::new(),
        risk_policy: "standard".to_owned(),
        guide: "# Guide".to_owned(),
        source: format!("{name}.yaml"),
        off: None,
    }
}

fn off(name: &str, tools: &[&str]) -> Skill {
    Skill {
        off: Some("turned off".to_owned()),
        ..skill(name, tools)
    }
}

async fn world() -> World {
    let quarantined = ToolSpec {
        inactive: Some("its definition changed".to_owned()),
        ..spec_kept("shelf.held")
    };
    Setup::new()
        .tool(spec_kept("shelf.one"), says(json!({})))
        .tool(spec_kept("shelf.two"), says(json!({})))
        .tool(quarantined, says(json!({})))
        .build()
        .await
}

async fn with(world: &World, skills: Vec<Skill>) {
    let policies = Policies::shipped().unwrap();
    world.gateway.replace_skills(skills, policies).await;
}

#[tokio::test]
async fn only_what_no_other_skill_allows_is_hidden() {
    let world = world().await;
    with(
        &world,
        vec![
            off("a", &["shelf.one", "shelf.two"]),
            skill("b", &["shelf.two"]),
        ],
    )
    .await;
    assert_eq!(said(&world.call("shelf.one", "{}").await), "unknown_tool");
    assert_eq!(said(&world.call("shelf.two", "{}").await), "ok");
    with(&world, vec![off("a", &["shelf.*", "tools.*"])]).await;
    assert_eq!(said(&world.call("shelf.two", "{}").await), "unknown_tool");
    let found = world.call("tools.search", r#"{"query":"shelf one"}"#).await;
    assert_ne!(
        said(&found),
        "unknown_tool",
        "the gate's own tools are never hidden"
    );
    with(&world, Vec::new()).await;
    assert_eq!(said(&world.call("shelf.one", "{}").await), "ok");
}

#[tokio::test]
async fn a_skill_without_its_tools_is_off_and_says_why() {
    let world = world().await;
    let skills = vec![
        skill("a", &["shelf.one", "web.search"]),
        skill("b", &["shelf.held"]),
        skill("c", &["shelf.o*"]),
        skill("d", &["web.*"]),
    ];
    with(&world, skills).await;
    let skills = world.gateway.skills();
    let reason = |name: &str| skills.find(name).unwrap().reason.clone();
    assert_eq!(
        reason("a").as_deref(),
        Some("there is no tool `web.search`")
    );
    assert_eq!(
        reason("b").as_deref(),
        Some("`shelf.held` cannot be used: its definition changed")
    );
    assert_eq!(reason("c"), None);
    assert_eq!(reason("d").as_deref(), Some("there is no tool `web.*`"));
}

#[tokio::test]
async fn run_types_follow_the_skills_that_allow_them() {
    let world = world().await;
    with(
        &world,
        vec![off("a", &["shelf.one"]), skill("b", &["shelf.two"])],
    )
    .await;
    let skills = world.gateway.skills();
    assert_eq!(skills.run_type("anything"), RunType::Free);
    assert_eq!(skills.run_type("run_b"), RunType::Of("b".to_owned()));
    assert_eq!(skills.run_type("shared"), RunType::Of("b".to_owned()));
    let refused = RunType::Refused {
        skill: "a".to_owned(),
        reason: "turned off".to_owned(),
    };
    assert_eq!(skills.run_type("run_a"), refused);
}

#[tokio::test]
async fn whoever_listens_hears_that_a_skill_is_on_or_off() {
    let world = world().await;
    with(&world, vec![skill("a", &["shelf.one"])]).await;
    let mut changes = world.gateway.changes();
    let mut heard = || {
        let mut all = Vec::new();
        while let Ok(changed) = changes.try_recv() {
            all.push(changed);
        }
        all
    };
    // Now it needs what is not there; no tool is hidden by that.
    with(&world, vec![skill("a", &["shelf.none"])]).await;
    assert_eq!(heard(), [Changed::Prompts, Changed::Resources]);
    with(&world, vec![skill("a", &["shelf.one"])]).await;
    assert_eq!(heard(), [Changed::Prompts, Changed::Resources]);
    with(&world, vec![off("a", &["shelf.one"])]).await;
    let all = [Changed::Tools, Changed::Prompts, Changed::Resources];
    assert_eq!(heard(), all);
    with(&world, vec![off("a", &["shelf.one"])]).await;
    assert_eq!(heard(), []);
}
