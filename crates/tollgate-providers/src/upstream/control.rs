//! A door for the operator: other processes of the same user ask the one that runs a server
//! to start it again.
//!
//! The socket lies in a folder that only its owner may enter. It appears with the first
//! server that is started and goes with the process; what a killed process left behind is
//! swept away by whoever finds nobody behind it.

use std::{
    io,
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock, PoisonError, Weak},
    time::Duration,
};

use serde::{Deserialize, Serialize};
use tokio::{
    io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Take},
    net::{
        UnixListener, UnixStream,
        unix::{OwnedReadHalf, OwnedWriteHalf},
    },
    time::timeout,
};

use super::{
    Upstream,
    life::{Down, Phase},
};

/// The longest question or answer.
const LONGEST: u64 = 64 << 10;
/// How long somebody may take to say what they want.
const PATIENCE: Duration = Duration::from_secs(5);
/// What is said of a process that does not even say that it heard.
const SILENT: &str = "it does not answer; it may be stopped";
const ENDING: &str = "sock";

/// Where the operator's wishes arrive.
pub(super) struct Control {
    folder: PathBuf,
    servers: OnceLock<Vec<Weak<Upstream>>>,
    open: OnceLock<Option<Socket>>,
}

/// A socket that is removed with its process.
struct Socket(PathBuf);

impl Drop for Socket {
    fn drop(&mut self) {
        drop(std::fs::remove_file(&self.0));
    }
}

/// What the operator wants.
#[derive(Serialize, Deserialize)]
struct Wish {
    restart: String,
}

/// What is said at once to whoever wants something.
#[derive(Serialize, Deserialize)]
struct Hears {
    /// How long it may take until there is an answer.
    within_ms: u64,
}

/// What became of a server in one process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Restarted {
    /// The process that runs it.
    pub process: u32,
    /// Whether it had been started there at all.
    pub ran: bool,
    /// Whether it can be called now.
    pub ready: bool,
    /// How many tools it offers.
    pub tools: usize,
    /// Why it cannot be called.
    pub reason: String,
}

impl Control {
    pub(super) fn new(folder: PathBuf) -> Arc<Self> {
        Arc::new(Self {
            folder,
            servers: OnceLock::new(),
            open: OnceLock::new(),
        })
    }

    pub(super) fn knows(&self, servers: Vec<Weak<Upstream>>) {
        // The servers of a process are named once.
        drop(self.servers.set(servers));
    }

    /// Opens the door, if it is not open yet; a reason not to is for the journal.
    pub(super) fn open(self: &Arc<Self>) -> Option<io::Error> {
        let mut failed = None;
        self.open.get_or_init(|| match self.listen() {
            Ok(socket) => Some(socket),
            Err(error) => {
                failed = Some(error);
                None
            }
        });
        failed
    }

    fn listen(self: &Arc<Self>) -> io::Result<Socket> {
        private_folder(&self.folder)?;
        let path = self.folder.join(format!("{}.{ENDING}", std::process::id()));
        // The number of a process that is gone may be ours now.
        drop(std::fs::remove_file(&path));
        let listener = UnixListener::bind(&path)?;
        let own = Arc::downgrade(self);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let Some(own) = own.upgrade() else {
                    return;
                };
                tokio::spawn(async move { own.attend(stream).await });
            }
        });
        Ok(Socket(path))
    }

    async fn attend(&self, stream: UnixStream) {
        let (read, mut write) = stream.into_split();
        let heard = timeout(PATIENCE, line::<Wish>(&mut bounded(read))).await;
        let Ok(Ok(wish)) = heard else {
            return;
        };
        let servers = self.servers.get().into_iter().flatten();
        let mut known = servers.filter_map(Weak::upgrade);
        let found = known.find(|server| server.settings.name == wish.restart);
        let limit = found.as_ref().map(|server| server.restart_limit());
        let within = limit.unwrap_or_default().as_millis();
        let within_ms = u64::try_from(within).unwrap_or(u64::MAX);
        // Whoever left does not want to know.
        drop(tell(&mut write, &Hears { within_ms }).await);
        let answer = match found {
            Some(server) => server.restarted().await,
            None => Restarted::nothing(),
        };
        drop(tell(&mut write, &answer).await);
    }
}

impl Restarted {
    fn nothing() -> Self {
        Self {
            process: std::process::id(),
            ran: false,
            ready: false,
            tools: 0,
            reason: String::new(),
        }
    }
}

impl Upstream {
    /// Starts it again, and waits to see how that goes.
    async fn restarted(&self) -> Restarted {
        let nothing = Restarted::nothing();
        if matches!(self.phase(), Phase::Idle | Phase::Closed) {
            return nothing;
        }
        let mut changed = self.changed.subscribe();
        let before = self.lives();
        self.restart.notify_one();
        let settled = async {
            loop {
                let phase = self.phase();
                match phase {
                    Phase::Up(_) | Phase::Down(Down { until: Some(_), .. })
                        if self.lives() > before =>
                    {
                        return phase;
                    }
                    Phase::Closed => return phase,
                    Phase::Idle | Phase::Starting | Phase::Up(_) | Phase::Down(_) => {}
                }
                if changed.changed().await.is_err() {
                    return self.phase();
                }
            }
        };
        let phase = timeout(self.restart_limit(), settled).await;
        let ran = Restarted {
            ran: true,
            ..nothing
        };
        match phase {
            Ok(Phase::Up(_)) => Restarted {
                ready: true,
                tools: self.known().map_or(0, |known| known.tools.len()),
                ..ran
            },
            Ok(Phase::Down(down)) => Restarted {
                reason: down.reason,
                ..ran
            },
            Ok(Phase::Closed) => Restarted {
                reason: "its process is ending".to_owned(),
                ..ran
            },
            Ok(Phase::Idle | Phase::Starting) | Err(_) => Restarted {
                reason: "it is still starting".to_owned(),
                ..ran
            },
        }
    }

    /// How long it may take to start it again.
    fn restart_limit(&self) -> Duration {
        self.settings.start_timeout * 2 + super::stdio::GRACE * 2
    }

    fn lives(&self) -> u64 {
        *self.lives.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Asks every process below a folder to start a server again; gives what each says.
pub async fn restart(folder: &Path, server: &str) -> io::Result<Vec<Restarted>> {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut answers = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if path.extension().is_none_or(|ending| ending != ENDING) {
            continue;
        }
        match asked(&path, server).await {
            Ok(answer) => answers.push(answer),
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                // Its process is gone.
                drop(std::fs::remove_file(&path));
            }
            Err(error) if has_ended(&error) => {}
            Err(error) => return Err(error),
        }
    }
    answers.sort_by_key(|answer| answer.process);
    Ok(answers)
}

/// Asks one process; one that does not answer is told as such, and keeps nobody waiting.
async fn asked(path: &Path, server: &str) -> io::Result<Restarted> {
    let silent = || {
        let name = path.file_stem().and_then(|name| name.to_str());
        Restarted {
            process: name.and_then(|name| name.parse().ok()).unwrap_or(0),
            // Whether it runs the server, only it could say.
            ran: true,
            reason: SILENT.to_owned(),
            ..Restarted::nothing()
        }
    };
    let wish = Wish {
        restart: server.to_owned(),
    };
    let heard = async {
        let (read, mut write) = UnixStream::connect(path).await?.into_split();
        tell(&mut write, &wish).await?;
        let mut reader = bounded(read);
        let hears: Hears = line(&mut reader).await?;
        Ok::<_, io::Error>((hears, reader, write))
    };
    let Ok(heard) = timeout(PATIENCE, heard).await else {
        return Ok(silent());
    };
    let (hears, mut reader, _write) = heard?;
    let limit = Duration::from_millis(hears.within_ms).saturating_add(PATIENCE);
    let answer = timeout(limit, line::<Restarted>(&mut reader)).await;
    answer.unwrap_or_else(|_| Ok(silent()))
}

/// Whether a process ended while it was asked.
fn has_ended(error: &io::Error) -> bool {
    let ended = [io::ErrorKind::NotFound, io::ErrorKind::UnexpectedEof];
    ended.contains(&error.kind())
}

/// What one side says may not be longer than this.
fn bounded(read: OwnedReadHalf) -> BufReader<Take<OwnedReadHalf>> {
    BufReader::new(read.take(LONGEST))
}

/// Reads one line of JSON.
async fn line<T: for<'de> Deserialize<'de>>(
    reader: &mut (impl AsyncBufRead + Unpin),
) -> io::Result<T> {
    let mut text = Vec::new();
    reader.read_until(b'\n', &mut text).await?;
    if text.is_empty() {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    serde_json::from_slice(&text).map_err(io::Error::from)
}

/// Writes one line of JSON.
async fn tell(write: &mut OwnedWriteHalf, said: &impl Serialize) -> io::Result<()> {
    let mut text = serde_json::to_vec(said)?;
    text.push(b'\n');
    write.write_all(&text).await
}

/// Makes a folder that only its owner may enter.
fn private_folder(folder: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true).mode(0o700).create(folder)
}
