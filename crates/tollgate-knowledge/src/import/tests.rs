//! Drawings and sheets as people have them.

use std::sync::Arc;

use super::*;
use crate::{Library, lint};

/// The draft of a text, loaded; every fault of linking but a missing fallback is one.
fn drafted(text: &str, format: ImportFormat) -> (String, Library) {
    let imported = import("k", text.as_bytes().to_vec(), format).unwrap();
    let base = load_text("k", &imported.text, Format::Yaml).unwrap();
    let wrong: Vec<String> = lint(&base)
        .iter()
        .filter(|one| !["no-fallback", "no-choose"].contains(&one.code.as_str()))
        .map(ToString::to_string)
        .collect();
    assert_eq!(wrong, Vec::<String>::new(), "{}", imported.text);
    (imported.text, Library::new(vec![Arc::new(base)]))
}

/// The nodes that options lead through, from the root on.
fn path(library: &Library, options: &[&str]) -> String {
    let (mut session, mut view) = library.start("??").unwrap();
    for option in options {
        (session, view) = library.step(&session, option, None).unwrap();
    }
    format!("{}|{}|{}", session.node, view.response, view.is_complete)
}

fn fault_of(text: &str, format: ImportFormat) -> String {
    let problems = import("k", text.as_bytes().to_vec(), format).unwrap_err();
    problems[0].to_string()
}

#[test]
fn graphviz_with_everything_people_write() {
    let text = r#"
// how to get online
strict digraph "net" {
    label="Getting online"; rankdir=LR
    node [shape=box, label="ignored"];
    edge [color=gray]
    start [label="Is the \"light\" on?\nLook at the box."];
    start -> power:n [label="No"]; start -> cable [label=<<b>Yes</b>, it is>];
    subgraph cluster_0 { label="inner"; power [label="Plug it " + "in", shape=oval]; }
    /* several at once */
    cable [shape=record, label="{<f0> Check the cable|then wait}"]
    cable -> {done help} ; done [label="Done"]; "help" [label="Call us"]
    power -> done
}
"#;
    let (draft, library) = drafted(text, ImportFormat::Dot);
    assert!(
        draft.starts_with("title: \"Getting online\"\nroot: \"start\""),
        "{draft}"
    );
    assert_eq!(
        path(&library, &[]),
        "start|Is the \"light\" on?\nLook at the box.|false"
    );
    assert_eq!(path(&library, &["no"]), "done|Plug it in\n\nDone|true");
    assert_eq!(
        path(&library, &["yes_it_is", "call_us"]),
        "help|Call us|true"
    );
    assert_eq!(
        path(&library, &["yes_it_is"]),
        "cable|Check the cable\nthen wait|false"
    );
}

#[test]
fn mermaid_with_everything_people_write() {
    let text = r##"# A page

```mermaid
---
title: 上网
---
flowchart TD
    %% the beginning
    A([开始<br>上网]) --> B{"灯亮吗 (#quot;1#quot;)?"}
    B -->|是| C[检查网线]:::good
    B -- 否 --> D[[插上电源]]; B -. 不知道 .-> E@{ shape: doc, label: "问客服" }
    subgraph one [一组]
      C & D ==> F((完成))
    end
    style A fill:#f9f
    classDef good fill:#fff
    click A "https://example.com"
    A ~~~ F
```

more text
"##;
    let (draft, library) = drafted(text, ImportFormat::Mermaid);
    assert!(draft.starts_with("title: \"上网\"\nroot: \"A\""), "{draft}");
    assert_eq!(path(&library, &[]), "B|开始\n上网\n\n灯亮吗 (\"1\")?|false");
    assert_eq!(path(&library, &["option"]), "F|检查网线\n\n完成|true");
    assert_eq!(path(&library, &["option_2"]), "F|插上电源\n\n完成|true");
    assert_eq!(path(&library, &["option_3"]), "E|问客服|true");
}

#[test]
fn names_of_any_script_are_read() {
    let (text, _) = drafted("digraph { \u{5f00}\u{59cb} -> \u{e9} }", ImportFormat::Dot);
    assert!(text.contains("\u{5f00}\u{59cb}"), "{text}");
    assert!(text.contains('\u{e9}'), "{text}");
}

#[test]
fn two_texts_for_one_place_are_pointed_at() {
    let sheet = "id,question,option 1,option 1,next 1\n1,On?,yes,no,end\n";
    let fault = fault_of(sheet, ImportFormat::Csv);
    assert!(fault.contains(":2:"), "{fault}");
    assert!(
        fault.contains("two columns of this row are a `option`"),
        "{fault}"
    );
    let sheet = "id,question,option 1,option 1,next 1\n1,On?,yes,,2\n2,Off?,,no,end\n";
    drafted(sheet, ImportFormat::Csv);
}

#[test]
fn sheets_in_their_three_forms() {
    let long = "id;question;option;next\nq1;\"Is it on? \"\"really\"\"\nLook.\";Yes;q2\n;;No;end\nq2;Which?;;q3\nq3;Done.;;\n";
    let (_, library) = drafted(long, ImportFormat::Csv);
    assert_eq!(path(&library, &[]), "q1|Is it on? \"really\"\nLook.|false");
    assert_eq!(path(&library, &["yes"]), "q3|Which?\n\nDone.|true");
    assert_eq!(path(&library, &["no"]), "q1|No|true");

    let wide = "编号,问题,选项1,下一步1,选项2,下一步2\r\n1,灯亮吗？,亮,2,不亮,3\r\n2,正常。,,,,\r\n3,请插电。,,,,\r\n";
    let (_, library) = drafted(wide, ImportFormat::Csv);
    assert_eq!(path(&library, &["option"]), "2|正常。|true");
    assert_eq!(path(&library, &["option_2"]), "3|请插电。|true");

    let answers = "question_en,question_zh,answer (en),answer (zh),keywords\nHow long?,多久？,Two days.,两天。,\"delay, wait\"\nHow much?,多少钱？,Ten.,十元。,\n";
    let (draft, library) = drafted(answers, ImportFormat::Csv);
    assert!(
        draft.contains("{ en: \"How long?\", zh: \"多久？\" }"),
        "{draft}"
    );
    assert_eq!(path(&library, &["answer_2"]), "answer_2|Ten.|true");
    let (_, view) = library.start("什么价格？多少钱").unwrap();
    assert_eq!(view.response, "十元。");
}

#[test]
fn what_cannot_be_read_is_pointed_at() {
    for (text, format, wanted) in [
        (
            "digraph { a -> }",
            ImportFormat::Dot,
            "k:1:17: error[syntax]: expected the name of a node",
        ),
        (
            "digraph { a [label=\"x }",
            ImportFormat::Dot,
            "a quote is not closed",
        ),
        ("hello", ImportFormat::Dot, "expected `digraph` or `graph`"),
        (
            "digraph {\n a",
            ImportFormat::Dot,
            "k:2:3: error[syntax]: a `}` is missing",
        ),
        (
            "sequenceDiagram\n a->>b: x",
            ImportFormat::Mermaid,
            "k:1:1: error[syntax]: expected `flowchart` or `graph`",
        ),
        (
            "graph TD\n A[x --> B",
            ImportFormat::Mermaid,
            "k:2:4: error[syntax]: this shape is not closed on its line",
        ),
        ("graph TD\n A ->", ImportFormat::Mermaid, "k:2:5"),
        (
            "a,b\n1,2\n",
            ImportFormat::Csv,
            "k:1:1: error[field]: the first row must name the columns",
        ),
        (
            "id,question,next\n1,a,2\n2,b,\n1,c,\n",
            ImportFormat::Csv,
            "k:4:1: error[duplicate]: the node `1` stands twice",
        ),
        (
            "id,question,answer\na,One?,1\nb,Two?,2\na,Three?,3\n",
            ImportFormat::Csv,
            "k:4:1: error[duplicate]: the node `a` stands twice",
        ),
        ("", ImportFormat::Dot, "expected `digraph` or `graph`"),
        (
            "",
            ImportFormat::Mermaid,
            "there is nothing to import in it",
        ),
        (
            "digraph {}",
            ImportFormat::Dot,
            "there is nothing to import in it",
        ),
    ] {
        let found = fault_of(text, format);
        assert!(found.contains(wanted), "{text:?}: {found}");
    }
    let deep = format!("digraph {{ {}", "{".repeat(100_000));
    assert!(fault_of(&deep, ImportFormat::Dot).contains("levels deep"));
    let latin = import("k", b"id,question\n1,\xe9".to_vec(), ImportFormat::Csv).unwrap_err();
    assert!(
        latin[0].to_string().contains("k:2:3: error[encoding]"),
        "{}",
        latin[0]
    );
}

#[test]
fn no_row_takes_the_place_of_the_list_of_questions() {
    let text = "id,question,answer\nroot,What is a root?,It holds a tree.\nstart,Where to start?,Here.\nanswer_3,Three?,3\n,Four?,4\n";
    let (draft, library) = drafted(text, ImportFormat::Csv);
    assert!(draft.starts_with("root: \"root_2\""), "{draft}");
    assert_eq!(path(&library, &["root"]), "root|It holds a tree.|true");
    assert_eq!(path(&library, &["start"]), "start|Here.|true");
    assert_eq!(path(&library, &["answer_3"]), "answer_3|3|true");
    assert_eq!(path(&library, &["answer_1"]), "answer_1|4|true");
}

/// These have an end only if no arrow is compared with all before it.
#[test]
fn many_arrows_of_one_name_and_many_words_on_one_line_are_read() {
    let mut text = String::from("digraph { start [label=\"Go\"];");
    for at in 0..40_000 {
        text.push_str(&format!(" start -> n{at} [label=\"Yes\"];"));
    }
    text.push('}');
    let imported = import("k", text.into_bytes(), ImportFormat::Dot).unwrap();
    assert!(imported.text.contains("- id: \"yes_40000\""));
    let base = load_text("k", &imported.text, Format::Yaml).unwrap();
    assert_eq!(base.node_count(), 40_001);
}

#[test]
fn a_hash_begins_a_comment_only_where_a_line_begins() {
    let text = "digraph {\n  # a -> b\n\t#c\n start -> end [color=#ff0000] \n}";
    let (_, library) = drafted(text, ImportFormat::Dot);
    assert_eq!(path(&library, &[]), "end|start\n\nend|true");
}

#[test]
fn a_link_to_nowhere_stays_for_lint_to_find() {
    let imported = import(
        "k",
        b"id,question,option,next\n1,a,b,9\n".to_vec(),
        ImportFormat::Csv,
    )
    .unwrap();
    let base = load_text("k", &imported.text, Format::Yaml).unwrap();
    let codes: Vec<&str> = lint(&base).iter().map(|one| one.code.as_str()).collect();
    assert!(codes.contains(&"broken-link"), "{codes:?}");
}

#[test]
fn the_name_of_a_file_says_what_it_is() {
    use ImportFormat::{Csv, Dot, Mermaid, Workbook};
    for (name, wanted) in [
        ("a.dot", Some(Dot)),
        ("a.GV", Some(Dot)),
        ("a.mmd", Some(Mermaid)),
        ("a.md", Some(Mermaid)),
        ("a.csv", Some(Csv)),
        ("a.tsv", Some(Csv)),
        ("a.xlsx", Some(Workbook)),
        ("a.ODS", Some(Workbook)),
        ("a.xls", Some(Workbook)),
        ("a.txt", None),
        ("csv", None),
    ] {
        assert_eq!(ImportFormat::of(Path::new(name)), wanted, "{name}");
    }
}

#[test]
fn ids_that_are_made_are_ascii_and_lead_to_the_same_nodes() {
    let drawing = "flowchart TD\n  开始 -->|是的| 结果\n  开始 -->|GPU 卡| gpu\n  开始 -->|不是| 其他\n  结果 --> 完成";
    let (draft, library) = drafted(drawing, ImportFormat::Mermaid);
    let base = &library.bases()[0];
    let mut ids: Vec<&str> = base.node_ids().collect();
    ids.extend(base.choices.iter().map(|choice| base.text(choice.id)));
    assert!(ids.iter().all(|id| id.is_ascii()), "{draft}");
    assert_eq!(path(&library, &["option"]), "node_4|结果\n\n完成|true");
    assert_eq!(path(&library, &["gpu"]), "gpu|gpu|true");
    assert_eq!(path(&library, &["option_2"]), "node_3|其他|true");
}
