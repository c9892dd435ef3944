//! The files of skills: those that come with the program, and those of folders.

use std::{
    fs,
    io::Read,
    path::{Path, PathBuf},
    sync::Arc,
};

use tollgate_knowledge::{Place, Problem, ProblemCode};

use super::manifest::{self, Manifest};

/// The most files of one folder that are read.
const MOST: usize = 200;
/// The largest file.
const MOST_BYTES: u64 = 256 << 10;

/// A skill as its files say.
pub(crate) struct Found {
    /// Its file, unless it comes with the program.
    pub(crate) path: Option<PathBuf>,
    /// What problems call it.
    pub(crate) source: String,
    /// The name of its file.
    pub(crate) stem: String,
    /// What it says, or what is wrong with it.
    pub(crate) manifest: Result<Manifest, Vec<Problem>>,
    /// Its `SKILL.md`.
    pub(crate) guide: Option<String>,
}

macro_rules! shipped {
    ($($name:literal),* $(,)?) => {
        /// Every skill that comes with the program.
        pub(crate) fn shipped() -> Vec<Found> {
            vec![$(found(
                None,
                concat!("shipped/", $name, ".yaml").to_owned(),
                $name.to_owned(),
                Ok(include_str!(concat!("../../../../skills/", $name, ".yaml")).to_owned()),
                Some(include_str!(concat!("../../../../skills/", $name, "/SKILL.md")).to_owned()),
            )),*]
        }
    };
}

shipped! {
    "edit_docs",
    "guided_consultation",
    "keepa_research",
    "research_report",
    "run_code_snippet",
}

fn found(
    path: Option<PathBuf>,
    source: String,
    stem: String,
    text: Result<String, String>,
    guide: Option<String>,
) -> Found {
    let manifest = match text {
        Ok(text) => manifest::parse(&source, &text),
        Err(message) => {
            let (file, start) = (Arc::from(source.as_str()), Place { line: 1, column: 1 });
            Err(vec![Problem::new(ProblemCode::File, &file, start, message)])
        }
    };
    Found {
        path,
        source,
        stem,
        manifest,
        guide,
    }
}

/// Every skill of a folder; one that is not there has none. Those beyond the most are said to
/// be too many, and are off.
pub(crate) fn read_folder(folder: &Path) -> Vec<Found> {
    let manifests = manifests(folder);
    let read = manifests.iter().take(MOST).map(|path| read_file(path));
    let surplus = manifests.iter().skip(MOST).map(|path| {
        let stem = path.file_stem().unwrap_or_default();
        let message = format!("a folder may hold {MOST} skills, and this is one too many");
        found(
            Some(path.clone()),
            path.display().to_string(),
            stem.to_string_lossy().into_owned(),
            Err(message),
            None,
        )
    });
    read.chain(surplus).collect()
}

/// One skill by the path of its manifest.
pub(crate) fn read_file(path: &Path) -> Found {
    let stem = path.file_stem().unwrap_or_default();
    let stem = stem.to_string_lossy().into_owned();
    let guide = text(&guide_of(path)).ok();
    let source = path.display().to_string();
    found(Some(path.to_owned()), source, stem, text(path), guide)
}

/// Everything whose change matters.
pub(crate) fn files(folder: &Path) -> Vec<PathBuf> {
    let mut manifests = manifests(folder);
    manifests.truncate(MOST);
    let guides: Vec<PathBuf> = manifests.iter().map(|path| guide_of(path)).collect();
    manifests.into_iter().chain(guides).collect()
}

fn guide_of(manifest: &Path) -> PathBuf {
    manifest.with_extension("").join("SKILL.md")
}

fn manifests(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let is_manifest = |path: &PathBuf| {
        let extension = path.extension().and_then(|extension| extension.to_str());
        matches!(extension, Some("yaml" | "yml" | "json"))
    };
    let paths = entries.flatten().map(|entry| entry.path());
    let mut found: Vec<PathBuf> = paths.filter(is_manifest).collect();
    found.sort();
    found
}

fn text(path: &Path) -> Result<String, String> {
    let file = fs::File::open(path).map_err(|error| format!("it cannot be read: {error}"))?;
    let mut text = String::new();
    let read = file.take(MOST_BYTES + 1).read_to_string(&mut text);
    read.map_err(|error| format!("it cannot be read: {error}"))?;
    if text.len() as u64 > MOST_BYTES {
        return Err(format!("it is larger than {MOST_BYTES} bytes"));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::templates::BUILT_IN;
    use tollgate_engine::policy::{Origin, Policies, Source};

    #[test]
    fn shipped_skills_name_templates_that_are_shipped() {
        for found in shipped() {
            let manifest = found.manifest.unwrap();
            assert_eq!(manifest.name, found.stem);
            let file = |id: &String| format!("templates/{id}.yaml");
            for id in manifest.templates.iter().chain(&manifest.allowed_run_types) {
                let is_there = BUILT_IN.iter().any(|it| it.file == file(id));
                assert!(is_there, "{}: {id}", found.source);
            }
            let guide = found.guide.unwrap();
            assert!(guide.starts_with(&format!("---\nname: {}\n", manifest.name)));
        }
    }

    #[test]
    fn a_file_beyond_the_most_is_said_to_be_one_too_many() {
        let folder = tempfile::tempdir().unwrap();
        for number in 0..=MOST {
            let file = format!("s{number:04}.yaml");
            fs::write(folder.path().join(file), "skill_name: [").unwrap();
        }
        let all = read_folder(folder.path());
        assert_eq!(all.len(), MOST + 1);
        let Some(Err(problems)) = all.last().map(|last| &last.manifest) else {
            panic!("it was read");
        };
        assert!(problems[0].to_string().contains("one too many"));
    }

    #[test]
    fn shipped_skills_have_rules_that_fit_the_schema() {
        let all = shipped().into_iter().filter_map(|found| {
            let text = found.manifest.unwrap().rules()?;
            let origin = Origin::Restricting;
            let name = found.source;
            Some(Source { name, text, origin })
        });
        let all: Vec<Source> = all.collect();
        assert!(!all.is_empty());
        let with_shipped = [vec![Source::shipped()], all].concat();
        assert_eq!(Policies::compile(with_shipped).err(), None);
    }
}
