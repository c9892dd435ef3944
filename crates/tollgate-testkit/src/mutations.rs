//! Fuzz targets without a fuzzer: the seeds of a target, and small changes of them that are the same in every run.

use std::{fs, io, path::Path};

/// What readers of text formats often trip over.
const TOKENS: &[&[u8]] = &[
    b"\"",
    b"\\",
    b"\\u0000",
    b"\\ud800",
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"\n",
    b"\r\n",
    b"\0",
    b"-0",
    b"1e999",
    b"18446744073709551616",
    b"null",
    b"\xff",
    "\u{200b}".as_bytes(),
    "é".as_bytes(),
    b"%%",
];
/// The longest stretch that is taken out, repeated or taken over at once.
const STRETCH: usize = 16;
/// The most changes of one input.
const CHANGES: u64 = 4;

/// Gives every seed of a target, and then so many changed ones, to a function that panics at what must not be.
pub fn run_mutations(seeds: &Path, count: usize, check: fn(&[u8])) -> io::Result<()> {
    let seeds = read_seeds(seeds)?;
    let mut mutator = Mutator(0x9e37_79b9_7f4a_7c15);
    let unchanged = seeds.iter().cloned();
    let changed = (0..count).map(|_| mutator.changed(&seeds));
    for input in unchanged.chain(changed) {
        let shown = Shown(&input);
        check(&input);
        drop(shown);
    }
    Ok(())
}

/// The files of a folder, in the order of their names.
fn read_seeds(folder: &Path) -> io::Result<Vec<Vec<u8>>> {
    let entries = fs::read_dir(folder)?.map(|entry| Ok(entry?.path()));
    let mut paths = entries.collect::<io::Result<Vec<_>>>()?;
    paths.sort();
    paths.iter().map(fs::read).collect()
}

/// Shows the input at which a test ends.
struct Shown<'a>(&'a [u8]);

impl Drop for Shown<'_> {
    #[expect(clippy::print_stderr, reason = "it is the message of a failed test")]
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the input is b\"{}\"", self.0.escape_ascii());
        }
    }
}

/// Xorshift: the same numbers in every run.
struct Mutator(u64);

impl Mutator {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A number below `end`; 0 if there is none.
    fn below(&mut self, end: usize) -> usize {
        let number = usize::try_from(self.next() >> 33).unwrap_or(0);
        number.checked_rem(end).unwrap_or(0)
    }

    fn changed(&mut self, seeds: &[Vec<u8>]) -> Vec<u8> {
        let mut input = seeds
            .get(self.below(seeds.len()))
            .cloned()
            .unwrap_or_default();
        for _ in 0..=self.next() % CHANGES {
            self.change(&mut input, seeds);
        }
        input
    }

    fn change(&mut self, input: &mut Vec<u8>, seeds: &[Vec<u8>]) {
        let at = self.below(input.len() + 1);
        let end = at + self.below(STRETCH).min(input.len() - at);
        match self.next() % 6 {
            0 => {
                let bit = self.below(8);
                if let Some(byte) = input.get_mut(at) {
                    *byte ^= 1 << bit;
                }
            }
            1 => drop(input.drain(at..end)),
            2 => {
                let again = input[at..end].to_vec();
                drop(input.splice(at..at, again));
            }
            3 => {
                let token = TOKENS[self.below(TOKENS.len())];
                drop(input.splice(at..at, token.iter().copied()));
            }
            4 => {
                let other = seeds
                    .get(self.below(seeds.len()))
                    .map_or(&[][..], Vec::as_slice);
                let from = self.below(other.len() + 1);
                let to = other.len().min(from + STRETCH);
                drop(input.splice(at..end, other[from..to].iter().copied()));
            }
            _ => input.insert(at, u8::try_from(self.below(256)).unwrap_or(0)),
        }
    }
}
