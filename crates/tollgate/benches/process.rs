//! What the program costs as a process: from start to exit, idle memory, size.
//!
//! `cargo bench -p tollgate --bench process -- [--times N]`

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a bench reports by printing and fails by panicking"
)]

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

const PROGRAM: &str = env!("CARGO_BIN_EXE_tollgate");

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if !arguments.iter().any(|argument| argument == "--bench") {
        return;
    }
    let mut rest = arguments
        .iter()
        .skip_while(|argument| *argument != "--times");
    let times = rest.nth(1).map_or(200, |value| value.parse().unwrap());
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    start_to_exit(folder.path(), times);
    idle_memory(folder.path());
    size(folder.path());
}

/// The program in a home of its own.
fn tollgate(home: &Path, arguments: &[&str]) -> Command {
    let mut command = program(PROGRAM);
    command
        .args(arguments)
        .env_clear()
        .env("HOME", home)
        .current_dir(home)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command
}

#[expect(
    clippy::disallowed_methods,
    reason = "the bench measures the program from outside; it is no tool"
)]
fn program(path: &str) -> Command {
    Command::new(path)
}

fn start_to_exit(home: &Path, times: usize) {
    println!("Start to exit (target for a call: <= 15 ms)");
    let call = |number: usize| {
        let arguments = format!("{{\"text\":\"hello {number}\"}}");
        run(tollgate(
            home,
            &["call", "text.stats", "--args", &arguments, "--json"],
        ))
    };
    println!(
        "  the first call ever            {:>6.1} ms",
        millis(call(0))
    );
    spread("a call", (1..=times).map(call).collect());
    let hit = || {
        run(tollgate(
            home,
            &["call", "text.stats", "--args", "{\"text\":\"hello 1\"}"],
        ))
    };
    spread("the same call again", (0..times).map(|_| hit()).collect());
    let version = || run(tollgate(home, &["--version"]));
    spread(
        "--version, for comparison",
        (0..times).map(|_| version()).collect(),
    );
}

fn run(mut command: Command) -> Duration {
    let began = Instant::now();
    assert!(command.status().unwrap().success());
    began.elapsed()
}

fn spread(name: &str, mut times: Vec<Duration>) {
    times.sort_unstable();
    let at = |share: f64| millis(times[((times.len() - 1) as f64 * share) as usize]);
    println!(
        "  {name:<28}  {:>6.1} ms median, {:.1} ms p95, {:.1} to {:.1} ms",
        at(0.5),
        at(0.95),
        at(0.0),
        at(1.0)
    );
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn idle_memory(home: &Path) {
    println!("\nMemory of `tollgate jsonl` (target when idle: <= 20 MB)");
    let mut child = tollgate(home, &["jsonl"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    std::thread::sleep(Duration::from_millis(500));
    resident("idle, before any call", &child);
    for number in 1..=1000 {
        let request = format!(
            "{{\"id\":{number},\"method\":\"text.stats\",\"params\":{{\"text\":\"hello {number}\"}}}}\n"
        );
        input.write_all(request.as_bytes()).unwrap();
        let mut line = String::new();
        while !line.contains("\"done\"") {
            line.clear();
            assert!(output.read_line(&mut line).unwrap() > 0);
        }
        if number == 1 || number == 1000 {
            std::thread::sleep(Duration::from_millis(500));
            resident(&format!("idle, after {number} calls"), &child);
        }
    }
    drop(input);
    child.wait().unwrap();
}

fn resident(name: &str, child: &Child) {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
    let field = |field: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(field));
        let kilobytes = line.and_then(|rest| rest.split_whitespace().next()?.parse::<f64>().ok());
        kilobytes.map_or(f64::NAN, |kilobytes| kilobytes / 1024.0)
    };
    println!(
        "  {name:<28}  {:>6.1} MB resident ({:.1} MB of it its own)",
        field("VmRSS:"),
        field("RssAnon:")
    );
}

/// The size without symbols, as a release is built.
fn size(folder: &Path) {
    println!("\nSize of the program (target: <= 40 MB)");
    let megabytes = |path: &Path| fs::metadata(path).unwrap().len() as f64 / 1e6;
    let stripped = folder.join("stripped");
    let strip = program("strip")
        .arg("-o")
        .arg(&stripped)
        .arg(PROGRAM)
        .status();
    if strip.is_ok_and(|status| status.success()) {
        println!(
            "  without symbols               {:>6.1} MB",
            megabytes(&stripped)
        );
    } else {
        println!(
            "  with symbols                  {:>6.1} MB",
            megabytes(Path::new(PROGRAM))
        );
    }
}
