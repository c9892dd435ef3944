//! The JSON-line log, written by a thread of its own so that no call waits for it.
//!
//! Invariant: that thread is woken once for many lines, not once for each; waking a
//! thread costs a call more than the line itself.

use std::{
    fs::OpenOptions,
    io::{self, Write},
    path::{Path, PathBuf},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::JoinHandle,
    time::Duration,
};

use tollgate_engine::record::{LogEvent, LogLine, LogSink, Trouble};

use crate::config::{Level, Log, LogTarget};

/// How long lines are waited for at the end of the process.
const FLUSH: Duration = Duration::from_secs(1);
/// Bytes that may wait; lines beyond that are dropped.
const QUEUE: usize = 4 << 20;
/// Bytes that are worth writing at once.
const ENOUGH: usize = 64 << 10;
/// How long a line waits for company.
const LINGER: Duration = Duration::from_millis(5);

/// A log that never blocks a call.
pub struct LogFile {
    level: Level,
    desk: Arc<Desk>,
    writer: Option<JoinHandle<()>>,
    /// The file, if it is one.
    path: Option<PathBuf>,
}

type Output = Box<dyn Write + Send>;

/// Where lines wait for the thread that writes them.
#[derive(Default)]
struct Desk {
    waiting: Mutex<Waiting>,
    wake: Condvar,
    written: Condvar,
}

#[derive(Default)]
struct Waiting {
    lines: Vec<u8>,
    /// Where lines go from now on.
    next: Option<Output>,
    /// The thread sleeps until the first line.
    idle: bool,
    /// Lines are on their way to the target.
    writing: bool,
    /// Somebody waits until all is written.
    hurried: bool,
    closing: bool,
}

impl LogFile {
    /// Opens the target; `None` if there is none.
    pub fn open(log: &Log) -> io::Result<Option<Self>> {
        let output: Output = match &log.target {
            LogTarget::Off => return Ok(None),
            LogTarget::Stderr => Box::new(io::stderr()),
            LogTarget::File(path) => Box::new(append_to(path)?),
        };
        let desk = Arc::<Desk>::default();
        let taken = Arc::clone(&desk);
        let writer = std::thread::Builder::new()
            .name("log".to_owned())
            .spawn(move || drain(&taken, output))?;
        let path = match &log.target {
            LogTarget::File(path) => Some(path.clone()),
            LogTarget::Off | LogTarget::Stderr => None,
        };
        Ok(Some(Self {
            level: log.level,
            desk,
            writer: Some(writer),
            path,
        }))
    }

    /// Opens the file anew, for whoever has moved it away; `false` if it is none. One that
    /// cannot be opened leaves the lines where they went before.
    pub fn reopen(&self) -> io::Result<bool> {
        let Some(path) = &self.path else {
            return Ok(false);
        };
        let output = Box::new(append_to(path)?);
        self.desk.go_on_in(output);
        Ok(true)
    }
}

fn append_to(path: &Path) -> io::Result<std::fs::File> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    OpenOptions::new().create(true).append(true).open(path)
}

/// Writes whole batches; a target that fails loses lines, never calls.
fn drain(desk: &Desk, mut output: Output) {
    let mut lines = Vec::new();
    while desk.take(&mut lines, &mut output) {
        if output
            .write_all(&lines)
            .and_then(|()| output.flush())
            .is_err()
        {
            return desk.close();
        }
        lines.clear();
        lines.shrink_to(ENOUGH);
    }
}

impl Desk {
    fn add(&self, line: &[u8]) {
        let mut waiting = self.waiting();
        if waiting.closing || waiting.lines.len() + line.len() > QUEUE {
            return;
        }
        let before = waiting.lines.len();
        waiting.lines.extend_from_slice(line);
        let crossed = before < ENOUGH && waiting.lines.len() >= ENOUGH;
        let wanted = std::mem::take(&mut waiting.idle) || crossed;
        drop(waiting);
        if wanted {
            self.wake.notify_one();
        }
    }

    /// Lines that wait, and those to come, go there.
    fn go_on_in(&self, output: Output) {
        self.waiting().next = Some(output);
    }

    /// Waits for lines and then for company; `false` when no more will come.
    fn take(&self, lines: &mut Vec<u8>, output: &mut Output) -> bool {
        let mut waiting = self.waiting();
        waiting.writing = false;
        self.written.notify_all();
        while waiting.lines.is_empty() {
            if waiting.closing {
                return false;
            }
            waiting.idle = true;
            waiting = self
                .wake
                .wait(waiting)
                .unwrap_or_else(PoisonError::into_inner);
        }
        let alone = |waiting: &mut Waiting| {
            waiting.lines.len() < ENOUGH && !waiting.closing && !waiting.hurried
        };
        let (mut waiting, _) = self
            .wake
            .wait_timeout_while(waiting, LINGER, alone)
            .unwrap_or_else(PoisonError::into_inner);
        std::mem::swap(&mut waiting.lines, lines);
        if let Some(next) = waiting.next.take() {
            *output = next;
        }
        waiting.writing = true;
        true
    }

    /// Waits until every line so far is written, but not for ever.
    fn flush(&self) {
        let mut waiting = self.waiting();
        waiting.hurried = true;
        self.wake.notify_one();
        let is_left = |it: &mut Waiting| !it.closing && (it.writing || !it.lines.is_empty());
        let (mut waiting, _) = self
            .written
            .wait_timeout_while(waiting, FLUSH, is_left)
            .unwrap_or_else(PoisonError::into_inner);
        waiting.hurried = false;
    }

    fn close(&self) {
        self.waiting().closing = true;
        self.wake.notify_one();
        self.written.notify_all();
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How important a line is: failures and doubts first, the inner steps last.
fn importance(line: &LogLine<'_>) -> Level {
    match line.event {
        LogEvent::AgentReflectFail => Level::Warn,
        _ if line.status == "error" => Level::Error,
        LogEvent::AgentReflectPass => Level::Debug,
        LogEvent::AgentPlanStart
        | LogEvent::AgentPlanDone
        | LogEvent::AgentToolCall
        | LogEvent::AgentToolDone
        | LogEvent::AgentAggregateStart
        | LogEvent::AgentAggregateDone
        | LogEvent::AgentFinalizeDone => Level::Info,
    }
}

impl LogSink for LogFile {
    fn write(&self, line: &LogLine<'_>) {
        if importance(line) > self.level {
            return;
        }
        let Ok(mut bytes) = serde_json::to_vec(line) else {
            return;
        };
        bytes.push(b'\n');
        self.desk.add(&bytes);
    }

    fn warn(&self, event: &'static str, provider: &str, message: &str) {
        self.note(Level::Warn, event, provider, message);
    }

    fn trouble(&self, trouble: Trouble, message: &str) {
        let level = match trouble {
            Trouble::EndingsLost => Level::Error,
            Trouble::EndingsDeferred => Level::Warn,
            Trouble::EndingsWritten => Level::Info,
        };
        self.note(level, trouble.as_str(), "gate", message);
    }
}

impl LogFile {
    /// Waits until every line so far is written, a second at most. What goes on in the background
    /// may still hold the log when the process ends, and then nothing else waits for its lines.
    pub fn flush(&self) {
        self.desk.flush();
    }

    /// Writes down what happens beside the calls, in words that are clean already.
    pub fn note(&self, level: Level, event: &str, provider: &str, message: &str) {
        if level > self.level {
            return;
        }
        let line = serde_json::json!({"event": event, "provider": provider, "message": message});
        self.desk.add(format!("{line}\n").as_bytes());
    }
}

impl Drop for LogFile {
    fn drop(&mut self) {
        self.desk.close();
        if let Some(writer) = self.writer.take() {
            drop(writer.join());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_there_in_order_once_the_log_is_closed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("below/gate.log");
        let log = LogFile::open(&Log {
            target: LogTarget::File(path.clone()),
            level: Level::Info,
        });
        let log = log.unwrap().unwrap();
        for number in 0..5000 {
            log.write(&LogLine {
                event: LogEvent::AgentToolCall,
                session_id: "s",
                request_id: "r",
                iteration: number,
                tool: "text.stats",
                status: "running",
                duration_ms: None,
                error_code: None,
                warnings_count: None,
                provider: None,
                cache_hit: None,
            });
        }
        drop(log);
        let text = std::fs::read_to_string(path).unwrap();
        let numbers: Vec<u64> = text
            .lines()
            .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
            .map(|line| line["iteration"].as_u64().unwrap())
            .collect();
        assert_eq!(numbers, (0..5000).collect::<Vec<u64>>());
    }

    #[test]
    fn a_file_that_was_moved_away_is_opened_again() {
        let folder = tempfile::tempdir().unwrap();
        let (path, moved) = (folder.path().join("gate.log"), folder.path().join("old"));
        let log = LogFile::open(&Log {
            target: LogTarget::File(path.clone()),
            level: Level::Info,
        });
        let log = log.unwrap().unwrap();
        let say = |message: &str| {
            log.note(Level::Warn, "policy", "p", message);
            log.flush();
        };
        say("first");
        std::fs::rename(&path, &moved).unwrap();
        say("second");
        assert!(log.reopen().unwrap());
        say("third");
        let read = |path: &Path| std::fs::read_to_string(path).unwrap();
        assert_eq!(read(&moved).lines().count(), 2);
        assert!(read(&path).contains("third"));
        assert_eq!(read(&path).lines().count(), 1);
    }

    #[test]
    fn what_was_said_is_there_after_a_flush_though_the_log_is_still_held() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("gate.log");
        let log = LogFile::open(&Log {
            target: LogTarget::File(path.clone()),
            level: Level::Info,
        });
        let log = Arc::new(log.unwrap().unwrap());
        let held = Arc::clone(&log);
        for number in 1..=3 {
            log.note(Level::Warn, "policy", "p", &format!("line {number}"));
            log.flush();
            let text = std::fs::read_to_string(&path).unwrap();
            assert_eq!(text.lines().count(), number, "{text}");
        }
        log.flush();
        drop(held);
    }
}
