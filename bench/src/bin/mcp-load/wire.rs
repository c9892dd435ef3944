//! As much of HTTP/1.1 as a load generator needs: one request, one answer, the same connection.

use anyhow::{Context, Result, bail};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

pub(crate) struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
}

/// An answer in the connection's buffer.
pub(crate) struct Answer<'a> {
    pub(crate) status: u16,
    head: &'a str,
    body: &'a [u8],
}

impl Answer<'_> {
    pub(crate) fn body(&self) -> &[u8] {
        self.body
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        header(self.head, name)
    }
}

impl Connection {
    pub(crate) async fn open(address: &str) -> Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self {
            stream,
            buffer: Vec::with_capacity(16 << 10),
        })
    }

    /// Sends a request and waits for its answer.
    pub(crate) async fn exchange(&mut self, request: &[u8]) -> Result<Answer<'_>> {
        self.buffer.clear();
        self.stream.write_all(request).await?;
        let head = loop {
            if let Some(end) = position(&self.buffer, b"\r\n\r\n") {
                break end + 4;
            }
            self.more().await?;
        };
        let text = std::str::from_utf8(&self.buffer[..head])?;
        let status = text.get(9..12).context("no status")?.parse()?;
        let length = header(text, "content-length")
            .map(str::parse::<usize>)
            .transpose()?;
        let is_chunked = header(text, "transfer-encoding").is_some();
        let end = match (length, is_chunked) {
            (Some(length), false) => {
                while self.buffer.len() < head + length {
                    self.more().await?;
                }
                head + length
            }
            (None, true) => {
                while !self.buffer.ends_with(b"\r\n0\r\n\r\n") {
                    self.more().await?;
                }
                self.buffer.len()
            }
            (None, false) if status == 202 || status == 204 => head,
            _ => bail!("an answer without a length"),
        };
        Ok(Answer {
            status,
            head: std::str::from_utf8(&self.buffer[..head])?,
            body: &self.buffer[head..end],
        })
    }

    async fn more(&mut self) -> Result<()> {
        if self.stream.read_buf(&mut self.buffer).await? == 0 {
            bail!("the connection was closed");
        }
        Ok(())
    }
}

fn position(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len()).position(|window| window == part)
}

fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.lines().find_map(|line| {
        let (own, value) = line.split_once(':')?;
        own.eq_ignore_ascii_case(name).then(|| value.trim())
    })
}
