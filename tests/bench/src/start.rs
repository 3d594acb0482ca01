//! Start to first answer on each platform, beside what this machine takes to start a process that does nothing.

use std::time::Duration;

use crate::Result;
use crate::event::Event;
use crate::platform::Platform;
use crate::process::{Program, time_of_nothing};
use crate::report::Measurement;
use crate::statistics::{median, percentile};

const MOST_MILLISECONDS: f64 = 6.0;
const WARM_UPS: usize = 3;

/// One program on one platform, and how long it took each time.
struct Series<'a> {
    program: &'a Program,
    platform: Platform,
    /// What follows the platform in the names of the rows.
    suffix: &'static str,
    /// Zero before the first.
    fastest: Duration,
    times: Vec<Duration>,
}

pub fn measure(function: &Program, linked: Option<&Program>, event: &Event, runs: u32) -> Result<Vec<Measurement>> {
    let programs = [(Some(function), ""), (linked, ".linked")];
    let present = programs.into_iter().filter_map(|(program, suffix)| Some((program?, suffix)));
    let on_platforms = |(program, suffix)| {
        Platform::ALL.map(|platform| Series { program, platform, suffix, fastest: Duration::ZERO, times: vec![] })
    };
    let mut all: Vec<Series> = present.flat_map(on_platforms).collect();

    // Unmeasured, so that every binary is in the page cache and we know about how long each takes.
    for series in &mut all {
        for _ in 0..WARM_UPS {
            series.run(event)?;
        }
        series.times.clear();
    }
    // In turns, so that a busy moment of the machine falls on all of them alike and their ratios stay true.
    let mut floor = vec![];
    for _ in 0..runs {
        floor.push(time_of_nothing()?);
        for series in &mut all {
            series.run(event)?;
        }
    }

    let floor = median(&floor);
    let mut rows = vec![Measurement::new("process.floor_ms.true", floor, "ms")];
    rows.extend(all.iter().flat_map(|series| series.rows(floor)));
    Ok(rows)
}

impl Series<'_> {
    /// Nobody disturbs a start for three quarters of the shortest one so far; a shorter one still shows, and moves that.
    fn run(&mut self, event: &Event) -> Result<()> {
        let time = self.platform.time_to_first_answer(self.program, event, self.fastest * 3 / 4)?;
        self.fastest = if self.fastest.is_zero() { time } else { self.fastest.min(time) };
        self.times.push(time);
        Ok(())
    }

    fn rows(&self, floor: f64) -> [Measurement; 3] {
        let of = |what: &str| format!("function.{what}.{}{}", self.platform.name(), self.suffix);
        let middle = median(&self.times);
        [
            Measurement::at_most(of("start_ms"), middle, "ms", MOST_MILLISECONDS),
            Measurement::new(of("start_p90_ms"), percentile(&self.times, 90), "ms"),
            Measurement::new(of("start_ratio"), middle / floor, "x"),
        ]
    }
}
