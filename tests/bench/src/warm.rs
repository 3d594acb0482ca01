//! A function that is already awake: how long one request takes, how many it answers on one connection, what it holds in memory.

use std::time::{Duration, Instant};

use crate::Result;
use crate::event::Event;
use crate::platform::{Served, expect_status, serve_on_knative};
use crate::process::Program;
use crate::report::Measurement;
use crate::statistics::median;

const TIMED_REQUESTS: usize = 500;
const RATE_TAKES: Duration = Duration::from_secs(1);

pub fn measure(function: &Program, event: &Event) -> Result<Vec<Measurement>> {
    rows(function, event).map_err(|cause| function.blame("warm requests on knative", &cause).into())
}

fn rows(function: &Program, event: &Event) -> Result<Vec<Measurement>> {
    let mut served = serve_on_knative(function, event, Duration::ZERO)?;
    let mut times = vec![];
    for _ in 0..TIMED_REQUESTS {
        times.push(time_one(&mut served)?);
    }
    let rate = requests_per_second(&mut served)?;
    let resident = served.process.resident_mebibytes()?;
    Ok(vec![
        Measurement::new("function.warm_ms.knative", median(&times), "ms"),
        Measurement::new("function.requests_per_second.knative", rate, "1/s"),
        Measurement::new("function.rss_mib.knative", resident, "MiB"),
    ])
}

fn requests_per_second(served: &mut Served) -> Result<f64> {
    let begin = Instant::now();
    let mut answered = 0_u32;
    while begin.elapsed() < RATE_TAKES {
        time_one(served)?;
        answered += 1;
    }
    Ok(f64::from(answered) / begin.elapsed().as_secs_f64())
}

fn time_one(served: &mut Served) -> Result<Duration> {
    let begin = Instant::now();
    let answer = served.connection.ask(&served.request)?;
    let time = begin.elapsed();
    expect_status(&answer, 202)?;
    Ok(time)
}
