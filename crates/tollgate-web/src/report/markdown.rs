//! The report as Markdown.

use super::{Content, SourceNote, link};

pub(super) fn write(content: &Content<'_>) -> String {
    let labels = content.labels;
    let mut out = String::new();
    let mut line = |text: &str| {
        out.push_str(text);
        out.push('\n');
    };
    line(&format!(
        "# {}: {}\n",
        labels.title,
        escaped(&content.question)
    ));
    line(&format!("> {}\n", labels.warning));
    line(&format!("{}\n", counted(content)));
    line(&format!("## {}\n", labels.in_short));
    if content.evidence.is_empty() {
        line(labels.nothing);
    }
    for one in content.in_short() {
        line(&format!("- {} [{}]", escaped(&one.quote), one.source));
    }
    if !content.differences.is_empty() {
        line(&format!("\n## {}\n", labels.differences));
        line(&format!("{}\n", labels.differences_note));
        for difference in content.differences {
            let [one, other] = difference.sources;
            if let Some([mine, theirs]) = &difference.values {
                let (mine, theirs) = (escaped(mine), escaped(theirs));
                line(&format!(
                    "- **{mine}** [{one}] {} **{theirs}** [{other}]",
                    labels.against
                ));
            } else {
                line(&format!("- [{one}] {} [{other}]", labels.against));
            }
            for (number, quote) in difference.sources.iter().zip(&difference.quotes) {
                line(&format!("  - {} [{number}]", escaped(quote)));
            }
        }
    }
    if !content.cautions.is_empty() {
        line(&format!("\n## {}\n", labels.limits));
        for caution in content.cautions {
            line(&format!("- {}", escaped_text(caution)));
        }
    }
    line(&format!("\n## {}\n", labels.evidence));
    for one in content.evidence {
        let name = content.source(one.source).map_or("", SourceNote::name);
        line(&format!("{}. {}", one.number, escaped(&one.quote)));
        let mut about = format!(
            "   — [{}] {}, {} {}–{}",
            one.source,
            escaped(name),
            labels.characters,
            one.start,
            one.end
        );
        if !one.also.is_empty() {
            let also: Vec<String> = one
                .also
                .iter()
                .map(|number| format!("[{number}]"))
                .collect();
            about.push_str(&format!("; {} {}", labels.also, also.join(" ")));
        }
        line(&about);
    }
    line(&format!("\n## {}\n", labels.sources));
    for source in content.sources {
        line(&listed(source, labels.not_read));
    }
    line(&format!("\n## {}\n", labels.method_title));
    line(labels.method);
    out
}

/// How much there is of everything.
pub(super) fn counted(content: &Content<'_>) -> String {
    let failed = content
        .sources
        .iter()
        .filter(|one| one.failure.is_some())
        .count();
    let read = content.sources.len() - failed;
    content
        .labels
        .counted([read, content.evidence.len(), failed])
}

fn listed(source: &SourceNote, not_read: &str) -> String {
    let name = escaped(source.name());
    let mut text = match link(&source.url) {
        Some(url) => {
            let address = url.as_str().replace('(', "%28").replace(')', "%29");
            format!("- [{}] [{name}]({address})", source.number)
        }
        None => format!("- [{}] {name}", source.number),
    };
    if let Some(failure) = &source.failure {
        text.push_str(&format!(" — {not_read}: {}", escaped(failure)));
        return text;
    }
    if let Some(at) = &source.fetched_at {
        text.push_str(&format!(" — {}", escaped(at)));
    }
    if let Some(digest) = &source.digest {
        text.push_str(&format!(" — sha256 `{digest}`"));
    }
    text
}

/// Text that shows as it is: nothing in it is markup.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '~' => {
                out.push('\\');
                out.push(c);
            }
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

/// The same for sentences of ours, whose brackets are citations.
fn escaped_text(text: &str) -> String {
    text.replace('<', "\\<")
        .replace('*', "\\*")
        .replace('_', "\\_")
}
