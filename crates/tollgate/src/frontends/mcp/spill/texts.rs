//! Text blocks of another server that are too long together, cut by the rule for all texts.
//!
//! What is not cut stays as it was spelled; a block that is cut keeps its other fields. A text
//! that is JSON is still JSON afterwards.

use serde_json::{Value, json, value::RawValue};
use tollgate_core::{Fields, depth::within_depth};
use tollgate_engine::{TextLimits, elided};

const TYPE: &str = "type";
const TEXT: &str = "text";
const RESOURCE: &str = "resource";

/// Content whose texts are within a limit.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct CutContent {
    /// Each block as JSON.
    pub(super) blocks: Vec<String>,
    /// Whether nothing is missing: the same JSON in fewer bytes.
    pub(super) is_complete: bool,
}

/// The length of all texts of the content, in bytes.
pub(super) fn length(content: &RawValue) -> usize {
    let blocks = serde_json::from_str::<Vec<&RawValue>>(content.get()).unwrap_or_default();
    blocks
        .into_iter()
        .filter_map(Text::of)
        .map(|it| it.bytes)
        .sum()
}

/// The content with its texts cut to `limit` bytes; nothing if it cannot be read.
pub(super) fn cut(content: &RawValue, limit: usize) -> Option<CutContent> {
    let blocks: Vec<&RawValue> = serde_json::from_str(content.get()).ok()?;
    let texts: Vec<Option<Text>> = blocks.iter().map(|block| Text::of(block)).collect();
    let listed: Vec<&str> = texts.iter().flatten().map(|it| it.json.as_str()).collect();
    let whole = format!("[{}]", listed.join(","));
    let limits = TextLimits {
        bytes: limit,
        string_bytes: usize::MAX,
    };
    let short = elided(&whole, limits)?;
    let parts: Vec<&RawValue> = serde_json::from_str(&short.text).ok()?;
    let kept = kept(&listed, &parts);
    let mut done = Vec::with_capacity(blocks.len());
    let mut next = 0;
    for (block, text) in blocks.iter().zip(&texts) {
        let Some(text) = text else {
            done.push(block.get().to_owned());
            continue;
        };
        if next < kept {
            done.push(text.replaced(block, parts[next].get()));
        } else if next == kept {
            let note = format!("… {} more text blocks", listed.len() - kept);
            done.push(plain(&note));
        }
        next += 1;
    }
    Some(CutContent {
        blocks: done,
        is_complete: short.is_complete,
    })
}

/// How many of the texts are among the parts; a note stands in the place of the others.
fn kept(listed: &[&str], parts: &[&RawValue]) -> usize {
    let Some((last, kept)) = parts.split_last() else {
        return 0;
    };
    let note = json!(format!("… {} more items", listed.len() - kept.len())).to_string();
    if last.get() == note && listed.get(kept.len()) != Some(&note.as_str()) {
        kept.len()
    } else {
        parts.len()
    }
}

/// The text of a block.
struct Text {
    /// As a string, or as the JSON that it is.
    json: String,
    is_json: bool,
    bytes: usize,
    is_embedded: bool,
}

impl Text {
    fn of(block: &RawValue) -> Option<Self> {
        let fields: Fields<'_> = serde_json::from_str(block.get()).ok()?;
        let kind: String = serde_json::from_str(fields.get(TYPE)?.get()).ok()?;
        match kind.as_str() {
            TEXT => Self::in_fields(&fields, false),
            RESOURCE => {
                let resource = fields.get(RESOURCE)?;
                Self::in_fields(&serde_json::from_str(resource.get()).ok()?, true)
            }
            _ => None,
        }
    }

    fn in_fields(fields: &Fields<'_>, is_embedded: bool) -> Option<Self> {
        let raw = fields.get(TEXT)?.get();
        // A string of half a character cannot be read, but it can be cut.
        let Ok(said) = serde_json::from_str::<String>(raw) else {
            return Some(Self {
                json: raw.to_owned(),
                is_json: false,
                bytes: raw.len(),
                is_embedded,
            });
        };
        let bytes = said.len();
        // What nests too deeply is cut as the text that it is.
        let is_json = said.trim_start().starts_with(['{', '['])
            && within_depth(said.as_bytes())
            && serde_json::from_str::<&RawValue>(&said).is_ok();
        Some(Self {
            json: if is_json { said } else { raw.to_owned() },
            is_json,
            bytes,
            is_embedded,
        })
    }

    /// The block with what is left of its text.
    fn replaced(&self, block: &RawValue, part: &str) -> String {
        if part == self.json.trim() {
            return block.get().to_owned();
        }
        let part = if self.is_json {
            Value::from(part).to_string()
        } else {
            part.to_owned()
        };
        let replaced = || {
            let mut fields: Fields<'_> = serde_json::from_str(block.get()).ok()?;
            let text = RawValue::from_string(part).ok()?;
            if self.is_embedded {
                let mut resource: Fields<'_> =
                    serde_json::from_str(fields.get(RESOURCE)?.get()).ok()?;
                resource.replace(TEXT, text);
                let resource = resource.raw()?;
                fields.replace(RESOURCE, resource);
            } else {
                fields.replace(TEXT, text);
            }
            fields.raw()
        };
        replaced().map_or_else(|| plain("…"), |raw| raw.get().to_owned())
    }
}

/// A block of text.
pub(super) fn plain(text: &str) -> String {
    json!({"type": TEXT, "text": text}).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(blocks: &Value) -> Box<RawValue> {
        RawValue::from_string(blocks.to_string()).unwrap()
    }

    fn texts(cut: &CutContent) -> Vec<String> {
        let blocks = cut
            .blocks
            .iter()
            .map(|block| serde_json::from_str::<Value>(block).unwrap());
        blocks
            .filter_map(|block| block["text"].as_str().map(str::to_owned))
            .collect()
    }

    #[test]
    fn a_text_that_nests_without_end_is_cut_like_any_text() {
        let deep = format!("{}{}", "[".repeat(200_000), "]".repeat(200_000));
        let content = content(&json!([{"type": "text", "text": deep}]));
        assert_eq!(length(&content), 400_000);
        let texts = texts(&cut(&content, 4096).unwrap());
        assert!(texts[0].starts_with("[[[") && texts[0].len() <= 4096);
        assert!(texts[0].ends_with("(400000 bytes in all)"), "{}", texts[0]);
    }

    #[test]
    fn half_a_character_and_odd_blocks_do_no_harm() {
        let odd = format!(
            r#"[{{"type":"text","text":"\\ud800{}"}},7,{{"type":7}},{{"type":"text"}},{{"text":"x"}}]"#,
            "a".repeat(9000)
        );
        let content = RawValue::from_string(odd).unwrap();
        assert!(length(&content) > 9000);
        let cut = cut(&content, 1024).unwrap();
        assert_eq!(cut.blocks.len(), 5);
        assert_eq!(
            cut.blocks[1..4],
            ["7", r#"{"type":7}"#, r#"{"type":"text"}"#]
        );
        assert!(texts(&cut)[0].len() <= 1024);
    }

    #[test]
    fn json_that_fits_without_its_blanks_is_complete() {
        let rows: Vec<u32> = (0..200).collect();
        let said = serde_json::to_string_pretty(&rows).unwrap();
        let content = content(&json!([{"type": "text", "text": said}]));
        let cut = cut(&content, 1000).unwrap();
        assert!(cut.is_complete);
        assert_eq!(texts(&cut)[0], json!(rows).to_string());
    }
}
