//! What a template may say, and what is said about one that may not.

use super::parse;

fn problems(text: &str) -> Vec<String> {
    match parse("t.yaml", text) {
        Ok(_) => Vec::new(),
        Err(problems) => problems.iter().map(ToString::to_string).collect(),
    }
}

const HEAD: &str = "id: t\nversion: 1.0.0\nname: T\ninputsSchema: {type: object, properties: {urls: {type: array}}}\n";

#[test]
fn every_mistake_has_its_file_and_line() {
    for (steps, line, part) in [
        ("steps: []\n", 1, "1 to 200 `steps`"),
        ("steps:\n  - {id: a}\n", 6, "`tool` is missing"),
        ("steps:\n  - {id: A b, tool: x.y}\n", 6, "no name of a step"),
        (
            "steps:\n  - {id: a, tool: x.y, tols: 1}\n",
            6,
            "`tols` is not known here",
        ),
        (
            "steps:\n  - {id: a, tool: x.y}\n  - {id: a, tool: x.y}\n",
            7,
            "two steps `a`",
        ),
        (
            "steps:\n  - {id: a, tool: x.y, after: [b]}\n  - {id: b, tool: x.y, after: [a]}\n",
            6,
            "cycle",
        ),
        ("steps:\n  - {id: a, tool: x.y, after: [a]}\n", 6, "cycle"),
        (
            "steps:\n  - {id: a, tool: x.y, after: [zz]}\n",
            6,
            "no step `zz`",
        ),
        (
            "steps:\n  - {id: a, tool: x.y, args: {u: '{{ steps.b.data }}'}}\n  - {id: b, tool: x.y}\n",
            6,
            "no step that has ended before",
        ),
        (
            "steps:\n  - {id: a, tool: x.y, args: {u: '{{ inputs.uls }}'}}\n",
            6,
            "not among the inputs",
        ),
        (
            "steps:\n  - {id: a, tool: x.y, args: {u: '{{ item }}'}}\n",
            6,
            "`item` is not known here",
        ),
        (
            "steps:\n  - {id: a, tool: x.y, args: [1]}\n",
            6,
            "`args` are fields",
        ),
        ("steps:\n  - {id: a, tool: x.y, when: '1 +'}\n", 6, "`when`"),
        (
            "steps:\n  - {id: a, tool: x.y, retry: {times: 99}}\n",
            6,
            "from 0 to 10",
        ),
        (
            "steps:\n  - {id: a, for_each: '{{ inputs.urls }}', steps: []}\n",
            6,
            "has no steps",
        ),
        (
            "threshold: 7\nsteps:\n  - {id: a, tool: x.y}\n",
            5,
            "from 0 to 1",
        ),
        (
            "trustLevelSupport: [everyone]\nsteps:\n  - {id: a, tool: x.y}\n",
            5,
            "no trust level",
        ),
        (
            "sync_if: steps.a.data\nsteps:\n  - {id: a, tool: x.y}\n",
            5,
            "not known here",
        ),
        ("steps: [\n", 6, ""),
    ] {
        let found = problems(&format!("{HEAD}{steps}"));
        let is_there = found.iter().any(|it| it.contains(part));
        assert!(is_there, "{steps}: {found:?} lacks {part}");
        let place = format!("t.yaml:{line}:");
        let is_placed = part.is_empty()
            || part.contains("not known here")
            || found.iter().any(|it| it.starts_with(&place));
        assert!(is_placed, "{steps}: {found:?} is not at line {line}");
    }
}

#[test]
fn a_whole_template_is_read() {
    let text = format!(
        "{HEAD}supportsPartialSuccess: true\nthreshold: 0.8\nmaxTimeoutMs: 1000\nmaxConcurrency: 3\nsync_if: size(inputs.urls) <= 10\nsteps:\n  - id: page\n    for_each: inputs.urls\n    concurrency: 2\n    steps:\n      - {{id: open, tool: b.open, args: {{url: '{{{{ item }}}}'}}}}\n      - {{id: close, tool: b.close, always: true, args: {{tab: '{{{{ steps.open.data.tab }}}}'}}}}\n    output: {{url: '{{{{ item }}}}', title: '{{{{ steps.open.data.title }}}}'}}\n  - {{id: sum, tool: t.sum, args: {{n: '{{{{ steps.page.summary.total }}}}'}}}}\nresult: {{items: '{{{{ steps.page.items }}}}'}}\n"
    );
    let template = parse("t.yaml", &text).unwrap_or_else(|problems| panic!("{problems:?}"));
    assert_eq!(template.calls().count(), 3);
    assert_eq!(template.steps[1].after, [0]);
    assert_eq!(template.limits["maxConcurrency"], 3);
    let drawn = crate::mermaid(&template);
    assert!(drawn.contains("page --> sum") && drawn.contains("page_open --> page_close"));
}

#[test]
fn a_template_knows_where_its_tools_and_schemas_stand() {
    let text = format!(
        "{HEAD}outputsSchema: {{type: object}}\nsteps:\n  - id: a\n    tool: x.y\n  - id: b\n    for_each: inputs.urls\n    steps:\n      - {{id: c, tool: x.z}}\n"
    );
    let template = parse("t.yaml", &text).unwrap();
    let lines: Vec<usize> = template.calls().map(|(_, call)| call.place.line).collect();
    assert_eq!(lines, [8, 12]);
    assert_eq!(template.schema_places.map(|place| place.line), [4, 5]);
    assert_eq!(template.file, "t.yaml");
}
