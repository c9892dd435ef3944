//! Nothing outside a named folder is read, and what is inside is read whole.

use std::{fs, os::unix::fs::symlink};

use tempfile::TempDir;

use super::*;

fn files() -> (TempDir, Files) {
    let dir = TempDir::new().unwrap();
    let root = dir.path().join("open");
    fs::create_dir_all(root.join("sub")).unwrap();
    fs::write(root.join("note.md"), "# Note").unwrap();
    fs::write(root.join("sub/100%.txt"), "all of it").unwrap();
    fs::write(root.join("sub/%2e%2e"), "a name like an escape").unwrap();
    fs::write(root.join("sub/pixel.png"), [0x89, 0x50, 0xff, 0x00]).unwrap();
    fs::write(dir.path().join("secret.txt"), "secret").unwrap();
    fs::create_dir(dir.path().join("open-too")).unwrap();
    fs::write(dir.path().join("open-too/other.txt"), "other").unwrap();
    symlink("../secret.txt", root.join("out.txt")).unwrap();
    symlink("/etc", root.join("etc")).unwrap();
    symlink("note.md", root.join("in.md")).unwrap();
    let roots = [("docs".to_owned(), root)].into_iter().collect();
    (dir, Files { roots })
}

fn content(files: &Files, uri: &str) -> Result<Value, String> {
    let (root, path) = files.place(uri).map_err(|error| error.to_string())?;
    let read = read(uri, &root, &path).map_err(|error| error.to_string())?;
    Ok(read["contents"][0].clone())
}

#[test]
fn files_and_folders_are_read() {
    let (_dir, files) = files();
    let note = content(&files, "files://docs/note.md").unwrap();
    assert_eq!(
        (&note["text"], &note["mimeType"]),
        (&json!("# Note"), &json!("text/markdown"))
    );
    assert_eq!(
        content(&files, "files://docs/in.md").unwrap()["text"],
        "# Note"
    );
    for (uri, wanted) in [
        ("files://docs/sub/100%25.txt", "all of it"),
        ("files://docs/sub/%252e%252e", "a name like an escape"),
    ] {
        assert_eq!(content(&files, uri).unwrap()["text"], wanted, "{uri}");
    }
    assert!(content(&files, "files://docs/sub/100%.txt").is_err());
    let pixel = content(&files, "files://docs/sub/pixel.png").unwrap();
    assert_eq!(pixel["blob"], "iVD/AA==");
    let folder = content(&files, "files://docs/").unwrap();
    let expected = json!({"entries": ["etc", "in.md", "note.md", "out.txt", "sub/"]});
    assert_eq!(
        serde_json::from_str::<Value>(folder["text"].as_str().unwrap()).unwrap(),
        expected
    );
}

#[test]
fn nothing_outside_is_opened() {
    let (_dir, files) = files();
    for uri in [
        "files://docs/../secret.txt",
        "files://docs/%2e%2e/secret.txt",
        "files://docs/%2E%2E%2Fsecret.txt",
        "files://docs/sub/../../secret.txt",
        "files://docs/sub/./../../secret.txt",
        "files://docs/out.txt",
        "files://docs/etc/passwd",
        "files://docs//etc/passwd",
        "files://docs/%2fetc/passwd",
        "files://docs/%252e%252e/secret.txt",
        "files://docs/..\\secret.txt",
        "files://docs/../open-too/other.txt",
        "files://docs/note.md%00.png",
        "files://other/note.md",
        "files:///etc/passwd",
        "file:///etc/passwd",
    ] {
        let error = content(&files, uri).unwrap_err();
        assert!(error.starts_with("there is no file"), "{uri}: {error}");
    }
}

#[test]
fn a_large_file_is_cut_on_a_character_and_says_so() {
    let (dir, files) = files();
    let text = format!("x{}", "é".repeat(MAX_READ));
    fs::write(dir.path().join("open/large.txt"), &text).unwrap();
    let large = content(&files, "files://docs/large.txt").unwrap();
    assert_eq!(large["text"].as_str().unwrap().len(), MAX_READ - 1);
    assert_eq!(large["_meta"]["tollgate/total_bytes"], text.len());
}

#[test]
fn text_is_text_whatever_its_encoding() {
    let (dir, files) = files();
    let write =
        |name: &str, bytes: &[u8]| fs::write(dir.path().join("open").join(name), bytes).unwrap();
    write("latin.txt", b"caf\xe9 ghp_token");
    let wide: Vec<u8> = "\u{feff}wide"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    write("wide.txt", &wide);
    let latin = content(&files, "files://docs/latin.txt").unwrap();
    assert_eq!(latin["text"], "caf\u{fffd} ghp_token");
    assert_eq!(
        content(&files, "files://docs/wide.txt").unwrap()["text"],
        "wide"
    );
}

#[test]
fn half_a_word_is_not_shown() {
    let (dir, files) = files();
    let mut text = "word ".repeat(MAX_READ / 5);
    text.truncate(MAX_READ - 10);
    text.push_str(" ghp_abcdefghijklmnopqrstuvwxyz");
    fs::write(dir.path().join("open/cut.txt"), &text).unwrap();
    let cut = content(&files, "files://docs/cut.txt").unwrap();
    assert!(!cut["text"].as_str().unwrap().contains("ghp"));
}

#[test]
fn what_is_no_file_is_not_opened() {
    let (dir, files) = files();
    let pipe = dir.path().join("open/pipe");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &pipe,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .unwrap();
    assert!(content(&files, "files://docs/pipe").is_err());
    assert!(content(&files, "files://docs/missing.txt").is_err());
}
