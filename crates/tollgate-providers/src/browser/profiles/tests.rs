//! What is kept, without a browser: files, locks and seals.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use serde_json::json;
use tollgate_browser::{Keeper as _, Kept, KeptTab};
use tollgate_core::{SealError, Sealer};

use super::*;

/// Seals by turning bits around, and remembers for where; the real one has tests of its own.
struct Turn(u8);

impl Sealer for Turn {
    fn seal(&self, place: &str, plain: &[u8]) -> Result<Vec<u8>, SealError> {
        let mut whole = format!("{}{place}\n", self.0).into_bytes();
        whole.extend(plain.iter().map(|it| !it));
        Ok(whole)
    }

    fn open(&self, place: &str, sealed: &[u8]) -> Result<Vec<u8>, SealError> {
        let mark = format!("{}{place}\n", self.0);
        let rest = sealed.strip_prefix(mark.as_bytes());
        let rest = rest.ok_or(SealError::NotOurs)?;
        Ok(rest.iter().map(|it| !it).collect())
    }
}

fn profiles(root: &Path, key: u8) -> Arc<Profiles> {
    let vault = Vault(Some(Arc::new(Turn(key))));
    Arc::new(Profiles::new(root, vault))
}

fn state(user: &str) -> Kept {
    let cookie = json!({"name": "user", "value": user, "domain": "shop.test", "path": "/"});
    Kept {
        cookies: vec![serde_json::from_value(cookie).unwrap()],
        origins: BTreeMap::from([(
            "https://pay.test".to_owned(),
            BTreeMap::from([("token".to_owned(), format!("word of {user}"))]),
        )]),
        tabs: Vec::new(),
    }
}

fn name(text: &str) -> ProfileName {
    ProfileName::new(text).unwrap()
}

#[test]
fn a_profile_belongs_to_its_owner_and_its_key() {
    let root = tempfile::tempdir().unwrap();
    let all = profiles(root.path(), 1);
    let shelf = Shelf::named(&all, "local ada", &name("work"));
    assert!(shelf.load().unwrap().is_empty());
    shelf.save(&Kept::default(), &state("ada")).unwrap();
    // Closing a session does not end a profile.
    shelf.ended();
    assert_eq!(shelf.load().unwrap(), state("ada"));
    let eve = Shelf::named(&all, "remote eve", &name("work"));
    assert!(eve.load().unwrap().is_empty());
    let other_key = Shelf::named(&profiles(root.path(), 2), "local ada", &name("work"));
    assert!(other_key.load().unwrap_err().contains("another key"));
    assert!(other_key.save(&Kept::default(), &state("eve")).is_err());

    let listed = all.list().unwrap();
    assert_eq!(listed.len(), 1);
    assert_eq!(
        (
            listed[0].name.as_str(),
            listed[0].owner.as_str(),
            listed[0].cookies
        ),
        ("work", "local ada", 1)
    );
    assert_eq!(listed[0].sites, ["pay.test", "shop.test"]);
    let locked = profiles(root.path(), 2).list().unwrap();
    assert!(locked[0].problem.is_some() && locked[0].sites.is_empty());

    let exported = serde_json::to_value(all.export("local ada", &name("work")).unwrap()).unwrap();
    assert_eq!(exported["cookies"][0]["expires"], -1.0);
    assert_eq!(
        exported["origins"][0]["localStorage"][0],
        json!({"name": "token", "value": "word of ada"})
    );
    let back = serde_json::from_value(exported).unwrap();
    all.import("local ada", &name("copy"), back).unwrap();
    let copy = Shelf::named(&all, "local ada", &name("copy"))
        .load()
        .unwrap();
    assert_eq!(copy.origins, state("ada").origins);
    all.delete("local ada", &name("work")).unwrap();
    for gone in [
        all.delete("local ada", &name("work")),
        all.export("local ada", &name("work")).map(drop),
    ] {
        assert!(matches!(gone, Err(ProfileError::Unknown(_))));
    }

    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let path = root
            .path()
            .join(Profiles::place("local ada", &name("copy")));
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
    }
}

#[test]
fn pages_are_kept_as_long_as_a_session_lives() {
    let root = tempfile::tempdir().unwrap();
    let all = profiles(root.path(), 1);
    let ttl = Duration::from_secs(3600);
    let shelf = Shelf::pages(&all, "local ada", "default", ttl);
    let mut kept = state("ada");
    kept.tabs.push(KeptTab {
        id: "tab_1".into(),
        url: "https://shop.test/".into(),
        is_active: true,
    });
    shelf.save(&Kept::default(), &kept).unwrap();
    assert_eq!(shelf.load().unwrap(), kept);
    let other = Shelf::pages(&all, "local ada", "other", ttl);
    assert!(other.load().unwrap().is_empty());
    assert!(all.list().unwrap().is_empty());
    // With another key one begins anew.
    let anew = Shelf::pages(&profiles(root.path(), 2), "local ada", "default", ttl);
    assert!(anew.load().unwrap().is_empty());
    shelf.save(&Kept::default(), &kept).unwrap();
    shelf.ended();
    assert!(shelf.load().unwrap().is_empty());
    shelf.save(&Kept::default(), &kept).unwrap();
    let over = Shelf::pages(&all, "local ada", "default", Duration::ZERO);
    assert!(over.load().unwrap().is_empty());
    assert_eq!(sealed_in(&root.path().join(PAGES)).count(), 0);
}

#[test]
fn names_are_plain_and_profiles_few() {
    for bad in ["", "Work", "a b", "../x", "-a", "é", &"a".repeat(65)] {
        assert!(ProfileName::new(bad).is_err(), "{bad}");
    }
    let root = tempfile::tempdir().unwrap();
    let all = profiles(root.path(), 1);
    for it in 0..MOST {
        let shelf = Shelf::named(&all, "local ada", &name(&format!("p{it}")));
        shelf.save(&Kept::default(), &Kept::default()).unwrap();
    }
    let more = Shelf::named(&all, "local ada", &name("more"));
    assert!(more.save(&Kept::default(), &state("ada")).is_err());
    let without = Arc::new(Profiles::new(root.path(), Vault::default()));
    let none = Shelf::named(&without, "local ada", &name("p1"));
    assert!(none.load().unwrap_err().contains("no key"));
    assert!(!without.can_keep() && format!("{without:?}").contains("Vault"));
}

#[test]
fn without_a_key_that_is_said_before_anybody_relies_on_it() {
    let folder = tempfile::tempdir().unwrap();
    let none = Profiles::new(folder.path(), Vault(None));
    assert!(matches!(none.check(), Err(SealError::NoKey(_))));
}
