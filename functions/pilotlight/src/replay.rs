//! `pilotlight replay`: every stored event to its function, and a table of the answers.

use bytes::Bytes;
use host::{Deliverer, Function, SettingSource, Settings, in_process, listen, platform::http::Http};
use http::{Request, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use schema::AnswerBody;
use serde_json::{Value, json};
use std::{
    error::Error,
    fs,
    io::{self, Write as _},
    net::{IpAddr, Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
    process::ExitCode,
};
use tokio::net::TcpStream;
use world::{World, WorldOptions};

use crate::{Output, Replay, Via, functions, table::table};

type Failure = Box<dyn Error>;

/// A stored event and whom it is for.
struct Stored {
    file: String,
    function: String,
    text: Vec<u8>,
}

struct Answered {
    stored: Stored,
    /// The HTTP status, where it went over HTTP.
    status: Option<StatusCode>,
    answer: Value,
}

pub fn run(arguments: &Replay) -> ExitCode {
    let answered = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::from);
    let answered = answered.and_then(|runtime| runtime.block_on(replay_on_a_world(arguments)));
    match answered {
        Ok(answered) => {
            let text = match arguments.output {
                Output::Table => show(&answered),
                Output::Json => to_json(&answered),
            };
            // A closed pipe (`| head`) is no failure of ours.
            drop(io::stdout().write_all(text.as_bytes()));
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("pilotlight replay: {error}");
            ExitCode::FAILURE
        }
    }
}

/// An empty cluster: stored events are of objects that are not there, so nothing can be harmed.
async fn replay_on_a_world(arguments: &Replay) -> Result<Vec<Answered>, Failure> {
    let world = World::start(WorldOptions::default());
    let functions = functions(stage::source(&world, "replay")?);
    let events = stored(&arguments.paths, &functions)?;
    replay(functions, events, arguments.via).await
}

async fn replay(functions: Vec<Function>, events: Vec<Stored>, via: Via) -> Result<Vec<Answered>, Failure> {
    // The deliveries never leave this process, so there is nobody to prove anything to.
    let unsigned = SettingSource::from_pairs([("PILOTLIGHT_ALLOW_UNSIGNED", "true")]);
    let settings = Settings::from_source(unsigned)?;
    let deliverer = Deliverer::new(functions, &settings);
    let mut answered = Vec::with_capacity(events.len());
    match via {
        Via::Call => {
            for stored in events {
                let answer = in_process::call(&deliverer, &stored.function, &stored.text).await;
                answered.push(Answered { answer: AnswerBody::from(&answer).to_json(), stored, status: None });
            }
        }
        Via::Http => {
            let listening = listen(Some(IpAddr::V4(Ipv4Addr::LOCALHOST)), 0).await?;
            let address = listening.address()?;
            eprintln!("serving all functions on http://{address}, sending {} events", events.len());
            tokio::spawn(listening.serve(Http::new(deliverer, settings.signing), std::future::pending()));
            for stored in events {
                let (status, answer) = post(address, &stored).await?;
                answered.push(Answered { stored, status: Some(status), answer });
            }
        }
    }
    Ok(answered)
}

/// Sends the file as a structured CloudEvent and asks for the answer.
async fn post(address: SocketAddr, stored: &Stored) -> Result<(StatusCode, Value), Failure> {
    let stream = TcpStream::connect(address).await?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    tokio::spawn(connection);
    let request = Request::post(format!("/{}", stored.function))
        .header("host", address.to_string())
        .header("content-type", "application/cloudevents+json")
        .header("prefer", "reply")
        .body(Full::new(Bytes::from(stored.text.clone())))?;
    let response = sender.send_request(request).await?;
    let status = response.status();
    let body: Value = serde_json::from_slice(&response.into_body().collect().await?.to_bytes())?;
    // A reply is an event that carries the answer; a refusal is the answer.
    let answer = if status == StatusCode::OK { body["data"].clone() } else { body };
    Ok((status, answer))
}

fn stored(paths: &[PathBuf], functions: &[Function]) -> Result<Vec<Stored>, Failure> {
    let mut events = Vec::new();
    for path in paths {
        if !path.is_dir() {
            events.push(one(path, functions)?);
            continue;
        }
        let listed = fs::read_dir(path).map_err(|error| format!("cannot list {}: {error}", path.display()))?;
        let mut files: Vec<PathBuf> = listed.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>()?;
        files.retain(|file| file.extension().is_some_and(|extension| extension == "json"));
        files.sort();
        for file in files {
            events.push(one(&file, functions)?);
        }
    }
    if events.is_empty() {
        return Err("there are no files <function>.<case>.json in these paths".into());
    }
    Ok(events)
}

fn one(path: &Path, functions: &[Function]) -> Result<Stored, Failure> {
    let text = fs::read(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let function = file.split('.').next().unwrap_or_default().to_owned();
    if !functions.iter().any(|known| known.name() == function) {
        let names: Vec<&str> = functions.iter().map(Function::name).collect();
        let known = names.join(", ");
        return Err(format!("{}: the file name must begin with a function and a dot: {known}", path.display()).into());
    }
    Ok(Stored { file, function, text })
}

fn show(answered: &[Answered]) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let row = |answered: &Answered| {
        let status = answered.status.map_or("-".to_owned(), |status| status.as_u16().to_string());
        vec![answered.stored.file.clone(), status, text(&answered.answer["outcome"]), text(&answered.answer["reason"])]
    };
    let rows: Vec<Vec<String>> = answered.iter().map(row).collect();
    let count = |outcome: &str| answered.iter().filter(|one| one.answer["outcome"] == outcome).count();
    let outcomes = ["done", "nothing", "later", "refused", "failed"];
    let counts: Vec<String> = outcomes
        .iter()
        .filter(|outcome| count(outcome) > 0)
        .map(|outcome| format!("{} {outcome}", count(outcome)))
        .collect();
    let summary = format!("\n{} events: {}\n", answered.len(), counts.join(", "));
    table(&["EVENT", "HTTP", "OUTCOME", "REASON"], &rows) + &summary
}

fn to_json(answered: &[Answered]) -> String {
    let row = |one: &Answered| {
        let mut row = json!({ "file": one.stored.file, "function": one.stored.function, "answer": one.answer });
        if let Some(status) = one.status {
            row["status"] = status.as_u16().into();
        }
        row
    };
    let rows: Value = answered.iter().map(row).collect();
    format!("{rows:#}\n")
}
