//! `new`: a base to begin with, for whoever has the program and nothing else.

use std::fs;

use serde_json::json;

use super::arguments::{Example, New};
use crate::frontends::cli::{Exit, Scene, Stop};

/// The files of a base, by their names.
type Files = &'static [(&'static str, &'static str)];

macro_rules! shipped {
    ($folder:literal: $($name:literal),+) => {
        &[$((
            $name,
            include_str!(concat!(
                env!("CARGO_MANIFEST_DIR"), "/../../knowledge/", $folder, "/", $name
            )),
        )),+]
    };
}

const fn files(example: Example) -> Files {
    match example {
        Example::Tea => shipped!("tea": "base.json", "talks.test.yaml"),
        Example::HomeNetwork => {
            shipped!("home-network": "base.yaml", "talks.test.yaml", "wifi.yaml")
        }
        Example::TechnologyInvestment => {
            shipped!("technology-investment": "base.json", "talks.test.yaml")
        }
    }
}

pub(super) fn run(new: &New, scene: &Scene<'_>) -> Result<Exit, Stop> {
    let folder = scene.environment.current_dir.join(&new.folder);
    let shown = new.folder.display();
    let wrong = |error: std::io::Error| Stop::failed(format!("{shown}: {error}"));
    if folder.exists() {
        let message = format!("{shown} is there already; name a folder that is not");
        return Err(Stop::usage(message));
    }
    fs::create_dir_all(&folder).map_err(wrong)?;
    let files = files(new.from);
    for (name, text) in files {
        fs::write(folder.join(name), text).map_err(wrong)?;
    }
    let names: Vec<&str> = files.iter().map(|(name, _)| *name).collect();
    if scene.console.is_json() {
        scene
            .console
            .json(&json!({"folder": new.folder, "files": names}))?;
        return Ok(Exit::Ok);
    }
    scene
        .console
        .line(&format!("{shown}: {}", names.join(", ")))?;
    scene.console.note(&format!(
        "next: tollgate knowledge try {shown}, then name it in `[knowledge] paths`"
    ));
    Ok(Exit::Ok)
}
