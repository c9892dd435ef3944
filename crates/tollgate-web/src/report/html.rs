//! The report as one page: no script, nothing from elsewhere, and nothing of a source that is not text.

use super::{Content, Evidence, SourceNote, link, markdown::counted};
use crate::words::is_dense;

const STYLE: &str = include_str!("page.css");
/// How much of a quotation's beginning and end a link names to be found in the page.
const MARKED: usize = 24;

pub(super) fn write(content: &Content<'_>) -> String {
    let labels = content.labels;
    let title = escaped(&content.question);
    let mut out = String::new();
    let mut add = |text: String| out.push_str(&text);
    add(format!(
        "<!doctype html>\n<html lang=\"{}\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n<meta name=\"referrer\" content=\"no-referrer\">\n\
         <title>{}: {title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n",
        labels.language, labels.title
    ));
    add(format!(
        "<header><p class=\"kind\">{}</p><h1>{title}</h1><p class=\"counts\">{}</p></header>\n<p class=\"warning\" role=\"note\">{}</p>\n",
        labels.title,
        counted(content),
        labels.warning
    ));
    add(format!("<section><h2>{}</h2>\n", labels.in_short));
    if content.evidence.is_empty() {
        add(format!("<p>{}</p>\n", labels.nothing));
    } else {
        add("<ul class=\"short\">\n".to_owned());
        for one in content.in_short() {
            add(format!(
                "<li>{} {}</li>\n",
                escaped(&one.quote),
                cite(one.source)
            ));
        }
        add("</ul>\n".to_owned());
    }
    add("</section>\n".to_owned());
    if !content.differences.is_empty() {
        add(differences(content));
    }
    if !content.cautions.is_empty() {
        add(format!(
            "<section><h2>{}</h2>\n<ul class=\"limits\">\n",
            labels.limits
        ));
        for caution in content.cautions {
            add(format!("<li>{}</li>\n", escaped(caution)));
        }
        add("</ul>\n</section>\n".to_owned());
    }
    if !content.evidence.is_empty() {
        add(format!(
            "<section><h2>{}</h2>\n<ol class=\"evidence\">\n",
            labels.evidence
        ));
        for one in content.evidence {
            add(quoted(one, content));
        }
        add("</ol>\n</section>\n".to_owned());
    }
    add(sources(content));
    add(format!(
        "<footer><h2>{}</h2><p>{}</p></footer>\n</main>\n</body>\n</html>\n",
        labels.method_title, labels.method
    ));
    out
}

fn cite(number: usize) -> String {
    format!("<a class=\"cite\" href=\"#source-{number}\">{number}</a>")
}

fn differences(content: &Content<'_>) -> String {
    let labels = content.labels;
    let mut out = format!(
        "<section><h2>{}</h2>\n<p class=\"note\">{}</p>\n",
        labels.differences, labels.differences_note
    );
    for difference in content.differences {
        out.push_str("<div class=\"pair\">");
        for (place, number) in difference.sources.iter().enumerate() {
            let value = difference
                .values
                .as_ref()
                .map(|values| escaped(&values[place]));
            let value = value.map_or(String::new(), |value| {
                format!("<p class=\"value\">{value}</p>")
            });
            let quote = escaped(&difference.quotes[place]);
            out.push_str(&format!(
                "<div>{value}<blockquote>{quote}</blockquote>{}</div>",
                cite(*number)
            ));
        }
        out.push_str("</div>\n");
    }
    out.push_str("</section>\n");
    out
}

fn quoted(one: &Evidence, content: &Content<'_>) -> String {
    let labels = content.labels;
    let mut out = format!(
        "<li id=\"evidence-{}\"><blockquote>{}</blockquote><p class=\"from\">{} ",
        one.number,
        escaped(&one.quote),
        cite(one.source)
    );
    if let Some(source) = content.source(one.source) {
        out.push_str(&linked(source, Some(&one.quote)));
    }
    out.push_str(&format!(
        " · <span class=\"place\">{} {}–{}</span>",
        labels.characters, one.start, one.end
    ));
    if !one.also.is_empty() {
        let also: Vec<String> = one.also.iter().map(|number| cite(*number)).collect();
        out.push_str(&format!(
            " · <span class=\"also\">{} {}</span>",
            labels.also,
            also.join(" ")
        ));
    }
    out.push_str("</p></li>\n");
    out
}

fn sources(content: &Content<'_>) -> String {
    let labels = content.labels;
    let mut out = format!(
        "<section><h2>{}</h2>\n<div class=\"scroll\"><table>\n<thead><tr>",
        labels.sources
    );
    for column in labels.columns {
        out.push_str(&format!("<th scope=\"col\">{column}</th>"));
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for source in content.sources {
        let number = source.number;
        let class = if source.failure.is_some() {
            " class=\"failed\""
        } else {
            ""
        };
        out.push_str(&format!(
            "<tr id=\"source-{number}\"{class}><td>{number}</td><td>{}",
            linked(source, None)
        ));
        if let Some(failure) = &source.failure {
            out.push_str(&format!(
                "<br><span class=\"why\">{}: {}</span></td><td colspan=\"4\"></td></tr>\n",
                labels.not_read,
                escaped(failure)
            ));
            continue;
        }
        let digest = source.digest.as_deref().unwrap_or_default();
        out.push_str(&format!("</td><td>{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td><td><code title=\"{digest}\">{}…</code></td></tr>\n",
            escaped(source.fetched_at.as_deref().unwrap_or_default()),
            source.characters,
            source.quoted,
            digest.get(..12).unwrap_or_default()));
    }
    out.push_str("</tbody>\n</table></div>\n</section>\n");
    out
}

/// The name of a source as a link, if its address is one of the web; with a quotation it leads to its place.
fn linked(source: &SourceNote, quote: Option<&str>) -> String {
    let name = escaped(source.name());
    let Some(url) = link(&source.url) else {
        return name;
    };
    let mut address = url.to_string();
    if let Some(quote) = quote
        && url.fragment().is_none()
    {
        address.push_str(&fragment(quote));
    }
    format!(
        "<a href=\"{}\" rel=\"noopener noreferrer nofollow\">{name}</a> <span class=\"host\">{}</span>",
        escaped(&address),
        escaped(url.host_str().unwrap_or_default())
    )
}

/// The part of an address that makes browsers show where a text begins and ends.
fn fragment(quote: &str) -> String {
    let is_dense = quote.chars().any(is_dense);
    let (start, end) = if is_dense {
        let all: Vec<char> = quote.chars().collect();
        let few = all.len().min(MARKED / 2);
        (
            all[..few].iter().collect::<String>(),
            all[all.len() - few..].iter().collect::<String>(),
        )
    } else {
        let all: Vec<&str> = quote.split_whitespace().collect();
        let few = all.len().min(4);
        (all[..few].join(" "), all[all.len() - few..].join(" "))
    };
    format!("#:~:text={},{}", encoded(&start), encoded(&end))
}

fn encoded(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c if c.is_control() && c != '\n' => out.push(' '),
            c => out.push(c),
        }
    }
    out
}
