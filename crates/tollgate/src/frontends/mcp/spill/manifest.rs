//! Where the rest of a result is that was cut: links for clients, a manifest for models.
//!
//! Invariant: every piece is linked, and the manifest is not longer than its room as long as
//! one entry of it fits.

use serde_json::{Value, json};

/// The key of the manifest in a text that was cut.
pub(in super::super) const MANIFEST: &str = "mcp_resource_manifest";
/// How a shortened text makes up for what it leaves out.
const STRATEGY: &str = "summary_with_resource_refs";

/// A result that is kept whole, to be read by the piece.
pub(super) struct Whole<'a> {
    pub(super) id: &'a str,
    pub(super) bytes: usize,
    /// How large a piece is.
    pub(super) piece: usize,
}

impl Whole<'_> {
    /// Where all of it is read.
    pub(super) fn uri(&self) -> String {
        format!("tollgate://results/{}", self.id)
    }

    fn pieces(&self) -> usize {
        self.bytes.div_ceil(self.piece.max(1))
    }

    /// The whole of it, and each of its pieces, as links.
    pub(super) fn links(&self) -> Vec<Value> {
        let link = |uri: String, name: String, size: usize| {
            json!({
                "type": "resource_link", "uri": uri, "name": name, "mimeType": "text/plain", "size": size,
            })
        };
        let whole = self.uri();
        let pieces = self.pieces();
        let mut links = vec![link(whole.clone(), "whole result".to_owned(), self.bytes)];
        if pieces > 1 {
            links.extend((0..pieces).map(|number| {
                let size = self.piece.min(self.bytes - number * self.piece);
                let name = format!("piece {} of {pieces}", number + 1);
                link(format!("{whole}/{number}"), name, size)
            }));
        }
        links
    }
}

/// The entries of a manifest for links to results.
pub(super) fn entries(links: &[Value]) -> Vec<Value> {
    let links = links.iter();
    let entries =
        links.map(|link| json!({"uri": link["uri"], "type": "result", "name": link["name"]}));
    entries.collect()
}

/// A file that an answer refers to, as a link.
pub(super) fn file_link(file: &Value) -> Value {
    let mut link = json!({
        "type": "resource_link",
        "uri": file["uri"],
        "name": file["name"],
        "mimeType": file["mimeType"],
    });
    if file["size_bytes"].is_u64() {
        link["size"] = file["size_bytes"].clone();
    }
    link
}

/// What a model is told of the rest, in at most `room` bytes. Entries that have no room are
/// counted; the first always stays.
pub(super) fn manifest(
    whole: Option<&Whole<'_>>,
    readers: Option<[String; 2]>,
    resources: &[Value],
    room: usize,
) -> Value {
    let with = |shown: usize| {
        let mut manifest = json!({"strategy": STRATEGY});
        if let Some(whole) = whole {
            manifest["result_id"] = json!(whole.id);
            manifest["total_bytes"] = json!(whole.bytes);
        }
        manifest["resource_count"] = json!(resources.len());
        manifest["resources"] = json!(resources[..shown]);
        if shown < resources.len() {
            manifest["more_resources"] = json!(resources.len() - shown);
        }
        if let Some(readers) = &readers {
            manifest["read_with"] = json!(readers);
        }
        manifest
    };
    let least = resources.len().min(1);
    let fits = |shown: &usize| with(*shown).to_string().len() <= room;
    let mut counts: Vec<usize> = (least..=resources.len()).collect();
    counts.truncate(counts.partition_point(fits));
    with(counts.last().copied().unwrap_or(least))
}

/// How many bytes a manifest takes as a field of an object.
pub(super) fn size(manifest: &Value) -> usize {
    manifest.to_string().len() + MANIFEST.len() + r#","":"#.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(bytes: usize) -> Whole<'static> {
        Whole {
            id: "c1",
            bytes,
            piece: 100,
        }
    }

    #[test]
    fn pieces_are_linked_and_add_up() {
        let links = whole(250).links();
        let sizes: Vec<_> = links.iter().map(|it| it["size"].as_u64()).collect();
        assert_eq!(sizes, [250, 100, 100, 50].map(Some));
        assert_eq!(links[1]["uri"], "tollgate://results/c1/0");
        assert_eq!(whole(50).links().len(), 1);
        assert_eq!(whole(9000).links().len(), 91);
    }

    #[test]
    fn a_manifest_keeps_to_its_room_and_counts_what_has_none() {
        let whole = whole(9000);
        let resources = entries(&whole.links());
        let all = manifest(Some(&whole), None, &resources, usize::MAX);
        assert_eq!(all["resources"].as_array().unwrap().len(), 91);
        assert!(all.get("more_resources").is_none());
        for room in [300, 512, 4096] {
            let some = manifest(Some(&whole), None, &resources, room);
            assert!(some.to_string().len() <= room, "{room}: {some}");
            let shown = some["resources"].as_array().unwrap().len();
            assert!(shown > 0 && some["more_resources"] == 91 - shown, "{some}");
            assert_eq!(some["resource_count"], 91);
        }
        let least = manifest(Some(&whole), None, &resources, 0);
        assert_eq!(least["resources"].as_array().unwrap().len(), 1);
    }
}
