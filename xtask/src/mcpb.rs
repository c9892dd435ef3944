//! Bundles a built program with its manifest, for clients that install with one click.

use std::fs;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::{
    run::root,
    zip::{self, Entry},
};

pub(crate) fn run(binary: &str, file: &str) -> Result<()> {
    let program = fs::read(binary).with_context(|| binary.to_owned())?;
    let manifest = fs::read_to_string(root().join("packaging/mcpb/manifest.json"))?;
    let bundle = bundle(&manifest, &program)?;
    fs::write(file, &bundle).with_context(|| file.to_owned())?;
    let digest = Sha256::digest(&bundle);
    let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    eprintln!("wrote {file}\nfileSha256 for server.json: {digest}");
    Ok(())
}

/// The bundle; its manifest names only the platform the program is for.
fn bundle(manifest: &str, program: &[u8]) -> Result<Vec<u8>> {
    let mut manifest: Value = serde_json::from_str(manifest).context("manifest.json")?;
    manifest["compatibility"]["platforms"] = json!([platform(program)?]);
    let entry_point = manifest["server"]["entry_point"].as_str();
    let name = entry_point.context("manifest.json has no entry point")?;
    let manifest = serde_json::to_vec_pretty(&manifest)?;
    zip::archive(&[
        Entry {
            name: "manifest.json",
            content: &manifest,
            mode: 0o644,
        },
        Entry {
            name,
            content: program,
            mode: 0o755,
        },
    ])
}

/// What a program runs on, told by its first bytes.
fn platform(program: &[u8]) -> Result<&'static str> {
    match program {
        [0x7f, b'E', b'L', b'F', ..] => Ok("linux"),
        [0xcf | 0xce, 0xfa, 0xed, 0xfe, ..] | [0xca, 0xfe, 0xba, 0xbe, ..] => Ok("darwin"),
        _ => bail!("this is no program for Linux or macOS"),
    }
}
