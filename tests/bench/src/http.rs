//! As much HTTP/1.1 as measuring needs, blocking and over plain TCP: nothing of ours between the clock and the wire.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use crate::Result;

/// No answer on one machine takes this long.
const PATIENCE: Duration = Duration::from_secs(10);

/// One message, request or response.
#[derive(Debug)]
pub struct Message {
    /// The request line or the status line.
    pub first_line: String,
    pub body: Vec<u8>,
}

impl Message {
    pub fn status(&self) -> Option<u16> {
        self.first_line.split(' ').nth(1)?.parse().ok()
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// A connection that stays open between messages.
#[derive(Debug)]
pub struct Connection {
    reader: BufReader<TcpStream>,
}

impl Connection {
    pub fn open(address: SocketAddr) -> std::io::Result<Connection> {
        Connection::over(TcpStream::connect(address)?)
    }

    pub fn over(stream: TcpStream) -> std::io::Result<Connection> {
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        Ok(Connection { reader: BufReader::new(stream) })
    }

    pub fn ask(&mut self, request: &[u8]) -> Result<Message> {
        self.send(request)?;
        self.receive()?.ok_or_else(|| "the connection was closed instead of an answer".into())
    }

    pub fn send(&mut self, message: &[u8]) -> Result<()> {
        Ok(self.reader.get_mut().write_all(message)?)
    }

    /// The next message, or nothing if the other side has closed.
    pub fn receive(&mut self) -> Result<Option<Message>> {
        read_message(&mut self.reader)
    }
}

/// A POST with JSON in it as one buffer, so that it leaves in one packet.
pub fn post(path: &str, content_type: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: {content_type}\r\ncontent-length: {length}\r\n"
    );
    format!("{head}\r\n{body}").into_bytes()
}

fn read_message(reader: &mut impl BufRead) -> Result<Option<Message>> {
    let first_line = read_line(reader)?;
    if first_line.is_empty() {
        return Ok(None);
    }
    let (mut length, mut chunked) = (0, false);
    loop {
        let header = read_line(reader)?;
        if header.is_empty() {
            break;
        }
        let (name, value) = header.split_once(':').ok_or_else(|| format!("not a header: {header:?}"))?;
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.trim().parse()?,
            "transfer-encoding" => chunked = value.trim().eq_ignore_ascii_case("chunked"),
            _ => {}
        }
    }
    let body = if chunked { read_chunks(reader)? } else { read_exactly(reader, length)? };
    Ok(Some(Message { first_line, body }))
}

fn read_chunks(reader: &mut impl BufRead) -> Result<Vec<u8>> {
    let mut body = vec![];
    loop {
        let size = read_line(reader)?;
        let size = usize::from_str_radix(size.split(';').next().unwrap_or_default().trim(), 16)?;
        body.extend(read_exactly(reader, size)?);
        read_line(reader)?;
        if size == 0 {
            return Ok(body);
        }
    }
}

fn read_exactly(reader: &mut impl Read, length: usize) -> Result<Vec<u8>> {
    let mut bytes = vec![0; length];
    reader.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn read_line(reader: &mut impl BufRead) -> Result<String> {
    let mut line = String::new();
    reader.read_line(&mut line)?;
    line.truncate(line.trim_end_matches(['\r', '\n']).len());
    Ok(line)
}

#[cfg(test)]
mod tests {
    use super::{post, read_message};

    #[test]
    fn messages_with_a_length_and_in_chunks_are_read_one_after_the_other() {
        let two = "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n\
                   HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n";
        let mut reader = two.as_bytes();
        let first = read_message(&mut reader).unwrap().unwrap();
        assert_eq!((first.status(), first.text().as_str()), (Some(202), ""));
        let second = read_message(&mut reader).unwrap().unwrap();
        assert_eq!((second.status(), second.text().as_str()), (Some(200), "abcde"));
        assert!(read_message(&mut reader).unwrap().is_none());
    }

    #[test]
    fn half_a_body_is_an_error() {
        assert!(read_message(&mut "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nabc".as_bytes()).is_err());
    }

    #[test]
    fn a_post_can_be_read_back() {
        let request = post("/on-nodeclaim", "application/json", "{}");
        let message = read_message(&mut request.as_slice()).unwrap().unwrap();
        assert_eq!((message.first_line.as_str(), message.text().as_str()), ("POST /on-nodeclaim HTTP/1.1", "{}"));
    }
}
