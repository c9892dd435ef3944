//! `tollgate knowledge test`.

use serde_json::{Value, json};
use tollgate_knowledge::{Conversation, conversation_files, conversations};

use super::{arguments::Test, library, paths, shown};
use crate::frontends::cli::{
    Exit, Scene, Stop,
    console::{Paint, visible},
};

pub(super) fn run(it: &Test, scene: &Scene<'_>) -> Result<Exit, Stop> {
    let bases = paths(&it.bases, scene)?;
    let here = &scene.environment.current_dir;
    // Each base is tested alone, unless the conversations are about several.
    let groups = if it.file.is_empty() {
        bases
            .iter()
            .map(|base| (vec![base.clone()], conversation_files(base)))
            .collect()
    } else {
        let files = it.file.iter().map(|file| here.join(file)).collect();
        vec![(bases, files)]
    };
    let mut all: Vec<(Conversation, Vec<String>)> = Vec::new();
    for (bases, files) in groups {
        let library = library(&bases, scene)?;
        if files.is_empty() {
            let base = shown(&bases[0], scene);
            let message = format!(
                "there are no conversations (*.test.yaml) beside {}",
                base.display()
            );
            return Err(Stop::usage(message));
        }
        for file in files {
            let found = conversations(&shown(&file, scene));
            for conversation in found.map_err(|problems| super::unreadable(&problems))? {
                let wrong = conversation.run(&library);
                all.push((
                    conversation,
                    wrong.iter().map(ToString::to_string).collect(),
                ));
            }
        }
    }
    let failed = all.iter().filter(|(_, wrong)| !wrong.is_empty()).count();
    let passed = all.len() - failed;
    if scene.console.is_json() {
        let cases: Vec<Value> = all
            .iter()
            .map(|(one, wrong)| json!({"name": one.name, "passed": wrong.is_empty(), "differs": wrong}))
            .collect();
        scene
            .console
            .json(&json!({"conversations": cases, "passed": passed, "failed": failed}))?;
    } else {
        for (conversation, wrong) in &all {
            let (paint, word) = if wrong.is_empty() {
                (Paint::Good, "pass")
            } else {
                (Paint::Bad, "FAIL")
            };
            let word = scene.console.paint(paint, word);
            scene
                .console
                .line(&format!("{word}  {}", visible(&conversation.name)))?;
            for line in wrong {
                scene.console.line(&format!("      {}", visible(line)))?;
            }
        }
        scene
            .console
            .line(&format!("{passed} passed, {failed} failed"))?;
    }
    Ok(if failed == 0 {
        Exit::Ok
    } else {
        Exit::ToolError
    })
}
