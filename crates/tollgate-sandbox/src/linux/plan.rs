//! What the two halves say to each other.
//!
//! One way: the plan, with the descriptors it needs, then one byte to begin. The other way:
//! lines of a letter and words. The program in the sandbox holds no end of it.

use std::{
    collections::BTreeMap,
    io::{self, IoSlice, IoSliceMut, Read, Write},
    mem::MaybeUninit,
    os::{
        fd::{AsFd, OwnedFd},
        unix::net::UnixStream,
    },
    path::PathBuf,
    time::Duration,
};

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use serde::{Deserialize, Serialize};

use crate::{
    job::{Gap, Limit, Limits, Network},
    supervise::Ended,
};

/// The byte that lets the program start.
pub(crate) const BEGIN: u8 = b'g';

/// The byte that asks a supervised program to end.
pub(crate) const TERMINATE: u8 = b't';

/// A plan larger than this is not ours.
const MAX_PLAN: usize = 16 << 20;

/// How much of the box the helper has to build itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Shape {
    /// All of it.
    Native,
    /// Somebody built the namespaces and started us as their first process.
    Inside,
    /// There are no namespaces.
    Fence,
}

/// All the helper has to know.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Plan {
    pub(crate) shape: Shape,
    pub(crate) program: PathBuf,
    pub(crate) args: Vec<String>,
    pub(crate) env: BTreeMap<String, String>,
    /// Where the workspace is for the program.
    pub(crate) workspace: PathBuf,
    pub(crate) cwd: PathBuf,
    pub(crate) limits: Limits,
    pub(crate) read_only: Vec<PathBuf>,
    pub(crate) network: Network,
    /// Whom to become, if we are the superuser.
    pub(crate) identity: Option<u32>,
    /// Whether something counts the memory of all processes together.
    pub(crate) is_memory_counted: bool,
    /// Whether the workspace is in memory while the program runs, so that it cannot be
    /// larger than it may be.
    pub(crate) is_disk_held: bool,
}

/// The descriptors that go with a plan.
pub(crate) struct Ends {
    pub(crate) stdin: OwnedFd,
    pub(crate) stdout: OwnedFd,
    pub(crate) stderr: OwnedFd,
    pub(crate) workspace: OwnedFd,
}

/// Sends a plan and its descriptors.
pub(crate) fn send(control: &UnixStream, plan: &Plan, ends: &Ends) -> io::Result<()> {
    let body = serde_json::to_vec(plan)?;
    let length = u32::try_from(body.len()).map_err(io::Error::other)?;
    let fds = [&ends.stdin, &ends.stdout, &ends.stderr, &ends.workspace];
    let fds = fds.map(AsFd::as_fd);
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(4))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !ancillary.push(SendAncillaryMessage::ScmRights(&fds)) {
        return Err(io::Error::other("no room for descriptors"));
    }
    let length = length.to_le_bytes();
    sendmsg(
        control,
        &[IoSlice::new(&length)],
        &mut ancillary,
        SendFlags::NOSIGNAL,
    )?;
    let mut control = control;
    control.write_all(&body)
}

/// Receives a plan and its descriptors.
pub(crate) fn receive(control: &UnixStream) -> io::Result<(Plan, Ends)> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(4))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut length = [0; 4];
    let received = recvmsg(
        control,
        &mut [IoSliceMut::new(&mut length)],
        &mut ancillary,
        RecvFlags::CMSG_CLOEXEC,
    )?;
    let mut fds = Vec::new();
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(received) = message {
            fds.extend(received);
        }
    }
    let length = u32::from_le_bytes(length) as usize;
    let odd = || io::Error::from(io::ErrorKind::InvalidData);
    if received.bytes != 4 || length > MAX_PLAN {
        return Err(odd());
    }
    let [stdin, stdout, stderr, workspace] = <[OwnedFd; 4]>::try_from(fds).map_err(|_| odd())?;
    let mut body = vec![0; length];
    let mut control = control;
    control.read_exact(&mut body)?;
    let ends = Ends {
        stdin,
        stdout,
        stderr,
        workspace,
    };
    Ok((serde_json::from_slice(&body)?, ends))
}

/// What the helper says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Said {
    /// The box stands; the byte to begin is awaited.
    Ready,
    /// The supervised program runs under this number.
    Started(i32),
    /// The program has ended.
    Ended {
        how: Ended,
        cpu: Duration,
        memory: u64,
    },
    /// A guarantee is missing.
    Gap(Gap),
    /// The workspace has come to this limit.
    Reached(Limit),
    /// A stage failed with this error number; nothing runs.
    Failed { stage: String, errno: i32 },
}

/// The stage whose failure means that the program itself is at fault.
pub(crate) const EXEC: &str = "exec";

impl Said {
    /// As a line.
    pub(crate) fn line(&self) -> String {
        match self {
            Self::Ready => "R\n".to_owned(),
            Self::Started(number) => format!("S {number}\n"),
            Self::Ended { how, cpu, memory } => {
                let (kind, number) = match how {
                    Ended::Code(code) => ("code", code),
                    Ended::Signal(signal) => ("signal", signal),
                };
                format!("X {kind} {number} {} {memory}\n", cpu.as_micros())
            }
            Self::Gap(gap) => format!("G {}\n", gap.as_str()),
            Self::Reached(limit) => format!("L {}\n", limit.as_str()),
            Self::Failed { stage, errno } => format!("E {stage} {errno}\n"),
        }
    }

    /// Reads a line; one that makes no sense is nothing.
    pub(crate) fn parse(line: &str) -> Option<Self> {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        match words.as_slice() {
            ["R"] => Some(Self::Ready),
            ["S", number] => number.parse().ok().map(Self::Started),
            ["X", kind, number, cpu, memory] => {
                let number = number.parse().ok()?;
                Some(Self::Ended {
                    how: match *kind {
                        "code" => Ended::Code(number),
                        "signal" => Ended::Signal(number),
                        _ => return None,
                    },
                    cpu: Duration::from_micros(cpu.parse().ok()?),
                    memory: memory.parse().ok()?,
                })
            }
            ["G", gap] => serde_json::from_value((*gap).into()).ok().map(Self::Gap),
            ["L", limit] => [Limit::Disk, Limit::Files]
                .into_iter()
                .find(|known| known.as_str() == *limit)
                .map(Self::Reached),
            ["E", stage, errno] => Some(Self::Failed {
                stage: (*stage).to_owned(),
                errno: errno.parse().ok()?,
            }),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_understood() {
        let all = [
            Said::Ready,
            Said::Started(4711),
            Said::Ended {
                how: Ended::Signal(9),
                cpu: Duration::from_micros(1_234_567),
                memory: 4096,
            },
            Said::Ended {
                how: Ended::Code(3),
                cpu: Duration::ZERO,
                memory: 0,
            },
            Said::Gap(Gap::NoLandlock),
            Said::Reached(Limit::Disk),
            Said::Reached(Limit::Files),
            Said::Failed {
                stage: "proc".to_owned(),
                errno: 1,
            },
        ];
        for said in all {
            assert_eq!(Said::parse(said.line().trim_end()), Some(said));
        }
        assert_eq!(Said::parse("X code"), None);
        assert_eq!(Said::parse(""), None);
    }
}
