//! The JSON-line log, written by a thread of its own so that no call waits for it.

use std::{
    fs::OpenOptions,
    io::{self, Write},
    path::Path,
    sync::{
        Mutex, PoisonError,
        mpsc::{Receiver, SyncSender, TrySendError, sync_channel},
    },
    thread::JoinHandle,
};

use tollgate_engine::record::{LogEvent, LogLine, LogSink};

use crate::config::{Level, Log, LogTarget};

/// Lines that may wait; beyond that the oldest news wins and new lines are dropped.
const QUEUE: usize = 4096;

/// A log that never blocks a call.
pub struct LogFile {
    level: Level,
    sender: Option<SyncSender<Vec<u8>>>,
    writer: Mutex<Option<JoinHandle<()>>>,
}

impl LogFile {
    /// Opens the target; `None` if there is none.
    pub fn open(log: &Log) -> io::Result<Option<Self>> {
        let output: Box<dyn Write + Send> = match &log.target {
            LogTarget::Off => return Ok(None),
            LogTarget::Stderr => Box::new(io::stderr()),
            LogTarget::File(path) => Box::new(append_to(path)?),
        };
        let (sender, receiver) = sync_channel(QUEUE);
        let writer = std::thread::Builder::new()
            .name("log".to_owned())
            .spawn(move || drain(&receiver, output))?;
        Ok(Some(Self {
            level: log.level,
            sender: Some(sender),
            writer: Mutex::new(Some(writer)),
        }))
    }
}

fn append_to(path: &Path) -> io::Result<std::fs::File> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    OpenOptions::new().create(true).append(true).open(path)
}

/// Writes whole batches; a target that fails loses lines, never calls.
fn drain(receiver: &Receiver<Vec<u8>>, mut output: Box<dyn Write + Send>) {
    while let Ok(mut lines) = receiver.recv() {
        while let Ok(more) = receiver.try_recv() {
            lines.extend(more);
        }
        if output
            .write_all(&lines)
            .and_then(|()| output.flush())
            .is_err()
        {
            return;
        }
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
        if let Some(sender) = &self.sender {
            match sender.try_send(bytes) {
                Ok(()) | Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => {}
            }
        }
    }
}

impl Drop for LogFile {
    fn drop(&mut self) {
        self.sender = None;
        let writer = self
            .writer
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(writer) = writer {
            drop(writer.join());
        }
    }
}
