//! Recognizes the arguments in a question: paths, file names, addresses and sums. What counts about them is of which
//! kind they are, not how they are spelled.

use super::text::{self, Piece, Style};

/// Longer endings are not file types.
const MAX_EXTENSION: usize = 5;

/// What a chunk of a question turns out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Argument<'text> {
    /// An absolute path, or a relative one that says so.
    Path(&'text str),
    /// A file by its name alone.
    File(&'text str),
    /// A web address with its scheme.
    Url(&'text str),
    /// A host by its name alone.
    Host(&'text str),
    /// The number of a host.
    Ip,
    Email,
    /// Something to work out, such as `3*(4+5)`.
    Sum,
}

impl<'text> Argument<'text> {
    /// Reads a chunk without its surrounding punctuation; `None` where it is a plain word.
    pub(super) fn read(chunk: &'text str) -> Option<Self> {
        if let Some((scheme, rest)) = chunk.split_once("://") {
            return scheme
                .bytes()
                .all(|b| b.is_ascii_alphabetic())
                .then_some(Self::Url(rest));
        }
        if is_path(chunk) {
            return Some(Self::Path(chunk));
        }
        if is_sum(chunk) {
            return Some(Self::Sum);
        }
        if chunk.contains(|c: char| !c.is_alphanumeric() && !"._-@/".contains(c)) {
            return None;
        }
        if chunk
            .split_once('@')
            .is_some_and(|(user, host)| !user.is_empty() && is_host(host))
        {
            return Some(Self::Email);
        }
        let host = chunk.split('/').next().unwrap_or(chunk);
        if is_ip(host) {
            return Some(Self::Ip);
        }
        if is_host(host) {
            return Some(Self::Host(chunk));
        }
        extension(chunk)
            .filter(|extension| {
                FILES
                    .split_whitespace()
                    .any(|known| known.eq_ignore_ascii_case(extension))
            })
            .map(|_| Self::File(chunk))
    }

    /// Hands over the words that say of which kind the argument is, then those it is spelled with that may say more.
    pub(super) fn words(self, sink: &mut dyn FnMut(&str)) {
        match self {
            Self::Path(path) => {
                let (folders, name) = path.rsplit_once('/').unwrap_or_default();
                file(name, sink);
                if extension(name).is_none() {
                    sink("directory");
                }
                spell(folders, sink);
            }
            Self::File(name) => file(name, sink),
            Self::Url(address) => {
                sink("url");
                host(address, sink);
            }
            Self::Host(address) => {
                sink("domain");
                sink("website");
                host(address, sink);
            }
            Self::Ip => sink("ip"),
            Self::Email => sink("email"),
            Self::Sum => sink("calculate"),
        }
    }
}

fn file(name: &str, sink: &mut dyn FnMut(&str)) {
    if let Some(extension) = extension(name) {
        sink("file");
        sink(&extension.to_lowercase());
    }
}

/// The names a host is known by, and the kind of file asked of it.
fn host(address: &str, sink: &mut dyn FnMut(&str)) {
    let (host, path) = address.split_once('/').unwrap_or((address, ""));
    let labels = host.rsplit('.').skip(1).filter(|label| *label != "www");
    for label in labels {
        spell(label, sink);
    }
    if let Some(extension) = path.rsplit('/').next().and_then(extension) {
        sink(&extension.to_lowercase());
    }
}

fn spell(text: &str, sink: &mut dyn FnMut(&str)) {
    text::pieces(text, Style::Prose, &mut |piece| {
        if let Piece::Word(word) = piece {
            sink(word);
        }
    });
}

fn extension(name: &str) -> Option<&str> {
    let (stem, extension) = name.rsplit_once('.')?;
    let plausible = extension.len() <= MAX_EXTENSION
        && extension.bytes().all(|b| b.is_ascii_alphanumeric())
        && extension.bytes().any(|b| b.is_ascii_alphabetic());
    (plausible && !stem.is_empty()).then_some(extension)
}

fn is_path(chunk: &str) -> bool {
    let inside = ["/", "~/", "./", "../"]
        .iter()
        .find_map(|start| chunk.strip_prefix(start));
    inside.is_some_and(|rest| rest.chars().any(char::is_alphanumeric))
}

fn is_ip(chunk: &str) -> bool {
    chunk.parse::<std::net::IpAddr>().is_ok()
}

fn is_host(chunk: &str) -> bool {
    let Some((labels, top)) = chunk.rsplit_once('.') else {
        return false;
    };
    let plain = |label: &str| {
        !label.is_empty()
            && label
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b == b'-')
    };
    labels.split('.').all(plain)
        && TOP_LEVELS
            .split_whitespace()
            .any(|known| known.eq_ignore_ascii_case(top))
}

/// Dates and ranges have dashes and slashes too, so those alone make no sum.
fn is_sum(chunk: &str) -> bool {
    chunk.chars().filter(char::is_ascii_digit).count() >= 2
        && chunk.contains(['+', '*', '^', '×', '÷'])
        && chunk
            .chars()
            .all(|c| c.is_ascii_digit() || "+-*/^×÷().=%".contains(c))
}

/// Endings that make a bare name a file; `js` is left out, for libraries are called so.
const FILES: &str = "\
    avi bmp conf csv css doc docx epub flac gif gz htm html ini jpeg jpg json log md mkv mov mp3 mp4 \
    ogg pdf png ppt pptx py rs rtf sh sql svg tar toml ts tsv txt wav webp xls xlsx xml yaml yml zip \
";

/// Endings that make a bare name a host.
const TOP_LEVELS: &str = "ai app biz cn com de dev edu eu fr gov info io jp net org ru tv uk us";
