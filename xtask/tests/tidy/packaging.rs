//! Rules about what is published: manifests agree with the workspace, and a bundle opens.

use std::{fs, process::Command};

use serde_json::{Value, json};

use crate::files::root;

fn manifest(path: &str) -> Value {
    let text = fs::read_to_string(root().join(path)).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn version() -> String {
    let text = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let workspace: toml::Table = text.parse().unwrap();
    let version = workspace["workspace"]["package"]["version"].as_str();
    version.unwrap().to_owned()
}

#[test]
fn manifests_agree_with_the_workspace_and_each_other() {
    let (server, bundle) = (
        manifest("server.json"),
        manifest("packaging/mcpb/manifest.json"),
    );
    let version = version();
    let program = fs::read_to_string(root().join("crates/tollgate/Cargo.toml")).unwrap();
    let program: toml::Table = program.parse().unwrap();
    let inherits = &program["package"]["version"]["workspace"];
    assert_eq!(
        inherits.as_bool(),
        Some(true),
        "the program is what is published"
    );
    let package = &server["packages"][0];
    for stated in [&server["version"], &package["version"], &bundle["version"]] {
        assert_eq!(*stated, version);
    }
    assert_eq!(bundle["name"], "tollgate");
    assert_eq!(server["title"], bundle["display_name"]);
    assert_eq!(server["description"], bundle["description"]);
    let name = server["name"].as_str().unwrap();
    assert_eq!(name.split_once('/').unwrap().1, "tollgate");
    let identifier = package["identifier"].as_str().unwrap();
    assert!(identifier.ends_with(&format!("/v{version}/tollgate.mcpb")));
    // The registry takes no longer ones.
    assert!(server["description"].as_str().unwrap().len() <= 100);
}

#[test]
fn a_bundle_holds_the_manifest_and_the_program() {
    let folder = std::env::temp_dir().join(format!("tollgate-bundle-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let (program, file) = (folder.join("program"), folder.join("tollgate.mcpb"));
    fs::write(&program, b"\x7fELF and more").unwrap();
    let made = start(env!("CARGO_BIN_EXE_xtask"))
        .arg("mcpb")
        .args([&program, &file])
        .output()
        .unwrap();
    assert!(made.status.success(), "{made:?}");
    let listed = start("python3").args(["-c", LIST]).arg(&file).output();
    let listed = listed.unwrap();
    assert!(listed.status.success(), "{listed:?}");
    let listed: Value = serde_json::from_slice(&listed.stdout).unwrap();
    let expected = json!({
        "bad": null,
        "files": {"manifest.json": "0o100644", "server/tollgate": "0o100755"},
        "platforms": ["linux"],
        "program": "\u{7f}ELF and more",
    });
    assert_eq!(listed, expected);
    let refused = start(env!("CARGO_BIN_EXE_xtask"))
        .args(["mcpb", "Cargo.toml"])
        .arg(&file)
        .current_dir(root())
        .output()
        .unwrap();
    assert!(!refused.status.success());
    fs::remove_dir_all(folder).unwrap();
}

const LIST: &str = "
import json, sys, zipfile
bundle = zipfile.ZipFile(sys.argv[1])
manifest = json.loads(bundle.read('manifest.json'))
print(json.dumps({
    'bad': bundle.testzip(),
    'files': {it.filename: oct(it.external_attr >> 16) for it in bundle.infolist()},
    'platforms': manifest['compatibility']['platforms'],
    'program': bundle.read(manifest['server']['entry_point']).decode(),
}))
";

#[expect(
    clippy::disallowed_methods,
    reason = "the chore and the judge of its work are programs"
)]
fn start(program: &str) -> Command {
    Command::new(program)
}
