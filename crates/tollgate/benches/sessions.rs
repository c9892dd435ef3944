//! What very many guided sessions cost that nobody has ended: memory of the process that
//! serves them, and room on disk.
//!
//! `cargo bench -p tollgate --bench sessions -- [--sessions N] [--program PATH]`

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a bench reports by printing and fails by panicking"
)]

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Instant,
};

const PROGRAM: &str = env!("CARGO_BIN_EXE_tollgate");
/// So many requests are on their way at once.
const AHEAD: usize = 64;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if !arguments.iter().any(|argument| argument == "--bench") {
        return;
    }
    let given = |name: &str| {
        let mut rest = arguments.iter().skip_while(|argument| *argument != name);
        rest.nth(1).cloned()
    };
    let sessions = given("--sessions").map_or(100_000, |value| value.parse().unwrap());
    let program = given("--program").unwrap_or_else(|| PROGRAM.to_owned());
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let base = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../knowledge/home-network");
    let home = folder.path();
    fs::create_dir_all(home.join(".config/tollgate")).unwrap();
    let config = format!(
        "[knowledge]\npaths = [\"{}\"]\n",
        base.canonicalize().unwrap().display()
    );
    fs::write(home.join(".config/tollgate/tollgate.toml"), config).unwrap();
    live_sessions(&program, home, sessions);
}

#[expect(
    clippy::disallowed_methods,
    reason = "the bench measures the program from outside; it is no tool"
)]
fn jsonl(program: &str, home: &Path) -> Child {
    Command::new(program)
        .args(["jsonl", "--concurrent", "8"])
        .env_clear()
        .env("HOME", home)
        .current_dir(home)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

fn live_sessions(program: &str, home: &Path, sessions: usize) {
    println!("Live guided sessions in `tollgate jsonl` (target for 100,000: <= 100 MB)");
    let mut child = jsonl(program, home);
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let begun = Instant::now();
    let (mut sent, mut done, mut line) = (0, 0, String::new());
    while done < sessions {
        while sent < sessions && sent < done + AHEAD {
            sent += 1;
            let request = format!(
                "{{\"id\":{sent},\"method\":\"initiate_session\",\"params\":{{\"user_query\":\"my internet is slow, case {sent}\"}}}}\n"
            );
            input.write_all(request.as_bytes()).unwrap();
        }
        line.clear();
        assert!(output.read_line(&mut line).unwrap() > 0, "it ended early");
        if line.contains("\"event\":\"response\"") {
            assert!(line.contains("\"session_id\":\"ks-"), "{line}");
        }
        if line.contains("\"event\":\"done\"") {
            done += 1;
            if done == 1 || done == sessions {
                report(&format!("after {done}"), &child);
            }
        }
    }
    let seconds = begun.elapsed().as_secs_f64();
    println!("  {:.0} a second", sessions as f64 / seconds);
    drop(input);
    child.wait().unwrap();
    println!(
        "  {:.0} MB of state on disk, the audit log included",
        megabytes(home)
    );
}

fn report(name: &str, child: &Child) {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
    let field = |field: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(field));
        let kilobytes = line.and_then(|rest| rest.split_whitespace().next()?.parse::<f64>().ok());
        kilobytes.map_or(f64::NAN, |kilobytes| kilobytes / 1024.0)
    };
    println!(
        "  {name:<16}  {:>6.1} MB resident ({:.1} MB of it its own), {:.1} MB at most",
        field("VmRSS:"),
        field("RssAnon:"),
        field("VmHWM:")
    );
}

fn megabytes(folder: &Path) -> f64 {
    let mut folders: Vec<PathBuf> = vec![folder.to_owned()];
    let mut bytes = 0;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            let metadata = entry.metadata().unwrap();
            match metadata.is_dir() {
                true => folders.push(entry.path()),
                false => bytes += metadata.len(),
            }
        }
    }
    bytes as f64 / 1e6
}
