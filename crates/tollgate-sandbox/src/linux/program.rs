//! The memory that the program takes: what of its own file is resident, and what is left at the
//! end.
//!
//! Most of what runs or is read at the start is not needed again, but stays resident: the kernel
//! maps whole runs of pages around each one that is touched. Given back, only what is used comes
//! again, from the page cache. Invariant: only pages that nobody can have written to are given
//! back, which the program's own header says of them.

#![expect(
    unsafe_code,
    reason = "giving memory back has no safe interface; it says why it is sound"
)]

use std::{ffi::c_void, io, ptr, slice};

#[cfg(target_pointer_width = "32")]
use libc::Elf32_Phdr as Header;
#[cfg(target_pointer_width = "64")]
use libc::Elf64_Phdr as Header;

/// Lets go of the text and the constants of this program until they are used again; gives the
/// bytes they span.
pub fn give_back_program() -> io::Result<usize> {
    let mut bytes = 0;
    for (start, length) in constant(own_headers(), told(libc::AT_PAGESZ)) {
        let begin: *mut c_void = ptr::with_exposed_provenance_mut(start);
        // SAFETY: the range is a segment of our own file, mapped as private and never writable,
        // so each of its pages is what the file holds; the next use reads the same bytes again.
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

/// A number that the kernel told us when we began; zero if it did not.
fn told(what: libc::c_ulong) -> usize {
    // SAFETY: there is nothing to uphold; it looks a number up.
    let number = unsafe { libc::getauxval(what) };
    usize::try_from(number).unwrap_or_default()
}

/// The headers that the program was loaded by; none if the system does not say where they are.
fn own_headers() -> &'static [Header] {
    let (at, count) = (told(libc::AT_PHDR), told(libc::AT_PHNUM));
    if at == 0 {
        return &[];
    }
    // SAFETY: the kernel mapped so many headers there from our file, for as long as we run, in
    // a segment that is not writable.
    unsafe { slice::from_raw_parts(ptr::with_exposed_provenance(at), count) }
}

/// Where whole pages lie that are loaded from the file and can never be written to, and their
/// length. What the loader changes and makes constant afterwards is in a segment that is writable.
fn constant(headers: &[Header], page: usize) -> Vec<(usize, usize)> {
    let at = headers.as_ptr().expose_provenance();
    let number = |it| usize::try_from(it).unwrap_or_default();
    let own = headers.iter().find(|it| it.p_type == libc::PT_PHDR);
    let moved = own.and_then(|own| at.checked_sub(number(own.p_vaddr)));
    let Some(moved) = moved.filter(|_| page > 0) else {
        return Vec::new();
    };
    let is_constant = |it: &&Header| {
        let is_loaded = it.p_type == libc::PT_LOAD && it.p_filesz > 0;
        is_loaded && it.p_flags & libc::PF_W == 0
    };
    let ranges = headers.iter().filter(is_constant).map(|it| {
        let begin = moved + number(it.p_vaddr);
        let end = begin + number(it.p_filesz);
        let begin = begin / page * page;
        (begin, end.next_multiple_of(page) - begin)
    });
    ranges.collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Kilobytes of the program's file that are resident, by how they may be used.
    fn resident() -> (u64, u64) {
        let program = fs::read_link("/proc/self/exe").unwrap();
        let program = program.to_str().unwrap();
        let maps = fs::read_to_string("/proc/self/smaps").unwrap();
        let mut access = None;
        let (mut text, mut constants) = (0, 0);
        for line in maps.lines() {
            let mut words = line.split_whitespace();
            let first = words.next().unwrap();
            if !first.ends_with(':') {
                access = words.next().filter(|_| line.ends_with(program));
            } else if first == "Rss:" {
                let size: u64 = words.next().unwrap().parse().unwrap();
                match access {
                    Some("r-xp") => text += size,
                    Some("r--p") => constants += size,
                    _ => {}
                }
            }
        }
        (text, constants)
    }

    /// Something that is long and never written.
    static LONG: [u8; 1 << 20] = [7; 1 << 20];

    #[test]
    fn what_is_constant_is_given_back_and_comes_again_when_it_is_used() {
        let sum = || LONG.iter().map(|byte| u64::from(*byte)).sum::<u64>();
        let wanted = std::hint::black_box(sum());
        let before = resident();
        let bytes = give_back_program().unwrap();
        let after = resident();
        assert!(bytes > LONG.len(), "{bytes}");
        assert!(after.0 < before.0, "{before:?} kB, then {after:?} kB");
        assert!(
            after.1 + 1000 < before.1,
            "{before:?} kB, then {after:?} kB"
        );
        // What was let go of runs and reads as before, and what the loader changed is unharmed.
        assert_eq!(std::hint::black_box(sum()), wanted);
        let table: [&dyn std::fmt::Debug; 2] = [&1, &"one"];
        assert_eq!(format!("{table:?}"), "[1, \"one\"]");
    }

    #[test]
    fn only_what_is_loaded_and_never_writable_is_meant() {
        let page = 4096;
        let header = |kind, flags, at, size| {
            // SAFETY: a header is numbers, and zero is one.
            let mut header: Header = unsafe { std::mem::zeroed() };
            (header.p_type, header.p_flags) = (kind, flags);
            (header.p_vaddr, header.p_filesz) = (at, size);
            header
        };
        let (read, run) = (libc::PF_R, libc::PF_R | libc::PF_X);
        let mut all = [
            header(libc::PT_PHDR, read, 0, 300),
            header(libc::PT_LOAD, read, 0, 5000),
            header(libc::PT_LOAD, run, 0x3010, 0x1ff0),
            header(libc::PT_LOAD, libc::PF_R | libc::PF_W, 0x6000, 4096),
            header(libc::PT_GNU_RELRO, read, 0x6000, 4096),
            header(libc::PT_LOAD, read, 0x9000, 0),
        ];
        let moved = all.as_ptr().expose_provenance();
        let first = moved / page * page;
        let found = constant(&all, page);
        assert_eq!(found.len(), 2, "{found:?}");
        assert_eq!(found[0].0, first);
        let end = |at: usize| (moved + at).next_multiple_of(page);
        assert_eq!(found[0].0 + found[0].1, end(5000));
        assert_eq!(found[1].0, (moved + 0x3010) / page * page);
        assert_eq!(found[1].0 + found[1].1, end(0x5000));
        all[0].p_type = libc::PT_NULL;
        assert!(constant(&all, page).is_empty(), "nobody says where it lies");
    }
}
