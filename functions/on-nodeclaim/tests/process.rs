//! The process: what it does with wrong settings, signals, and memory.

#![allow(clippy::unwrap_used)]

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

const BINARY: &str = env!("CARGO_BIN_EXE_on-nodeclaim");

/// A started process and the port it chose. Killed when dropped.
struct Started {
    child: Child,
    port: u16,
}

impl Drop for Started {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn command(settings: &[(&str, &str)]) -> Command {
    let mut command = Command::new(BINARY);
    command.env_clear().envs(settings.iter().copied()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn start() -> Started {
    let settings = [
        ("PORT", "0"),
        ("PILOTLIGHT_BIND", "127.0.0.1"),
        ("PILOTLIGHT_ALLOW_UNSIGNED", "true"),
        ("PILOTLIGHT_ALLOW_REHEARSAL", "true"),
        ("PILOTLIGHT_LOG_FORMAT", "json"),
    ];
    let mut child = command(&settings).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let first = lines.next().unwrap().unwrap();
    let port = first.split("127.0.0.1:").nth(1).unwrap().split('"').next().unwrap().parse().unwrap();
    // The log is read to the end, so that the process never waits for us.
    std::thread::spawn(move || lines.for_each(drop));
    Started { child, port }
}

impl Started {
    fn send(&self, body: &str) -> TcpStream {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        let length = body.len();
        write!(stream, "POST / HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: application/cloudevents+json\r\ncontent-length: {length}\r\n\r\n{body}").unwrap();
        stream
    }

    fn terminate(&self) {
        let status = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status().unwrap();
        assert!(status.success());
    }

    fn memory_kib(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }
}

fn rehearsal(after_milliseconds: u32) -> String {
    format!(
        r#"{{"specversion":"1.0","id":"1","source":"c","type":"dev.pilotlight.rehearsal.v1",
            "data":{{"outcome":"done","reason":"r","afterMilliseconds":{after_milliseconds}}}}}"#
    )
}

fn read(mut stream: TcpStream) -> String {
    let mut answer = String::new();
    drop(stream.read_to_string(&mut answer));
    answer
}

#[test]
fn wrong_settings_end_it_with_2_and_all_of_them_are_named() {
    let output = command(&[("PORT", "x"), ("PILOTLIGHT_LOG_FORMAT", "y")]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let message = String::from_utf8(output.stderr).unwrap();
    for name in ["PORT", "PILOTLIGHT_LOG_FORMAT", "PILOTLIGHT_SIGNING_SECRETS"] {
        assert!(message.contains(name), "{message}");
    }
}

#[test]
fn help_teaches_and_an_argument_is_an_error() {
    let help = command(&[]).arg("--help").output().unwrap();
    assert!(help.status.success());
    assert!(String::from_utf8(help.stdout).unwrap().contains("PILOTLIGHT_SIGNING_SECRETS"));
    assert_eq!(command(&[]).arg("serve").output().unwrap().status.code(), Some(2));
}

#[test]
fn a_port_in_use_is_said_in_words() {
    let started = start();
    let port = started.port.to_string();
    let settings = [("PORT", port.as_str()), ("PILOTLIGHT_BIND", "127.0.0.1"), ("PILOTLIGHT_ALLOW_UNSIGNED", "true")];
    let output = command(&settings).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8(output.stderr).unwrap().contains(&format!("cannot listen on port {port}")));
}

#[test]
fn sigterm_finishes_what_is_under_way_and_exits_0() {
    let mut started = start();
    let under_way = started.send(&rehearsal(700));
    // The answer to a later request shows that the earlier one has been read.
    assert!(read(started.send(&rehearsal(0))).starts_with("HTTP/1.1 202"));
    started.terminate();
    assert!(read(under_way).starts_with("HTTP/1.1 202"), "the request under way is answered");
    assert_eq!(started.child.wait().unwrap().code(), Some(0));
    assert!(TcpStream::connect(("127.0.0.1", started.port)).is_err());
}

#[test]
fn what_is_unknown_is_counted() {
    let started = start();
    for kind in ["com.example.other", "dev.pilotlight.nodeclaim.changed.v9", "dev.pilotlight.timer.idle.v1"] {
        let event = format!(r#"{{"specversion":"1.0","id":"1","source":"c","type":"{kind}"}}"#);
        assert!(read(started.send(&event)).starts_with("HTTP/1.1 202"), "{kind}");
    }
    read(started.send("{"));
    let mut stream = TcpStream::connect(("127.0.0.1", started.port)).unwrap();
    stream.write_all(b"GET /metrics HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").unwrap();
    let counts = read(stream);
    for (result, count) in [("unknown", 2), ("other-function", 1), ("refused", 1)] {
        let line = format!(r#"pilotlight_deliveries_total{{function="on-nodeclaim",result="{result}"}} {count}"#);
        assert!(counts.contains(&line), "{line} is not in\n{counts}");
    }
}

#[test]
fn an_idle_connection_does_not_hold_up_the_end() {
    let mut started = start();
    let _idle = TcpStream::connect(("127.0.0.1", started.port)).unwrap();
    assert!(read(started.send(&rehearsal(0))).starts_with("HTTP/1.1 202"));
    let asked = Instant::now();
    started.terminate();
    assert_eq!(started.child.wait().unwrap().code(), Some(0));
    assert!(asked.elapsed() < Duration::from_secs(10));
}

#[test]
fn memory_stays_bounded_under_large_and_slow_bodies() {
    let started = start();
    read(started.send(&rehearsal(0)));
    let before = started.memory_kib();
    // 100 clients that announce a megabyte, send most of it and stop.
    let part = " ".repeat(900 * 1024);
    let slow: Vec<TcpStream> = (0..100)
        .map(|_| {
            let mut stream = TcpStream::connect(("127.0.0.1", started.port)).unwrap();
            stream.set_write_timeout(Some(Duration::from_secs(2))).unwrap();
            write!(stream, "POST / HTTP/1.1\r\nhost: x\r\ncontent-type: application/cloudevents+json\r\ncontent-length: 1048576\r\n\r\n").unwrap();
            drop(stream.write_all(part.as_bytes()));
            stream
        })
        .collect();
    for _ in 0..10 {
        assert!(read(started.send(&" ".repeat(2 * 1024 * 1024))).starts_with("HTTP/1.1 413"));
    }
    let grown = started.memory_kib().saturating_sub(before);
    assert!(grown < 160 * 1024, "{grown} KiB more than before");
    drop(slow);
    assert!(read(started.send(&rehearsal(0))).starts_with("HTTP/1.1 202"), "and it still answers");
}
