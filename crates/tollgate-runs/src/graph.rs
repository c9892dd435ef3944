//! A template as a picture, in the words of Mermaid.

use std::fmt::Write as _;

use crate::template::{StepKind, Template};

/// Draws the steps and what waits for what.
pub fn mermaid(template: &Template) -> String {
    let mut text = String::from("flowchart TD\n");
    for step in &template.steps {
        let id = &step.id;
        match &step.kind {
            StepKind::Call(call) => {
                let _ = writeln!(text, "  {id}[\"{id}<br/>{}\"]", call.tool);
            }
            StepKind::Group(group) => {
                let _ = writeln!(text, "  subgraph {id}[\"{id}, for each\"]");
                let mut before: Option<&str> = None;
                for inner in &group.steps {
                    let name = &inner.id;
                    let _ = writeln!(text, "    {id}_{name}[\"{name}<br/>{}\"]", inner.call.tool);
                    if let Some(before) = before {
                        let _ = writeln!(text, "    {id}_{before} --> {id}_{name}");
                    }
                    before = Some(name);
                }
                text.push_str("  end\n");
            }
        }
        for before in &step.after {
            if let Some(before) = template.steps.get(*before) {
                let arrow = if step.always { "-.->" } else { "-->" };
                let _ = writeln!(text, "  {} {arrow} {id}", before.id);
            }
        }
    }
    text
}
