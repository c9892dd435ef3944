//! Keeps the state of one session: a named profile for good, pages for as long as a session
//! lives.

use std::{fs, sync::Arc, time::Duration};

use tollgate_browser::{Keeper, Kept};

use super::{ENDING, PAGES, ProfileName, Profiles, digest, sealed_in};

/// Where the state of one session is kept.
pub(in crate::browser) struct Shelf {
    profiles: Arc<Profiles>,
    place: String,
    owner: String,
    name: String,
    /// How long it is kept, if nobody gave it a name.
    ttl: Option<Duration>,
}

impl Shelf {
    /// A named profile.
    pub(in crate::browser) fn named(
        profiles: &Arc<Profiles>,
        owner: &str,
        name: &ProfileName,
    ) -> Self {
        Self {
            profiles: Arc::clone(profiles),
            place: Profiles::place(owner, name),
            owner: owner.to_owned(),
            name: name.to_string(),
            ttl: None,
        }
    }

    /// The pages of a conversation that outlives its process.
    pub(in crate::browser) fn pages(
        profiles: &Arc<Profiles>,
        owner: &str,
        conversation: &str,
        ttl: Duration,
    ) -> Self {
        let name = digest(&format!("{owner}\n{conversation}"));
        Self {
            profiles: Arc::clone(profiles),
            place: format!("{PAGES}/{name}.{ENDING}"),
            owner: owner.to_owned(),
            name,
            ttl: Some(ttl),
        }
    }

    /// Removes pages that nobody came back to.
    fn sweep(&self, ttl: Duration) {
        for path in sealed_in(&self.profiles.root.join(PAGES)) {
            let modified = fs::metadata(&path).and_then(|it| it.modified());
            let age = modified.ok().and_then(|it| it.elapsed().ok());
            if age.is_some_and(|age| age > ttl) {
                // Somebody else was quicker, or it is tried the next time.
                let _ = fs::remove_file(path);
            }
        }
    }
}

impl Keeper for Shelf {
    fn load(&self) -> Result<Kept, String> {
        if let Some(ttl) = self.ttl {
            self.sweep(ttl);
        }
        match self.profiles.open(&self.place) {
            Ok(document) => Ok(document.map(|it| it.state).unwrap_or_default()),
            // Pages that cannot be opened were nobody's wish to keep; one begins anew.
            Err(_) if self.ttl.is_some() => {
                self.ended();
                Ok(Kept::default())
            }
            Err(error) => Err(error.to_string()),
        }
    }

    fn save(&self, before: &Kept, now: &Kept) -> Result<(), String> {
        let saved = self
            .profiles
            .change(&self.place, &self.owner, &self.name, |there| {
                there.with_changes(before, now)
            });
        saved.map_err(|error| error.to_string())
    }

    fn ended(&self) {
        if self.ttl.is_some() {
            // There may be none.
            let _ = fs::remove_file(self.profiles.root.join(&self.place));
        }
    }

    fn keeps_tabs(&self) -> bool {
        self.ttl.is_some()
    }
}
