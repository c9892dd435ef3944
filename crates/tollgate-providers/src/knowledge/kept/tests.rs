//! A folder of versions that is full, shared, damaged, or left by a crash.

use super::*;

const NOW: Timestamp = Timestamp(1_000_000_000_000);

fn later(seconds: i64) -> Timestamp {
    Timestamp(NOW.0 + seconds * 1000)
}

struct Shop {
    folder: tempfile::TempDir,
    kept: Kept,
}

fn shop(limit: u64) -> Shop {
    let folder = tempfile::tempdir().unwrap();
    let kept = Kept::new(folder.path().join("knowledge"), limit);
    Shop { folder, kept }
}

impl Shop {
    /// Keeps a base with this sentence; gives its version.
    fn keep(&self, said: &str, until: Timestamp, now: Timestamp) -> Result<String, KeepError> {
        let path = self.folder.path().join("tea.json");
        let text = format!("{{\"nodes\": {{\"root\": {{\"response\": \"{said}\"}}}}}}");
        fs::write(&path, text).unwrap();
        let (base, stamp) = tollgate_knowledge::load(&path, Limits::default());
        let version = base.unwrap().version().to_owned();
        let pack = |out: &mut dyn Write| stamp.pack(&version, out);
        self.kept.put("tea", &version, until, now, pack)?;
        Ok(version)
    }

    fn has(&self, version: &str) -> bool {
        self.kept.get("tea", version).unwrap().is_some()
    }

    fn files(&self) -> usize {
        fs::read_dir(&self.kept.folder).unwrap().count()
    }
}

#[test]
fn a_version_is_swept_when_its_time_is_over_and_not_before() {
    let shop = shop(1 << 20);
    let one = shop.keep("one", later(60), NOW).unwrap();
    let two = shop.keep("two", later(60), NOW).unwrap();
    assert!(shop.kept.note("tea", &two, later(100)).unwrap());
    // A process with a shorter time takes nothing away from the others.
    assert!(shop.kept.note("tea", &two, later(10)).unwrap());
    shop.kept.sweep(later(60)).unwrap();
    assert!(shop.has(&one) && shop.has(&two));
    shop.kept.sweep(later(61)).unwrap();
    assert!(!shop.has(&one) && shop.has(&two));
    assert!(!shop.kept.note("tea", &one, later(200)).unwrap());
    shop.kept.sweep(later(101)).unwrap();
    assert!(!shop.has(&two));
}

#[test]
fn of_two_who_write_the_same_the_longer_need_counts() {
    let shop = shop(1 << 20);
    let one = shop.keep("one", later(100), NOW).unwrap();
    // Another process, with shorter sessions, that has not seen it being written.
    assert_eq!(shop.keep("one", later(10), NOW).unwrap(), one);
    shop.kept.sweep(later(99)).unwrap();
    assert!(shop.has(&one));
    assert_eq!(shop.files(), 2, "nothing is left beside the lock");
}

#[test]
fn what_is_no_version_does_not_stop_the_sweep() {
    let shop = shop(1 << 20);
    let one = shop.keep("one", later(60), NOW).unwrap();
    let strange = shop.kept.folder.join("strange.kept");
    fs::create_dir(&strange).unwrap();
    shop.kept.sweep(later(61)).unwrap();
    assert!(!shop.has(&one) && strange.exists());
    shop.keep("two", later(200), later(61)).unwrap();
}

#[test]
fn a_full_folder_says_so_and_keeps_what_is_there() {
    let shop = shop(500);
    let one = shop.keep("one", later(60), NOW).unwrap();
    let mut kept = vec![one];
    let full = loop {
        match shop.keep(&format!("more {}", kept.len()), later(60), NOW) {
            Ok(version) => kept.push(version),
            Err(error) => break error,
        }
        assert!(kept.len() < 20);
    };
    assert!(matches!(full, KeepError::Full { limit: 500, .. }), "{full}");
    let told = full.to_string();
    assert!(told.contains("session_ttl_seconds"), "{told}");
    assert!(kept.iter().all(|version| shop.has(version)));
    let length = |version: &String| fs::metadata(shop.kept.path("tea", version)).unwrap().len();
    let used = kept.iter().map(length).sum::<u64>();
    let nearly = Kept::new(shop.kept.folder.clone(), used);
    assert_eq!(nearly.complaint(), Some(nearly.full().to_string()));
    let roomy = Kept::new(shop.kept.folder.clone(), used * 2);
    assert_eq!(roomy.complaint(), None);
    assert_eq!(
        shop.files(),
        kept.len() + 1,
        "nothing is left beside the lock"
    );
    // What is past its time makes room.
    let last = shop.keep("last", later(200), later(61)).unwrap();
    assert!(shop.has(&last) && !shop.has(&kept[0]));
}

#[test]
fn one_that_could_never_fit_is_not_written_to_its_end() {
    let shop = shop(64);
    let error = shop
        .keep(&"long ".repeat(10_000), later(60), NOW)
        .unwrap_err();
    assert!(matches!(error, KeepError::Full { .. }), "{error}");
    assert_eq!(shop.files(), 0);
}

#[test]
fn what_a_crash_left_is_swept_and_what_is_damaged_is_told() {
    let shop = shop(1 << 20);
    let one = shop.keep("one", later(60), NOW).unwrap();
    let path = shop.kept.path("tea", &one);
    let left = path.with_extension(format!("1.{NEW}"));
    fs::write(&left, "half").unwrap();
    let now = changed(&fs::metadata(&left).unwrap());
    shop.kept.note("tea", &one, Timestamp(now.0 * 2)).unwrap();
    shop.kept.sweep(now).unwrap();
    assert!(left.exists());
    shop.kept.sweep(Timestamp(now.0 + 3_700_000)).unwrap();
    assert!(!left.exists());
    let mut bytes = fs::read(&path).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    fs::write(&path, bytes).unwrap();
    let error = shop.kept.get("tea", &one).unwrap_err();
    assert!(matches!(error, KeepError::Pack(_)), "{error}");
    // A version under another's name is not taken for it.
    let two = shop.keep("two", later(60), NOW).unwrap();
    fs::copy(shop.kept.path("tea", &two), &path).unwrap();
    let error = shop.kept.get("tea", &one).unwrap_err().to_string();
    assert!(error.contains(&two), "{error}");
}
