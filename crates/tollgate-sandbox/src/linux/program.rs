//! The memory that the program takes: its own text, and what is left at the end.
//!
//! Most of what runs at the start is not run again, but stays resident: the kernel maps whole
//! runs of pages around each one that is touched. Given back, only what is used comes again,
//! from the page cache. Invariant: only pages that nobody can have written to are given back.

#![expect(
    unsafe_code,
    reason = "giving memory back has no safe interface; it says why it is sound"
)]

use std::{ffi::c_void, fs, io, path::Path, ptr};

/// Lets go of the text of this program until it is used again; gives the bytes it spans.
pub fn give_back_program() -> io::Result<usize> {
    let program = fs::read_link("/proc/self/exe")?;
    let maps = fs::read_to_string("/proc/self/maps")?;
    let mut bytes = 0;
    for (start, end) in maps.lines().filter_map(|line| text_of(line, &program)) {
        let length = end.saturating_sub(start);
        let begin: *mut c_void = ptr::with_exposed_provenance_mut(start);
        // SAFETY: the range is one mapping of our own file, private and not writable, so each
        // of its pages is what the file holds; the next use reads the same bytes again.
        let given = unsafe { libc::madvise(begin, length, libc::MADV_DONTNEED) };
        if given != 0 {
            return Err(io::Error::last_os_error());
        }
        bytes += length;
    }
    Ok(bytes)
}

/// Ends the process without giving its memory back piece by piece first: the system takes it at once.
///
/// Nothing that runs at an ordinary end is run, so what was printed must have been written.
pub fn end(code: u8) -> ! {
    // SAFETY: there is nothing to uphold; no code of ours runs after it.
    unsafe { libc::_exit(i32::from(code)) }
}

/// Where a line of `maps` says that text of the program lies.
fn text_of(line: &str, program: &Path) -> Option<(usize, usize)> {
    let mut words = line.splitn(6, ' ').map(str::trim);
    let (range, access) = (words.next()?, words.next()?);
    let file = words.nth(3)?;
    if access != "r-xp" || Path::new(file) != program {
        return None;
    }
    let (start, end) = range.split_once('-')?;
    let number = |text: &str| usize::from_str_radix(text, 16).ok();
    Some((number(start)?, number(end)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Kilobytes of the program's text that are resident.
    fn resident() -> u64 {
        let program = fs::read_link("/proc/self/exe").unwrap();
        let maps = fs::read_to_string("/proc/self/smaps").unwrap();
        let mut is_text = false;
        let mut found = 0;
        for line in maps.lines() {
            if line
                .split(' ')
                .next()
                .is_some_and(|word| word.contains('-'))
            {
                is_text = text_of(line, &program).is_some();
            } else if let Some(rest) = line.strip_prefix("Rss:").filter(|_| is_text) {
                found += rest.trim().trim_end_matches(" kB").parse::<u64>().unwrap();
            }
        }
        found
    }

    #[test]
    fn text_is_given_back_and_comes_again_when_it_is_used() {
        let program = fs::read_link("/proc/self/exe").unwrap();
        // All of it is touched, so that there is something to give back.
        let text = fs::read(&program).unwrap();
        assert!(!text.is_empty());
        resident();
        let before = resident();
        let bytes = give_back_program().unwrap();
        let after = resident();
        assert!(bytes > 0 && after < before, "{before} kB, then {after} kB");
        // What was let go of runs as before.
        assert!(format!("{:?}", std::time::Instant::now()).contains("Instant"));
    }

    #[test]
    fn only_text_of_the_program_is_meant() {
        let program = Path::new("/usr/bin/some program");
        let line = |access: &str, file: &str| {
            format!("00400000-00452000 {access} 00001000 08:02 173521      {file}")
        };
        assert_eq!(
            text_of(&line("r-xp", "/usr/bin/some program"), program),
            Some((0x40_0000, 0x45_2000))
        );
        for (access, file) in [
            ("rw-p", "/usr/bin/some program"),
            ("r--p", "/usr/bin/some program"),
            ("r-xp", "/lib/libc.so.6"),
            ("r-xp", ""),
        ] {
            assert_eq!(
                text_of(&line(access, file), program),
                None,
                "{access} {file}"
            );
        }
    }
}
