//! What people ask of a cluster in a week: training, notebooks, models that answer, and services without a GPU, by day and by night.

use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore as _, SeedableRng as _};

pub const WEEK: u32 = 7 * DAY;
const DAY: u32 = 24 * HOUR;
const HOUR: u32 = 60;

/// One pod. Times are minutes from the beginning of a Monday.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    pub kind: Kind,
    pub arrives: u32,
    /// How long it works once it runs.
    pub works: u32,
    pub gpus: u32,
    pub cpu_milli: u32,
    pub memory_mib: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Loses what it did if it is moved: it writes no checkpoint.
    Training,
    /// Somebody sits in front of it.
    Notebook,
    /// Goes on elsewhere as it was.
    Inference,
    Service,
}

/// How a kind comes: so many an hour at noon, each with one of these numbers of GPUs, for this long at least and at most.
struct Stream {
    kind: Kind,
    an_hour: f64,
    /// What is left of it at night and on days off.
    at_night: f64,
    gpus: &'static [u32],
    hours: (f64, f64),
}

const STREAMS: [Stream; 4] = [
    Stream { kind: Kind::Training, an_hour: 10.0, at_night: 0.3, gpus: &[1, 1, 1, 2, 2, 4, 8], hours: (0.5, 8.0) },
    Stream { kind: Kind::Notebook, an_hour: 8.0, at_night: 0.05, gpus: &[1], hours: (0.5, 6.0) },
    Stream { kind: Kind::Inference, an_hour: 2.0, at_night: 0.5, gpus: &[1, 1, 2], hours: (2.0, 36.0) },
    Stream { kind: Kind::Service, an_hour: 8.0, at_night: 0.5, gpus: &[0], hours: (1.0, 36.0) },
];

impl Kind {
    /// What was done so far is lost when such a pod is moved.
    pub fn loses_work(self) -> bool {
        matches!(self, Kind::Training | Kind::Notebook)
    }
}

/// The jobs of a week, in the order they arrive; the same ones for the same seed.
pub fn jobs(seed: u64) -> Vec<Job> {
    let mut chance = Chance(ChaCha8Rng::seed_from_u64(seed));
    let mut jobs = vec![];
    for minute in 0..WEEK {
        for stream in &STREAMS {
            let a_minute = stream.an_hour / f64::from(HOUR) * busy(minute, stream.at_night);
            if chance.unit() < a_minute {
                jobs.push(job(stream, minute, &mut chance));
            }
        }
    }
    jobs
}

/// One between eight and eighteen o'clock from Monday to Friday.
fn busy(minute: u32, otherwise: f64) -> f64 {
    let (day, hour) = (minute / DAY, minute % DAY / HOUR);
    if day < 5 && (8..18).contains(&hour) { 1.0 } else { otherwise }
}

fn job(stream: &Stream, arrives: u32, chance: &mut Chance) -> Job {
    let gpus = chance.one_of(stream.gpus);
    let (least, most) = stream.hours;
    // Short ones are many, long ones are few: even on a scale of powers.
    let hours = least * (most / least).powf(chance.unit());
    let (cpu_milli, memory_mib) = match gpus {
        0 => (chance.one_of(&[500, 1000, 2000, 4000]), chance.one_of(&[1024, 2048, 4096, 8192])),
        gpus => (gpus * chance.one_of(&[1000, 2000, 3000]), gpus * chance.one_of(&[4096, 8192, 16_384])),
    };
    Job { kind: stream.kind, arrives, works: (hours * f64::from(HOUR)).round() as u32, gpus, cpu_milli, memory_mib }
}

struct Chance(ChaCha8Rng);

impl Chance {
    /// At least zero, less than one.
    fn unit(&mut self) -> f64 {
        f64::from(self.0.next_u32()) / (f64::from(u32::MAX) + 1.0)
    }

    fn one_of(&mut self, choices: &[u32]) -> u32 {
        let at = self.0.next_u32() as usize % choices.len().max(1);
        choices.get(at).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::{Kind, jobs};

    #[test]
    fn the_same_seed_is_the_same_week_and_another_is_another() {
        assert_eq!(jobs(7), jobs(7));
        assert_ne!(jobs(7), jobs(8));
    }

    #[test]
    fn people_sleep() {
        let notebooks = jobs(7).into_iter().filter(|job| job.kind == Kind::Notebook);
        let (day, night): (Vec<_>, Vec<_>) = notebooks.partition(|job| (8..18).contains(&(job.arrives % 1440 / 60)));
        assert!(day.len() > 4 * night.len(), "{} by day, {} by night", day.len(), night.len());
    }
}
