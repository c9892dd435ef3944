//! `tollgate knowledge try`: a base in the terminal, as a user would walk it.
//!
//! A number or an id chooses, everything else is the user's own words.

use std::{
    fs,
    io::{self, BufRead as _, IsTerminal as _, Write as _},
    path::Path,
};

use serde_json::{Value, json};
use tollgate_knowledge::{Library, Session, StepError, Transcript, View};

use super::{arguments::Try, library, paths};
use crate::frontends::cli::{
    Exit, Scene, Stop,
    console::{Paint, visible_lines},
};

/// Words that leave.
const LEAVE: [&str; 4] = ["quit", "exit", ":q", "q"];
/// Words that always work, whether or not they are on offer.
const ALWAYS: [&str; 3] = ["back", "restart", "why"];

pub(super) fn run(it: &Try, scene: &Scene<'_>) -> Result<Exit, Stop> {
    let library = library(&paths(&it.bases, scene)?, scene)?;
    let mut terminal = Terminal {
        scene,
        is_person: io::stdin().is_terminal(),
    };
    let Some((query, session, view)) = begun(it, &library, &mut terminal)? else {
        return Ok(Exit::Ok);
    };
    let mut walk = Walked {
        transcript: Transcript::new(&query, &session, &view),
        views: vec![json!(view)],
    };
    go_on(&library, session, view, &mut walk, &mut terminal)?;
    if let Some(file) = &it.save {
        let path = scene.environment.current_dir.join(file);
        save(&path, &walk.transcript)?;
        scene.console.note(&format!("saved to {}", file.display()));
    }
    if scene.console.is_json() {
        scene
            .console
            .json(&json!({"query": query, "steps": walk.views}))?;
    }
    Ok(Exit::Ok)
}

/// What was walked so far.
struct Walked {
    transcript: Transcript,
    views: Vec<Value>,
}

/// The first question and its answer; nothing if there is none.
fn begun(
    it: &Try,
    library: &Library,
    terminal: &mut Terminal<'_>,
) -> Result<Option<(String, Session, View)>, Stop> {
    let mut asked = it.query.clone();
    loop {
        let query = match asked.take() {
            Some(query) => query,
            None => match terminal.read("question")? {
                Some(line) => line,
                None => return Ok(None),
            },
        };
        match library.start(&query) {
            Ok((session, view)) => {
                terminal.show(&view)?;
                return Ok(Some((query, session, view)));
            }
            Err(StepError::EmptyQuery) if it.query.is_none() => {}
            Err(error) => return Err(Stop::usage(error.to_string())),
        }
    }
}

fn go_on(
    library: &Library,
    mut session: Session,
    mut view: View,
    walk: &mut Walked,
    terminal: &mut Terminal<'_>,
) -> Result<(), Stop> {
    while !view.is_complete {
        let Some(line) = terminal.read("")? else {
            return Ok(());
        };
        let line = line.trim();
        if line.is_empty() {
            terminal.show(&view)?;
            continue;
        }
        let is_offered = view.options.iter().any(|offer| offer.id == line);
        if LEAVE.contains(&line) && !is_offered {
            return Ok(());
        }
        let (option, input) = meant(line, &view);
        match library.step(&session, &option, input.as_deref()) {
            Ok((next, answer)) => {
                walk.transcript
                    .step(&option, input.as_deref(), &next, &answer);
                walk.views.push(json!(answer));
                (session, view) = (next, answer);
                terminal.show(&view)?;
            }
            Err(error) => terminal.say(Paint::Warn, &error.to_string())?,
        }
    }
    Ok(())
}

/// The option that a line chooses, and the words it brings.
fn meant(line: &str, view: &View) -> (String, Option<String>) {
    let by_number = line
        .parse::<usize>()
        .ok()
        .and_then(|number| view.options.get(number.checked_sub(1)?));
    let asks_for_words = view
        .options
        .iter()
        .any(|offer| offer.id == "provide_more_info");
    let words = || ("provide_more_info".to_owned(), Some(line.to_owned()));
    let is_offered = view.options.iter().any(|offer| offer.id == line);
    match by_number {
        _ if is_offered && line != "provide_more_info" => (line.to_owned(), None),
        // Where a number is asked for, a number is the answer.
        Some(offer) if offer.id != "provide_more_info" && !asks_for_words => {
            (offer.id.clone(), None)
        }
        Some(_) | None if ALWAYS.contains(&line) => (line.to_owned(), None),
        Some(_) | None => words(),
    }
}

/// Adds a conversation to a file, or begins one.
fn save(path: &Path, transcript: &Transcript) -> Result<(), Stop> {
    let wrong = |error: io::Error| Stop::failed(format!("{}: {error}", path.display()));
    let text = match fs::read_to_string(path) {
        Ok(known) if known.trim().is_empty() => transcript.file(),
        Ok(known) => format!("{}\n{}", known.trim_end(), transcript.entry()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => transcript.file(),
        Err(error) => return Err(wrong(error)),
    };
    fs::write(path, text).map_err(wrong)
}

struct Terminal<'a> {
    scene: &'a Scene<'a>,
    is_person: bool,
}

impl Terminal<'_> {
    /// One line of what is typed; nothing at the end.
    fn read(&mut self, ask: &str) -> Result<Option<String>, Stop> {
        if self.is_person {
            let mut error = io::stderr().lock();
            write!(error, "{ask}> ")?;
            error.flush()?;
        }
        let mut line = String::new();
        let count = io::stdin().lock().read_line(&mut line)?;
        Ok((count > 0).then_some(line))
    }

    fn say(&self, paint: Paint, text: &str) -> Result<(), Stop> {
        let console = self.scene.console;
        Ok(console.line(&console.paint(paint, &visible_lines(text)))?)
    }

    /// The answer as an agent would show it.
    fn show(&self, view: &View) -> Result<(), Stop> {
        let console = self.scene.console;
        console.line("")?;
        let matched = view
            .matched
            .map_or(String::new(), |matched| format!(" ({})", matched.as_str()));
        let step = format!("[{} · {}{matched}]", view.knowledge_base, view.current_step);
        self.say(Paint::Faint, &step)?;
        if !view.response.is_empty() {
            console.line(&visible_lines(&view.response))?;
        }
        let wide = view.options.len().to_string().len();
        for (at, offer) in view.options.iter().enumerate() {
            let number = console.paint(Paint::Strong, &format!("{:>wide$}.", at + 1));
            let id = console.paint(Paint::Faint, &format!("({})", visible_lines(&offer.id)));
            console.line(&format!(
                "  {number} {} {id}",
                visible_lines(&offer.description)
            ))?;
        }
        if view.is_complete {
            self.say(Paint::Good, "The session is over.")?;
        }
        Ok(())
    }
}
