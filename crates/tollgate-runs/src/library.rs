//! Templates from files, read again when the files change.
//!
//! Invariant: what is on a [`Shelf`] can be run; a file that cannot be read is a problem
//! and no template, and costs none of the others.

use std::{
    cmp::Ordering,
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::SystemTime,
};

use crate::{
    read::{Place, Problem},
    template::{self, Template},
};

/// How many files of one folder are read.
const MOST_FILES: usize = 500;

/// A template that comes with the program: its file's name and text.
#[derive(Debug, Clone, Copy)]
pub struct BuiltIn {
    /// What problems call it.
    pub file: &'static str,
    /// What it says.
    pub text: &'static str,
    /// The provider without whose tools it cannot run.
    pub provider: &'static str,
}

/// What else must hold of a template, told by who runs it.
pub type Check = fn(&Template) -> Vec<Problem>;

/// Where templates come from.
pub struct Library {
    built_in: Vec<BuiltIn>,
    folders: Vec<PathBuf>,
    check: Option<Check>,
    known: Mutex<Option<Known>>,
}

/// What was read, and what of the folders it was read from.
struct Known {
    seen: Vec<Seen>,
    problems: Vec<Problem>,
    shelf: Arc<Shelf>,
}

/// A file as it was when it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Seen {
    path: PathBuf,
    bytes: u64,
    changed: Option<SystemTime>,
}

/// Every template there is at one time.
#[derive(Debug, Default)]
pub struct Shelf {
    templates: BTreeMap<String, Vec<Arc<Template>>>,
    check: Option<Check>,
    /// What is wrong with files that are no template.
    pub problems: Vec<Problem>,
    /// How many files were read.
    pub files: usize,
}

impl Library {
    /// Templates of the program itself and of these folders.
    pub fn new(
        built_in: impl IntoIterator<Item = &'static BuiltIn>,
        folders: Vec<PathBuf>,
    ) -> Self {
        Self {
            built_in: built_in.into_iter().copied().collect(),
            folders,
            check: None,
            known: Mutex::default(),
        }
    }

    /// Files of folders are held against this, too; those of the program are right.
    #[must_use]
    pub fn checked_by(mut self, check: Check) -> Self {
        self.check = Some(check);
        self
    }

    /// What there is now; files are read again only if one has changed.
    pub fn shelf(&self) -> Arc<Shelf> {
        let (seen, mut problems) = self.look();
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known.as_ref()
            && known.seen == seen
            && known.problems == problems
        {
            return Arc::clone(&known.shelf);
        }
        let before = problems.clone();
        let mut shelf = Shelf::default();
        for built_in in &self.built_in {
            shelf.add(built_in.file, built_in.text);
        }
        shelf.check = self.check;
        for file in &seen {
            let name = file.path.display().to_string();
            match fs::read_to_string(&file.path) {
                Ok(text) => shelf.add(&name, &text),
                Err(error) => problems.push(unreadable(&file.path, &error)),
            }
        }
        shelf.problems.append(&mut problems);
        let shelf = Arc::new(shelf);
        *known = Some(Known {
            seen,
            problems: before,
            shelf: Arc::clone(&shelf),
        });
        shelf
    }

    fn look(&self) -> (Vec<Seen>, Vec<Problem>) {
        let mut seen = Vec::new();
        let mut problems = Vec::new();
        for folder in &self.folders {
            let entries = match fs::read_dir(folder) {
                Ok(entries) => entries,
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
                Err(error) => {
                    problems.push(unreadable(folder, &error));
                    continue;
                }
            };
            let mut files: Vec<PathBuf> = entries
                .filter_map(Result::ok)
                .map(|entry| entry.path())
                .filter(|path| is_template(path))
                .collect();
            files.sort();
            problems.extend(files.get(MOST_FILES).map(|first| Problem {
                file: first.display().to_string(),
                place: Place::default(),
                message: format!(
                    "a folder may hold {MOST_FILES} templates; this one and those after it are not read"
                ),
            }));
            files.truncate(MOST_FILES);
            seen.extend(files.into_iter().filter_map(|path| {
                let about = fs::metadata(&path).ok().filter(fs::Metadata::is_file)?;
                Some(Seen {
                    bytes: about.len(),
                    changed: about.modified().ok(),
                    path,
                })
            }));
        }
        (seen, problems)
    }
}

fn is_template(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    matches!(extension, Some("yaml" | "yml" | "json"))
}

fn unreadable(path: &Path, error: &std::io::Error) -> Problem {
    Problem {
        file: path.display().to_string(),
        place: Place::default(),
        message: format!("it cannot be read: {error}"),
    }
}

impl Shelf {
    /// An empty one whose files are held against this.
    pub fn checked_by(check: Check) -> Self {
        Self {
            check: Some(check),
            ..Self::default()
        }
    }

    fn read(&self, file: &str, text: &str) -> Result<Template, Vec<Problem>> {
        let template = template::parse(file, text)?;
        let problems = self.check.map_or_else(Vec::new, |check| check(&template));
        if problems.is_empty() {
            return Ok(template);
        }
        Err(problems)
    }

    /// Reads one more file.
    pub fn add(&mut self, file: &str, text: &str) {
        self.files += 1;
        match self.read(file, text) {
            Err(mut problems) => self.problems.append(&mut problems),
            Ok(template) => {
                let versions = self.templates.entry(template.id.clone()).or_default();
                if versions
                    .iter()
                    .any(|known| known.version == template.version)
                {
                    let message = format!(
                        "there is a template `{}` of version {} already",
                        template.id, template.version
                    );
                    self.problems.push(Problem {
                        file: file.to_owned(),
                        place: Place { line: 1, column: 1 },
                        message,
                    });
                    return;
                }
                versions.push(Arc::new(template));
                versions.sort_by(|one, other| newer(&other.version, &one.version));
            }
        }
    }

    /// A template by its name; the newest, if no version is named.
    pub fn find(&self, id: &str, version: Option<&str>) -> Option<&Arc<Template>> {
        let mut versions = self.versions(id).iter();
        versions.find(|template| version.is_none_or(|wanted| wanted == template.version))
    }

    /// Every version of a template, the newest first.
    pub fn versions(&self, id: &str) -> &[Arc<Template>] {
        self.templates.get(id).map_or(&[], Vec::as_slice)
    }

    /// What is wrong with the file that is called like this template, if it is faulty.
    pub fn problem_of(&self, id: &str) -> Option<String> {
        self.problems.iter().find_map(|problem| {
            let file = Path::new(&problem.file);
            let name = file
                .file_name()
                .filter(|_| file.file_stem() == Some(id.as_ref()))?;
            let (line, message) = (problem.place.line, &problem.message);
            Some(format!("{}:{line}: {message}", name.display()))
        })
    }

    /// Every template, by name.
    pub fn all(&self) -> impl Iterator<Item = &Arc<Template>> {
        self.templates.values().flatten()
    }
}

/// Compares versions number by number, and as text where there is none.
fn newer(one: &str, other: &str) -> Ordering {
    let mut ones = one.split('.');
    let mut others = other.split('.');
    loop {
        match (ones.next(), others.next()) {
            (None, None) => return one.cmp(other),
            (None, Some(_)) => return Ordering::Less,
            (Some(_), None) => return Ordering::Greater,
            (Some(one), Some(other)) => {
                let order = match (one.parse::<u64>(), other.parse::<u64>()) {
                    (Ok(one), Ok(other)) => one.cmp(&other),
                    (Err(_), _) | (_, Err(_)) => one.cmp(other),
                };
                if order != Ordering::Equal {
                    return order;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINIMAL: &str =
        "id: small\nversion: 1.0.0\nname: Small\nsteps:\n  - {id: a, tool: time.now}\n";

    #[test]
    fn files_come_change_and_go() {
        let folder = tempfile::tempdir().unwrap();
        let library = Library::new(&[], vec![folder.path().join("t")]);
        assert_eq!(library.shelf().all().count(), 0);
        fs::create_dir(folder.path().join("t")).unwrap();
        let file = folder.path().join("t/small.yaml");
        fs::write(&file, MINIMAL).unwrap();
        assert_eq!(library.shelf().all().count(), 1);
        fs::write(&file, MINIMAL.replace("1.0.0", "1.0.10")).unwrap();
        let shelf = library.shelf();
        assert_eq!(shelf.find("small", None).unwrap().version, "1.0.10");
        fs::write(&file, "id: 3\n").unwrap();
        let shelf = library.shelf();
        assert!(shelf.find("small", None).is_none() && !shelf.problems.is_empty());
        fs::remove_file(&file).unwrap();
        assert!(library.shelf().problems.is_empty());
    }

    #[test]
    fn files_beyond_the_most_are_told() {
        let folder = tempfile::tempdir().unwrap();
        let library = Library::new(&[], vec![folder.path().to_owned()]);
        for number in 0..MOST_FILES {
            let text = MINIMAL.replace("small", &format!("t{number}"));
            fs::write(folder.path().join(format!("a{number}.yaml")), text).unwrap();
        }
        assert_eq!(library.shelf().problems, []);
        fs::write(folder.path().join("small.yaml"), MINIMAL).unwrap();
        let shelf = library.shelf();
        assert_eq!(shelf.all().count(), MOST_FILES);
        let why = shelf.problem_of("small").unwrap();
        assert!(
            why.starts_with("small.yaml:") && why.contains("not read"),
            "{why}"
        );
    }

    #[test]
    fn the_newest_version_is_the_one_meant() {
        let mut shelf = Shelf::default();
        for version in ["1.9.0", "1.10.0", "1.2.0"] {
            shelf.add("a.yaml", &MINIMAL.replace("1.0.0", version));
        }
        shelf.add("b.yaml", &MINIMAL.replace("1.0.0", "1.9.0"));
        assert_eq!(shelf.find("small", None).unwrap().version, "1.10.0");
        assert!(shelf.find("small", Some("1.2.0")).is_some());
        assert!(shelf.find("small", Some("3.0.0")).is_none());
        assert_eq!(shelf.problems.len(), 1);
    }

    #[test]
    fn templates_are_json_as_well_and_a_check_turns_them_down() {
        let folder = tempfile::tempdir().unwrap();
        let text = r#"{
            "id": "small", "version": "1.0.0", "name": "Small",
            "steps": [{"id": "a", "tool": "time.now", "args": {"zone": "{{ inputs.zone }}"}}]
        }"#;
        fs::write(folder.path().join("small.json"), text).unwrap();
        fs::write(folder.path().join("notes.txt"), text).unwrap();
        let library = || Library::new(&[], vec![folder.path().to_owned()]);
        let shelf = library().shelf();
        assert_eq!(shelf.problems, []);
        assert_eq!(shelf.files, 1);
        let template = shelf.find("small", None).unwrap();
        assert_eq!(template.calls().next().unwrap().1.place.line, 3);
        let refuses: Check = |template| {
            vec![Problem {
                file: template.file.clone(),
                place: Place { line: 2, column: 1 },
                message: "no".to_owned(),
            }]
        };
        let shelf = library().checked_by(refuses).shelf();
        assert!(shelf.find("small", None).is_none());
        let told = shelf.problems.first().unwrap().to_string();
        assert!(told.ends_with("small.json:2:1: no"), "{told}");
    }
}
