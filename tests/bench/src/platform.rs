//! The platforms a function runs on, as far as a start shows them: which variables it gets, and how its first event reaches it.

use std::net::SocketAddr;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::Result;
use crate::answer::accepted;
use crate::event::{ALLOWED, Event};
use crate::http::{Connection, Message, post};
use crate::process::{Program, Running};
use crate::runtime_api::RuntimeApi;
use crate::size::MEASURED_FUNCTION;
use spec::free_address;

/// A start that takes longer has failed.
const PATIENCE: Duration = Duration::from_secs(10);

/// Between tries to connect. Short beside what is measured at first, then longer: a function that is late would only be made
/// later by the processor time that trying takes from it.
const FIRST_PAUSE: Duration = Duration::from_micros(50);
const LAST_PAUSE: Duration = Duration::from_millis(1);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Platform {
    Knative,
    Azure,
    Lambda,
}

impl Platform {
    pub const ALL: [Platform; 3] = [Platform::Knative, Platform::Azure, Platform::Lambda];

    pub fn name(self) -> &'static str {
        match self {
            Platform::Knative => "knative",
            Platform::Azure => "azure",
            Platform::Lambda => "lambda",
        }
    }

    /// From just before the process is asked for until its first answer is here. It is `left_alone` for that long before
    /// anybody tries to reach it: on a small machine, trying takes the processor from what is measured.
    pub fn time_to_first_answer(self, program: &Program, event: &Event, left_alone: Duration) -> Result<Duration> {
        let time = match self {
            Platform::Knative => first_answer_on_knative(program, event, left_alone),
            Platform::Azure => first_answer_on_azure(program, event, left_alone),
            Platform::Lambda => first_answer_on_lambda(program, event),
        };
        time.map_err(|cause| program.blame(&format!("first answer on {}", self.name()), &cause).into())
    }
}

/// A function that serves HTTP, and a connection to it on which it has answered once.
#[derive(Debug)]
pub struct Served {
    pub process: Running,
    pub connection: Connection,
    pub request: Vec<u8>,
    pub first_answer: Duration,
}

/// Starts a function as Knative does and waits for its first answer.
pub fn serve_on_knative(program: &Program, event: &Event, left_alone: Duration) -> Result<Served> {
    let address = free_address()?;
    let [unsigned, rehearsing] = permissions();
    let variables =
        [("PORT", address.port().to_string()), ("PILOTLIGHT_BIND", address.ip().to_string()), unsigned, rehearsing];
    let request = post("/", "application/cloudevents+json", &event.0);
    let mut process = program.start(&variables)?;
    let mut connection = connect(&mut process, address, left_alone)?;
    let answer = connection.ask(&request)?;
    let first_answer = process.begin.elapsed();
    expect_status(&answer, 202)?;
    Ok(Served { process, connection, request, first_answer })
}

fn first_answer_on_knative(program: &Program, event: &Event, left_alone: Duration) -> Result<Duration> {
    serve_on_knative(program, event, left_alone).map(|served| served.first_answer)
}

fn first_answer_on_azure(program: &Program, event: &Event, left_alone: Duration) -> Result<Duration> {
    let address = free_address()?;
    let [unsigned, rehearsing] = permissions();
    let variables = [("FUNCTIONS_CUSTOMHANDLER_PORT", address.port().to_string()), unsigned, rehearsing];
    let request = post(&format!("/{MEASURED_FUNCTION}"), "application/json", &event.for_azure());
    let mut process = program.start(&variables)?;
    let mut connection = connect(&mut process, address, left_alone)?;
    let answer = connection.ask(&request)?;
    let time = process.begin.elapsed();
    expect_status(&answer, 200)?;
    let envelope: Value = serde_json::from_slice(&answer.body)?;
    accepted(&envelope["ReturnValue"])?;
    Ok(time)
}

fn first_answer_on_lambda(program: &Program, event: &Event) -> Result<Duration> {
    let api = RuntimeApi::serve(event.0.clone())?;
    let [unsigned, rehearsing] = permissions();
    let variables = [
        ("AWS_LAMBDA_RUNTIME_API", api.address().to_string()),
        ("AWS_LAMBDA_FUNCTION_NAME", MEASURED_FUNCTION.to_owned()),
        ("AWS_LAMBDA_FUNCTION_VERSION", "$LATEST".to_owned()),
        ("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "128".to_owned()),
        unsigned,
        rehearsing,
    ];
    let mut process = program.start(&variables)?;
    let deadline = process.begin + PATIENCE;
    let answer = loop {
        if let Some(answer) = api.wait_for_answer(Duration::from_millis(100))? {
            break answer;
        }
        process.still_runs()?;
        if Instant::now() > deadline {
            return Err(format!("no answer in {PATIENCE:?}").into());
        }
    };
    accepted(&serde_json::from_str(&answer.body)?)?;
    Ok(answer.at - process.begin)
}

/// Nobody signs what is sent here, and a process without secrets wants to be told so; and what is sent is a rehearsal.
fn permissions() -> [(&'static str, String); 2] {
    [("PILOTLIGHT_ALLOW_UNSIGNED", "true"), ALLOWED].map(|(name, value)| (name, value.to_owned()))
}

/// Tries until somebody listens. Loopback refuses at once, so nothing is lost by trying.
fn connect(process: &mut Running, address: SocketAddr, left_alone: Duration) -> Result<Connection> {
    thread::sleep(left_alone.saturating_sub(process.begin.elapsed()));
    let deadline = process.begin + PATIENCE;
    let mut pause = FIRST_PAUSE;
    for attempt in 1_u32.. {
        if let Ok(connection) = Connection::open(address) {
            return Ok(connection);
        }
        // Asking the kernel about the child costs time, so rarely.
        if attempt.is_multiple_of(20) {
            process.still_runs()?;
        }
        if Instant::now() > deadline {
            break;
        }
        thread::sleep(pause);
        pause = (pause * 5 / 4).min(LAST_PAUSE);
    }
    Err(format!("nobody listened on {address} within {PATIENCE:?}").into())
}

pub fn expect_status(answer: &Message, wanted: u16) -> Result<()> {
    if answer.status() == Some(wanted) {
        return Ok(());
    }
    Err(format!("wanted status {wanted}, got {:?} with the body {:?}", answer.first_line, answer.text()).into())
}
