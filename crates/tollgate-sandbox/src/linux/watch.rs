//! Watches a run: reads what it says, keeps the time, ends it when a limit is reached.
//!
//! Invariant: the helper is asked to end first, because it returns only when nothing inside
//! is left; it is killed only if it does not answer.

use std::{
    io::{self, Read, Write},
    net::Shutdown,
    os::{fd::OwnedFd, unix::net::UnixStream},
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
};

use super::{
    cgroup::Cgroup,
    plan::{BEGIN, Said},
    stop::Stop,
    workspace::{Quota, Workspace},
};
use crate::{
    job::{Captured, Gap, Limit, Limits},
    supervise::Ended,
};

/// How often what cannot be waited for is looked at.
const CHECK: Duration = Duration::from_millis(25);
/// How long the helper may take to end what is inside.
const GRACE: Duration = Duration::from_secs(2);
/// How long it may take besides to carry out what the program left.
const CARRY: Duration = Duration::from_secs(20);
/// How much is taken from a stream at a time; one that says too much has to wait between.
const GULP: usize = 1 << 20;
const PAUSE: Duration = Duration::from_millis(5);

/// When the helper's processes join the control group.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Attach {
    /// Now, while it builds; it waits for us before it forks.
    AtOnce,
    /// When it stands, with all that stand around it.
    WhenReady,
}

/// Everything there is to watch.
pub(super) struct Watch<'a> {
    /// The first of its processes.
    pub(super) process: u32,
    /// Ends that one without asking.
    pub(super) kill: &'a mut dyn FnMut(),
    pub(super) control: &'a UnixStream,
    pub(super) stdout: OwnedFd,
    pub(super) stderr: OwnedFd,
    pub(super) limits: &'a Limits,
    pub(super) stop: &'a Stop,
    pub(super) cgroup: Option<&'a Cgroup>,
    pub(super) workspace: &'a Workspace,
    /// Whether the workspace cannot grow beyond its limits by itself.
    pub(super) is_disk_held: bool,
    pub(super) since: Instant,
}

/// What was seen.
#[derive(Default)]
pub(super) struct Outcome {
    pub(super) ended: Option<(Ended, Duration, u64)>,
    pub(super) failed: Option<(String, i32)>,
    pub(super) gaps: Vec<Gap>,
    pub(super) reached: Vec<Limit>,
    pub(super) is_stopped: bool,
    pub(super) stdout: Captured,
    pub(super) stderr: Captured,
}

impl Watch<'_> {
    pub(super) fn run(self, attach: Attach) -> io::Result<Outcome> {
        let mut outcome = Outcome::default();
        if attach == Attach::AtOnce {
            self.begin()?;
        }
        self.control.set_nonblocking(true)?;
        let mut heard = Vec::new();
        let mut next_check = self.since + CHECK;
        let mut called_off: Option<Instant> = None;
        let mut streams = [&self.stdout, &self.stderr].map(Stream::new);
        loop {
            let now = Instant::now();
            let deadline = called_off.map_or(self.since + self.limits.wall, |at| at + self.grace());
            let paused = streams.iter().filter_map(|stream| stream.paused);
            let until = paused.chain([deadline, next_check]).min();
            let until = until.unwrap_or(deadline);
            let is_heard = self.wait(until.saturating_duration_since(now), &mut streams)?;
            streams[0].drain(self.limits.output, &mut outcome.stdout)?;
            streams[1].drain(self.limits.output, &mut outcome.stderr)?;
            if is_heard && self.listen(&mut heard, &mut outcome)? == Heard::End {
                break;
            }
            let now = Instant::now();
            if outcome.ended.is_some() {
                // Its limits have no meaning for what the helper still has to do.
                called_off.get_or_insert(now);
            }
            if let Some(at) = called_off {
                next_check = at + self.grace();
                if now >= next_check {
                    (self.kill)();
                    if let Some(cgroup) = self.cgroup {
                        cgroup.kill();
                    }
                    break;
                }
                continue;
            }
            let limit = if now >= deadline {
                Some(Limit::Wall)
            } else if now >= next_check {
                next_check = now + CHECK;
                self.check()
            } else {
                None
            };
            outcome.is_stopped |= self.stop.is_set();
            outcome.reached.extend(limit);
            if limit.is_some() || outcome.is_stopped {
                self.control.shutdown(Shutdown::Write)?;
                called_off = Some(now);
            }
        }
        // Whoever wrote is gone, so what is left is there at once.
        streams[0].finish(self.limits.output, &mut outcome.stdout)?;
        streams[1].finish(self.limits.output, &mut outcome.stderr)?;
        Ok(outcome)
    }

    fn grace(&self) -> Duration {
        if self.is_disk_held {
            GRACE + CARRY
        } else {
            GRACE
        }
    }

    /// Puts the helper into its control group and lets it start the program.
    fn begin(&self) -> io::Result<()> {
        if let Some(cgroup) = self.cgroup {
            cgroup.attach(self.process)?;
        }
        let mut control = self.control;
        match control.write_all(&[BEGIN]) {
            // It is gone already and has said why.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            other => other,
        }
    }

    /// Waits for something to happen; says whether the helper was heard.
    fn wait(&self, time: Duration, streams: &mut [Stream<'_>; 2]) -> io::Result<bool> {
        let mut waited = vec![
            PollFd::new(self.control, PollFlags::IN),
            PollFd::new(self.stop.event(), PollFlags::IN),
        ];
        for stream in streams {
            if stream.is_awaited() {
                waited.push(PollFd::new(stream.end, PollFlags::IN));
            }
        }
        let time = Timespec {
            tv_sec: i64::try_from(time.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(time.subsec_nanos()),
        };
        match poll(&mut waited, Some(&time)) {
            Ok(_) | Err(Errno::INTR) => Ok(!waited[0].revents().is_empty()),
            Err(error) => Err(error.into()),
        }
    }

    fn listen(&self, heard: &mut Vec<u8>, outcome: &mut Outcome) -> io::Result<Heard> {
        let mut buffer = [0; 4096];
        let mut control = self.control;
        match control.read(&mut buffer) {
            Ok(0) => return Ok(Heard::End),
            Ok(read) => heard.extend_from_slice(&buffer[..read]),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(Heard::Words),
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => {
                return Ok(Heard::End);
            }
            Err(error) => return Err(error),
        }
        while let Some(end) = heard.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = heard.drain(..=end).collect();
            match Said::parse(&String::from_utf8_lossy(&line)) {
                Some(Said::Ready) => self.begin_all()?,
                Some(Said::Gap(gap)) => outcome.gaps.push(gap),
                Some(Said::Reached(limit)) => outcome.reached.push(limit),
                Some(Said::Ended { how, cpu, memory }) => {
                    outcome.ended = Some((how, cpu, memory));
                }
                Some(Said::Failed { stage, errno }) => {
                    // The first complaint is the cause of the others.
                    outcome.failed.get_or_insert((stage, errno));
                }
                Some(Said::Started(_)) | None => {}
            }
        }
        Ok(Heard::Words)
    }

    /// Puts everybody the helper stands among into the control group.
    fn begin_all(&self) -> io::Result<()> {
        let mut waiting = vec![self.process];
        while let (Some(process), Some(cgroup)) = (waiting.pop(), self.cgroup) {
            cgroup.attach(process)?;
            let children = format!("/proc/{process}/task/{process}/children");
            let children = std::fs::read_to_string(children)?;
            let children = children.split_ascii_whitespace();
            waiting.extend(children.filter_map(|child| child.parse::<u32>().ok()));
        }
        self.begin()
    }

    /// Looks at what the kernel does not limit by itself.
    fn check(&self) -> Option<Limit> {
        let used = self.cgroup.and_then(Cgroup::cpu).unwrap_or_default();
        if used >= self.limits.cpu {
            return Some(Limit::Cpu);
        }
        if self.is_disk_held {
            return None;
        }
        let quota = Quota {
            bytes: self.limits.disk,
            files: self.limits.files,
        };
        self.workspace.exceeds(&quota)
    }
}

#[derive(PartialEq, Eq)]
enum Heard {
    Words,
    End,
}

/// One stream of the program.
struct Stream<'a> {
    end: &'a OwnedFd,
    is_open: bool,
    paused: Option<Instant>,
}

impl<'a> Stream<'a> {
    fn new(end: &'a OwnedFd) -> Self {
        Self {
            end,
            is_open: true,
            paused: None,
        }
    }

    fn is_awaited(&mut self) -> bool {
        if self.paused.is_some_and(|until| Instant::now() >= until) {
            self.paused = None;
        }
        self.is_open && self.paused.is_none()
    }

    /// Takes what is there, up to a gulp.
    fn drain(&mut self, limit: u64, into: &mut Captured) -> io::Result<()> {
        let mut taken = 0;
        while self.is_awaited() {
            match self.take(limit, into)? {
                0 => return Ok(()),
                read => taken += read,
            }
            if taken >= GULP {
                // Whoever talks without end is slowed down, so that listening stays cheap.
                self.paused = into.is_cut().then(|| Instant::now() + PAUSE);
                return Ok(());
            }
        }
        Ok(())
    }

    /// Takes all that is left.
    fn finish(&mut self, limit: u64, into: &mut Captured) -> io::Result<()> {
        while self.is_open && self.take(limit, into)? > 0 {}
        Ok(())
    }

    fn take(&mut self, limit: u64, into: &mut Captured) -> io::Result<usize> {
        let mut buffer = [0; 65_536];
        match rustix::io::read(self.end, &mut buffer) {
            Ok(0) => {
                self.is_open = false;
                Ok(0)
            }
            Ok(read) => {
                into.total += read as u64;
                let room = limit.saturating_sub(into.bytes.len() as u64);
                let room = usize::try_from(room).unwrap_or(usize::MAX).min(read);
                into.bytes.extend_from_slice(&buffer[..room]);
                Ok(read)
            }
            Err(Errno::AGAIN | Errno::INTR) => Ok(0),
            Err(error) => Err(error.into()),
        }
    }
}
