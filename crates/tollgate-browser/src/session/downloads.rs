//! Files that pages had us download, each in the session's own folder and never larger than it may be.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde::Serialize;

use super::Session;
use crate::protocol::{
    commands::CancelDownload,
    events::{DownloadBegins, DownloadProgress},
    pipe::Connection,
};

/// How many downloads are remembered.
const DOWNLOADS: usize = 50;

/// A file that a page had us download.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Download {
    /// Its id.
    pub id: String,
    /// Where it came from.
    pub url: String,
    /// What it is called.
    pub filename: String,
    /// Where it is.
    #[serde(skip)]
    pub path: PathBuf,
    /// What it goes by where it was handed over.
    #[serde(rename = "artifactId", skip_serializing_if = "Option::is_none")]
    pub artifact: Option<String>,
    /// How large it is, in bytes.
    pub size: u64,
    /// Whether all of it is there.
    pub completed: bool,
    /// Why it is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl Download {
    /// Whether more of it may come.
    fn is_going_on(&self) -> bool {
        !self.completed && self.error.is_none()
    }
}

/// Forgets one where there are as many as are remembered: the oldest that has ended, else the oldest.
fn make_room(all: &mut Vec<Download>) -> Option<Download> {
    if all.len() < DOWNLOADS {
        return None;
    }
    let ended = all.iter().position(|it| !it.is_going_on());
    Some(all.remove(ended.unwrap_or(0)))
}

impl Session {
    /// What was downloaded, the last one last.
    pub fn downloads(&self) -> Vec<Download> {
        self.downloaded().clone()
    }

    /// Says what a download goes by where it was handed over.
    pub fn handed_over(&self, id: &str, artifact: &str) {
        let mut all = self.downloaded();
        if let Some(download) = all.iter_mut().find(|it| it.id == id) {
            download.artifact = Some(artifact.to_owned());
        }
    }

    /// Remembers a download; gives the one that is to be stopped because nobody remembers it now.
    pub(crate) fn download(&self, begins: &DownloadBegins) -> Option<String> {
        let mut all = self.downloaded();
        let forgotten = make_room(&mut all);
        let stopped = forgotten.and_then(|oldest| {
            // Nobody could find it any more.
            let _ = fs::remove_file(&oldest.path);
            oldest.is_going_on().then_some(oldest.id)
        });
        all.push(Download {
            id: begins.guid.clone(),
            url: begins.url.clone(),
            filename: file_name(&begins.suggested_filename),
            path: self.folder.join(&begins.guid),
            artifact: None,
            size: 0,
            completed: false,
            error: None,
        });
        stopped
    }

    pub(crate) fn downloading(&self, connection: &Connection, progress: &DownloadProgress) {
        let most = self
            .browser
            .upgrade()
            .map_or(0, |it| it.settings.limits.download_bytes);
        let mut all = self.downloaded();
        let Some(download) = all.iter_mut().find(|it| it.id == progress.guid) else {
            return;
        };
        download.size = crate::page::element::whole(progress.received_bytes).unsigned_abs();
        match progress.state.as_str() {
            "completed" => {
                download.completed = true;
                let named = free_name(&self.folder, &download.filename);
                if fs::rename(&download.path, &named).is_ok() {
                    download.path = named;
                }
            }
            "canceled" => {
                download
                    .error
                    .get_or_insert_with(|| "it was cancelled".to_owned());
            }
            _ if download.size > most && download.error.is_none() => {
                download.error = Some(format!("it is larger than {most} bytes"));
                let context = self.place.try_lock().ok();
                let context = context.as_ref().and_then(|it| it.as_ref());
                if let Some(place) = context {
                    let cancel = CancelDownload {
                        guid: progress.guid.clone(),
                        browser_context_id: place.context.clone(),
                    };
                    connection.tell(None, &cancel);
                } else {
                    // Asked again with the next piece.
                    download.error = None;
                }
            }
            _ => {}
        }
    }
}

/// A name without folders and without surprises.
fn file_name(suggested: &str) -> String {
    let name: String = suggested
        .chars()
        .map(|c| {
            if c.is_control() || "/\\:*?\"<>|".contains(c) {
                '_'
            } else {
                c
            }
        })
        .take(120)
        .collect();
    let name = name.trim_matches(['.', ' ']).to_owned();
    if name.is_empty() {
        "download".to_owned()
    } else {
        name
    }
}

/// A path for a name that nothing has yet.
fn free_name(folder: &Path, name: &str) -> PathBuf {
    let plain = folder.join(name);
    if !plain.exists() {
        return plain;
    }
    (2..1000)
        .map(|number| folder.join(format!("{number}-{name}")))
        .find(|path| !path.exists())
        .unwrap_or(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn download(id: usize, completed: bool) -> Download {
        Download {
            id: id.to_string(),
            url: String::new(),
            filename: String::new(),
            path: PathBuf::new(),
            artifact: None,
            size: 0,
            completed,
            error: None,
        }
    }

    #[test]
    fn one_that_goes_on_is_forgotten_last_and_never_silently() {
        let mut all: Vec<Download> = (0..DOWNLOADS).map(|it| download(it, it == 7)).collect();
        let forgotten = make_room(&mut all).unwrap();
        assert_eq!(
            (forgotten.id.as_str(), forgotten.is_going_on()),
            ("7", false)
        );
        assert!(make_room(&mut all).is_none(), "there is room");
        all.push(download(99, false));
        let forgotten = make_room(&mut all).unwrap();
        assert_eq!(
            (forgotten.id.as_str(), forgotten.is_going_on()),
            ("0", true)
        );
    }
}
