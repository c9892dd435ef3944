//! What a sandbox costs: start to end of an interpreter that does nothing, beside the bare one.
//!
//! Prints ratios of medians, all ways taken in turn within each round, and how fifty at once
//! fare. Processor time is what all the processes of a run used; on a busy machine it says
//! more than the clock. `--helper PROGRAM` measures another helper, such as `tollgate` itself.

#![expect(clippy::print_stdout, reason = "a bench prints")]

#[cfg(target_os = "linux")]
fn main() {
    linux::main();
}

#[cfg(not(target_os = "linux"))]
fn main() {
    println!("sandboxes are built on Linux only");
}

#[cfg(target_os = "linux")]
mod linux {
    use std::{
        os::unix::fs::DirBuilderExt,
        path::Path,
        process::{Command, Stdio},
        sync::Arc,
        time::{Duration, Instant},
    };

    use tollgate_sandbox::{
        Bubblewrap, Cgroups, Ended, Fence, Gvisor, Helper, Job, Limits, Native, Runner, Stop,
        Workspace,
    };

    const ROUNDS: usize = 40;
    const AT_ONCE: usize = 50;

    type Way = (&'static str, Option<Arc<dyn Runner>>);

    pub(super) fn main() {
        let named = std::env::args()
            .skip_while(|word| word != "--helper")
            .nth(1);
        let own = env!("CARGO_BIN_EXE_tollgate-sandbox-helper").to_owned();
        let helper = Helper::program(named.unwrap_or(own));
        let root = std::env::temp_dir().join(format!("sandbox-bench-{}", std::process::id()));
        // `bwrap` goes there by name, and not as the superuser.
        let mut open = std::fs::DirBuilder::new();
        let made = open.mode(0o711).create(&root);
        assert!(made.is_ok(), "{made:?}");
        let ways = ways(&helper);
        let scripts: [(&str, &[&str]); 2] = [
            ("/usr/bin/python3", &["-c", "pass"]),
            ("/usr/bin/node", &["-e", "0"]),
        ];
        for (program, args) in scripts {
            if Path::new(program).exists() {
                compare(&ways, &root, program, args);
            }
        }
        side_by_side(&helper, &root);
        let _ = std::fs::remove_dir_all(&root);
    }

    fn ways(helper: &Helper) -> Vec<Way> {
        let groups = Cgroups::find();
        let counted = if groups.is_there() {
            "native, control groups"
        } else {
            "native again"
        };
        let mut ways: Vec<Way> = vec![
            ("bare", None),
            (
                "native, no control groups",
                Some(Arc::new(Native::new(helper.clone(), Cgroups::none()))),
            ),
            (counted, Some(Arc::new(Native::new(helper.clone(), groups)))),
            (
                "landlock",
                Some(Arc::new(Fence::new(helper.clone(), Cgroups::none()))),
            ),
        ];
        if Path::new("/usr/bin/bwrap").exists() {
            let bubblewrap = Bubblewrap::new(helper.clone(), Cgroups::none());
            ways.push(("bubblewrap", Some(Arc::new(bubblewrap))));
        }
        if Path::new("/usr/bin/runsc").exists() {
            ways.push(("gvisor", Some(Arc::new(Gvisor::new()))));
        }
        ways
    }

    fn compare(ways: &[Way], root: &Path, program: &str, args: &[&str]) {
        let mut taken = vec![Vec::new(); ways.len()];
        for round in 0..ROUNDS {
            for ((name, runner), taken) in ways.iter().zip(&mut taken) {
                // The slow one is not asked as often.
                if *name != "gvisor" || round % 8 == 0 {
                    let before = used();
                    let wall = once(runner.as_ref(), root, program, args);
                    taken.push((wall, used().saturating_sub(before)));
                }
            }
        }
        println!("{program} {}, {ROUNDS} rounds", args.join(" "));
        println!(
            "{:<28}{:>10}{:>10}{:>8}{:>8}{:>8}",
            "", "median ms", "best ms", "ratio", "CPU ms", "ratio"
        );
        let mut first = None;
        for ((name, _), taken) in ways.iter().zip(&taken) {
            let (wall, best) = median(taken.iter().map(|(wall, _)| *wall));
            let (cpu, _) = median(taken.iter().map(|(_, cpu)| *cpu));
            let (bare_wall, bare_cpu) = *first.get_or_insert((wall, cpu));
            println!(
                "{name:<28}{wall:>10.1}{best:>10.1}{:>7.2}x{cpu:>8.1}{:>7.2}x",
                wall / bare_wall,
                cpu / bare_cpu
            );
        }
        println!();
    }

    fn once(
        runner: Option<&Arc<dyn Runner>>,
        root: &Path,
        program: &str,
        args: &[&str],
    ) -> Duration {
        let Some(runner) = runner else {
            let since = Instant::now();
            #[expect(
                clippy::disallowed_methods,
                reason = "the bare child is the comparison"
            )]
            let mut command = Command::new(program);
            command.args(args).stdin(Stdio::null()).env_clear();
            let ended = command.output().map(|output| output.status.success());
            assert!(ended.is_ok_and(|is_fine| is_fine), "{program}");
            return since.elapsed();
        };
        let since = Instant::now();
        run(&**runner, root, "bench", program, args);
        since.elapsed()
    }

    fn run(runner: &dyn Runner, root: &Path, name: &str, program: &str, args: &[&str]) {
        let mut job = Job::new(program).args(args.iter().copied());
        job.limits = Limits {
            memory: 2 << 30,
            ..Limits::default()
        };
        let workspace = Workspace::open(root, name).map_err(|error| error.to_string());
        let stop = Stop::new().map_err(|error| error.to_string());
        let report = workspace.and_then(|workspace| {
            let ran = runner.run(&job, &workspace, &stop?);
            ran.map_err(|error| error.to_string())
        });
        let ended = report.map(|report| report.ended);
        assert_eq!(ended, Ok(Ended::Code(0)), "{program}");
    }

    fn side_by_side(helper: &Helper, root: &Path) {
        let runner = Native::new(helper.clone(), Cgroups::find());
        let since = Instant::now();
        std::thread::scope(|scope| {
            for number in 0..AT_ONCE {
                let (runner, name) = (&runner, format!("bench-{number}"));
                scope.spawn(move || run(runner, root, &name, "/usr/bin/python3", &["-c", "pass"]));
            }
        });
        let taken = since.elapsed().as_secs_f64() * 1e3;
        println!("{AT_ONCE} at once: {taken:.0} ms for all, no error");
    }

    /// The median and the least, in milliseconds.
    fn median(times: impl Iterator<Item = Duration>) -> (f64, f64) {
        let mut times: Vec<Duration> = times.collect();
        times.sort_unstable();
        let millis = |time: Duration| time.as_secs_f64() * 1e3;
        (millis(times[times.len() / 2]), millis(times[0]))
    }

    /// Processor time of every process that was waited for so far.
    fn used() -> Duration {
        let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
        // SAFETY: the pointer is to a whole `rusage`, for which all zeros is a value.
        #[expect(unsafe_code, reason = "the standard library does not say")]
        let usage = unsafe {
            libc::getrusage(libc::RUSAGE_CHILDREN, usage.as_mut_ptr());
            usage.assume_init()
        };
        let span = |time: libc::timeval| {
            Duration::from_secs(time.tv_sec.unsigned_abs())
                + Duration::from_micros(time.tv_usec.unsigned_abs())
        };
        span(usage.ru_utime) + span(usage.ru_stime)
    }
}
