//! Bodies as they arrive: unpacked piece by piece, never beyond the limit.

use std::io::{self, Write};

use brotli_decompressor::DecompressorWriter;
use flate2::write::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};

use crate::error::{Kind, WebError};

/// A place for bytes that is full at some point.
pub(crate) struct Bounded {
    bytes: Vec<u8>,
    limit: usize,
    is_full: bool,
}

impl Write for Bounded {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        let room = self.limit - self.bytes.len();
        if piece.len() > room {
            self.bytes.extend_from_slice(&piece[..room]);
            self.is_full = true;
            return Err(io::Error::other("full"));
        }
        self.bytes.extend_from_slice(piece);
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A body being read.
pub(crate) struct Body {
    packing: Packing,
    arrived: usize,
    limit: usize,
}

enum Packing {
    Plain(Bounded),
    Gzip(Box<MultiGzDecoder<Bounded>>),
    /// Not yet known whether it has a zlib header: some servers leave it out.
    Deflate(Bounded),
    Zlib(Box<ZlibDecoder<Bounded>>),
    RawDeflate(Box<DeflateDecoder<Bounded>>),
    Brotli(Box<DecompressorWriter<Bounded>>),
}

impl Body {
    /// A body packed as its header says.
    pub(crate) fn new(encoding: Option<&str>, limit: usize) -> Result<Self, WebError> {
        let place = Bounded {
            bytes: Vec::new(),
            limit,
            is_full: false,
        };
        let encoding = encoding.unwrap_or_default().trim().to_ascii_lowercase();
        let packing = match encoding.as_str() {
            "" | "identity" => Packing::Plain(place),
            "gzip" | "x-gzip" => Packing::Gzip(Box::new(MultiGzDecoder::new(place))),
            "deflate" => Packing::Deflate(place),
            "br" => Packing::Brotli(Box::new(DecompressorWriter::new(place, 16 << 10))),
            _ => {
                let message =
                    format!("the answer is packed as {encoding}, which we did not ask for");
                return Err(WebError::new(Kind::Parse, message));
            }
        };
        Ok(Self {
            packing,
            arrived: 0,
            limit,
        })
    }

    /// Takes a piece; `false` when there is room for no more.
    pub(crate) fn push(&mut self, piece: &[u8]) -> Result<bool, WebError> {
        if let Packing::Deflate(place) = &mut self.packing
            && let Some(first) = piece.first()
        {
            let place = std::mem::replace(
                place,
                Bounded {
                    bytes: Vec::new(),
                    limit: 0,
                    is_full: false,
                },
            );
            // The method in a zlib header is always 8.
            self.packing = if first & 0x0f == 8 {
                Packing::Zlib(Box::new(ZlibDecoder::new(place)))
            } else {
                Packing::RawDeflate(Box::new(DeflateDecoder::new(place)))
            };
        }
        self.arrived += piece.len();
        let written = match &mut self.packing {
            Packing::Plain(to) | Packing::Deflate(to) => to.write_all(piece),
            Packing::Gzip(to) => to.write_all(piece),
            Packing::Zlib(to) => to.write_all(piece),
            Packing::RawDeflate(to) => to.write_all(piece),
            Packing::Brotli(to) => to.write_all(piece),
        };
        match written {
            Err(_) if self.place().is_full => Ok(false),
            Err(error) => Err(broken(error)),
            // What unpacks to nothing must end too.
            Ok(()) => Ok(self.arrived <= self.limit),
        }
    }

    fn place(&self) -> &Bounded {
        match &self.packing {
            Packing::Plain(to) | Packing::Deflate(to) => to,
            Packing::Gzip(to) => to.get_ref(),
            Packing::Zlib(to) => to.get_ref(),
            Packing::RawDeflate(to) => to.get_ref(),
            Packing::Brotli(to) => to.get_ref(),
        }
    }

    /// The bytes; `was_cut` if the body was left before its end.
    pub(crate) fn finish(self, was_cut: bool) -> Result<Vec<u8>, WebError> {
        let finished = match self.packing {
            Packing::Plain(to) | Packing::Deflate(to) => return Ok(to.bytes),
            _ if self.arrived == 0 => return Ok(Vec::new()),
            Packing::Brotli(mut to) => {
                let closed = to.close();
                end(closed, &mut to.get_mut().bytes)
            }
            Packing::Gzip(mut to) => end(to.try_finish(), &mut to.get_mut().bytes),
            Packing::Zlib(mut to) => end(to.try_finish(), &mut to.get_mut().bytes),
            Packing::RawDeflate(mut to) => end(to.try_finish(), &mut to.get_mut().bytes),
        };
        match finished {
            Ok(bytes) => Ok(bytes),
            Err((_, bytes)) if was_cut => Ok(bytes),
            Err((error, _)) => Err(broken(error)),
        }
    }
}

fn end(finished: io::Result<()>, bytes: &mut Vec<u8>) -> Result<Vec<u8>, (io::Error, Vec<u8>)> {
    let bytes = std::mem::take(bytes);
    match finished {
        Ok(()) => Ok(bytes),
        Err(error) => Err((error, bytes)),
    }
}

fn broken(error: io::Error) -> WebError {
    WebError::new(Kind::Parse, "the answer is packed in a broken way").because(error)
}
