//! The three tools, and `sandbox.exec` itself.

use std::{path::PathBuf, sync::Arc, time::Duration};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tollgate_core::toolset::Output;
use tollgate_core::{
    CallContext, Capability, ErrorCode, Payload, ProviderError, Status, Tool, ToolCall, ToolResult,
    ToolSet, Warning,
};
use tollgate_sandbox::{Ended, Job, Limit, Limits, Network, Report, Stop, Workspace};

use super::{
    Language, Settings,
    files::{collect_outputs, write_files},
    work::{Work, failure, lowered, misuse},
};

/// One argument of a program cannot be longer, whatever runs it.
const MAX_CODE: usize = 120_000;
/// The time that building, reading and cleaning up may take beside the program's own.
const MARGIN: Duration = Duration::from_secs(15);

pub(super) fn all(settings: &Settings) -> ToolSet<Work> {
    let exec = Tool {
        capability: Capability::L2,
        timeout_ms: u64::try_from((settings.limits.wall + MARGIN).as_millis()).unwrap_or(u64::MAX),
        ..Tool::write(
            "sandbox.exec",
            "Run code in a sandbox",
            "Runs Python, JavaScript (node) or, if the operator turned it on, Bash: either `code`, or with `argv` a \
             file of the workspace and its arguments. There is no network, nothing of the host but `/usr` can be \
             read, and only the workspace (`/workspace`, where it starts), which is kept between calls of this \
             session, and `/tmp` can be written. Success: `exit_code`, `stdout`, `stderr`, and the `tier` of the \
             sandbox. An `exit_code` other than 0 is the program's own failure: read `stderr`. `limits_reached` \
             says what it had too much of. Fails where no sandbox works: unsupported, and nothing was run.",
        )
        .sets(&["sandbox"])
    };
    let mut write = Tool::write(
        "sandbox.write_files",
        "Put files into the workspace",
        "Writes, replaces or deletes files in this session's workspace, below which all paths are. Use it before \
         `sandbox.exec` for data and for programs of several files; a human is shown all of them, so more than 128,000 \
         characters in one call are refused. Success: what was written. A path \
         that leads out is rejected; a full workspace too.",
    )
    .sets(&["sandbox"]);
    write.annotations.idempotent = true;
    let collect = Tool::read(
        "sandbox.collect_outputs",
        "See what is in the workspace",
        "Lists the files of this session's workspace with size and digest, and gives their contents: text as it \
         is, everything else as base64. Use it after `sandbox.exec`. `paths` chooses files, or folders by a \
         trailing `/`; `offset` goes on in a file that was cut. Links are listed and never followed. \
         Success: the files. A path that leads out is rejected.",
    )
    .sets(&["sandbox"]);
    let mut online = Tool {
        name: "sandbox.exec_online",
        title: "Run code in a sandbox with the network",
        description: "Like sandbox.exec, and the program can call whomever the host can reach, loopback included, by \
                      TCP and UDP; nobody can call it. Use it only if the program has to fetch or send something. It \
                      exists only where a rule of the operator's permits it; a human agrees to each call. Success: as \
                      sandbox.exec. Fails: as sandbox.exec; `missing` then names `network_shared`.",
        ..exec.clone()
    };
    online.annotations.open_world = true;
    online.annotations.sensitive_sink = true;
    ToolSet::new("sandbox", Work::new(settings.clone()))
        .shaped(exec, |work, args, cx| run(work, args, cx, Network::None))
        .shaped(online, |work, args, cx| {
            run(work, args, cx, Network::Shared)
        })
        .tool(write, write_files)
        .tool(collect, collect_outputs)
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("oneOf" = one_of()))]
struct ExecArgs {
    /// The language.
    language: Language,
    /// The program itself.
    #[serde(default)]
    #[schemars(length(min = 1, max = 120_000))]
    code: Option<String>,
    /// A file of the workspace, and the arguments it gets.
    #[serde(default)]
    #[schemars(length(min = 1, max = 100), inner(length(max = 10_000)))]
    argv: Option<Vec<String>>,
    /// What the program reads from standard input.
    #[serde(default)]
    #[schemars(length(max = 1_000_000), extend("x-code" = true))]
    stdin: Option<String>,
    /// Limits below those of the operator.
    #[serde(default)]
    limits: Option<WantedLimits>,
}

fn one_of() -> Value {
    json!([{"required": ["code"]}, {"required": ["argv"]}])
}

/// Limits a caller may lower.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct WantedLimits {
    /// From start to end.
    #[schemars(range(min = 100))]
    pub(super) wall_ms: Option<u64>,
    /// Processor time of all its processes.
    #[schemars(range(min = 100))]
    pub(super) cpu_ms: Option<u64>,
    /// Memory of all its processes.
    #[schemars(range(min = 16_777_216))]
    pub(super) memory_bytes: Option<u64>,
    /// Processes and threads at the same time.
    #[schemars(range(min = 1))]
    pub(super) processes: Option<u32>,
    /// How much of each stream is kept; the rest is dropped.
    #[schemars(range(min = 0))]
    pub(super) output_bytes: Option<u64>,
}

#[derive(Serialize, JsonSchema)]
struct Ran {
    /// What the program answered; absent if a signal ended it.
    exit_code: Option<i32>,
    /// The signal that ended it.
    signal: Option<i32>,
    /// What it said.
    stdout: String,
    /// What it complained about.
    stderr: String,
    /// How much it said, in bytes, also what was dropped.
    stdout_bytes: u64,
    /// How much it complained about.
    stderr_bytes: u64,
    /// The limits it reached.
    limits_reached: Vec<&'static str>,
    /// How the sandbox was built.
    tier: &'static str,
    /// What this sandbox did not guarantee.
    missing: Vec<&'static str>,
    /// What it used.
    #[schemars(extend("x-volatile" = true))]
    usage: Used,
}

#[derive(Serialize, JsonSchema)]
struct Used {
    /// From start to end.
    wall_ms: u64,
    /// Processor time of all its processes.
    cpu_ms: u64,
    /// The most memory at one time.
    memory_bytes: u64,
}

async fn run(
    work: Arc<Work>,
    args: ExecArgs,
    cx: CallContext,
    network: Network,
) -> Result<Output<Ran>, ProviderError> {
    let program = interpreter(&work.settings, args.language)?;
    let wanted = args.limits.unwrap_or_default();
    let mut limits = lowered(&work.settings.limits, &wanted)?;
    // Who asked is told what happened, rather than that the time was up.
    limits.wall = limits
        .wall
        .min(cx.time_left.saturating_sub(Duration::from_secs(1)));
    let job = Job {
        args: arguments(args.language, args.code, args.argv.clone(), &limits)?,
        stdin: args.stdin.unwrap_or_default().into_bytes(),
        limits,
        read_only: work.settings.read_only.clone(),
        network,
        ..Job::new(program)
    };
    let script = args.argv.and_then(|argv| argv.into_iter().next());
    let report = work
        .with_workspace(&cx, move |work, workspace, stop| {
            execute(work, workspace, stop, &job, script.as_deref())
        })
        .await?;
    shaped(report)
}

fn execute(
    work: &Work,
    workspace: &Workspace,
    stop: &Stop,
    job: &Job,
    script: Option<&str>,
) -> Result<Report, ProviderError> {
    let runner = work.runner()?;
    if let Some(script) = script {
        workspace.read(script, 0, 0).map_err(misuse)?;
    }
    // A folder's time is the machine's, as the times of its files are.
    let begun = workspace.now().map_err(misuse)?;
    let report = runner.run(job, workspace, stop).map_err(failure)?;
    if report.has_reached(Limit::Disk) || report.has_reached(Limit::Files) {
        workspace.trim(&work.quota(), begun).map_err(misuse)?;
    }
    Ok(report)
}

/// Refuses a language that is not there, so that nobody is asked for code that cannot run.
pub(super) fn possible(settings: &Settings, call: &ToolCall) -> Result<(), ProviderError> {
    let wanted = call.arguments.value().get("language");
    match wanted.map(Language::deserialize) {
        Some(Ok(language)) => interpreter(settings, language).map(drop),
        Some(Err(_)) | None => Ok(()),
    }
}

/// The interpreter, if the operator turned it on and somebody installed it.
fn interpreter(settings: &Settings, language: Language) -> Result<PathBuf, ProviderError> {
    let is_on = settings.languages.contains(&language);
    let found = language.find().filter(|_| is_on);
    found.ok_or_else(|| {
        let there = settings.languages.iter().filter(|one| one.find().is_some());
        let there: Vec<&str> = there.map(|one| one.as_str()).collect();
        let why = if is_on { "not installed" } else { "turned off" };
        let mut error = ProviderError::new(
            ErrorCode::Unsupported,
            format!("{} is {why} here", language.as_str()),
        );
        error.details.insert("languages".to_owned(), there.into());
        error
    })
}

fn arguments(
    language: Language,
    code: Option<String>,
    argv: Option<Vec<String>>,
    limits: &Limits,
) -> Result<Vec<String>, ProviderError> {
    let has_zero = |text: &String| text.contains('\0');
    match (code, argv) {
        (Some(code), None) => {
            if code.len() > MAX_CODE || has_zero(&code) {
                return Err(ProviderError {
                    suggestion: Some(
                        "Put it into a file with `sandbox.write_files` and run that with `argv`."
                            .to_owned(),
                    ),
                    ..ProviderError::rejected(format!(
                        "`code` may have {MAX_CODE} bytes, none of them zero"
                    ))
                });
            }
            Ok(language.snippet(code, limits))
        }
        (None, Some(argv)) if argv.iter().any(has_zero) => {
            Err(ProviderError::rejected("`argv` may not hold a zero byte"))
        }
        (None, Some(argv)) if argv.first().is_none_or(|file| file.starts_with('-')) => Err(
            ProviderError::rejected("`argv` begins with a file of the workspace"),
        ),
        (None, Some(argv)) => Ok(language.script(argv, limits)),
        (Some(_), Some(_)) | (None, None) => {
            Err(ProviderError::rejected("send either `code` or `argv`"))
        }
    }
}

fn shaped(report: Report) -> Result<Output<Ran>, ProviderError> {
    let (exit_code, signal) = match report.ended {
        Ended::Code(code) => (Some(code), None),
        Ended::Signal(signal) => (None, Some(signal)),
    };
    let millis = |span: Duration| u64::try_from(span.as_millis()).unwrap_or(u64::MAX);
    let ran = Ran {
        exit_code,
        signal,
        stdout: report.stdout.text(),
        stderr: report.stderr.text(),
        stdout_bytes: report.stdout.total,
        stderr_bytes: report.stderr.total,
        limits_reached: report.reached.iter().map(|limit| limit.as_str()).collect(),
        tier: report.tier.as_str(),
        missing: report.gaps.iter().map(|gap| gap.as_str()).collect(),
        usage: Used {
            wall_ms: millis(report.usage.wall),
            cpu_ms: millis(report.usage.cpu),
            memory_bytes: report.usage.memory,
        },
    };
    let payload = Payload::from_serialize(&ran).map_err(ProviderError::unavailable)?;
    let mut result = ToolResult::ok(payload);
    if report.has_reached(Limit::Output) {
        result.status = Status::Degraded;
        result.warnings.push(Warning::TruncatedOutput);
    }
    let ends = [
        Limit::Wall,
        Limit::Cpu,
        Limit::Memory,
        Limit::Disk,
        Limit::Files,
    ];
    if ends.iter().any(|limit| report.has_reached(*limit)) {
        result.status = Status::Degraded;
        result.warnings.push(Warning::LimitReached);
    }
    Ok(Output::Result(Box::new(result)))
}
