//! The forwarder itself before several copies of the functions; between them events come twice, late, out of order, or not at all.

use async_trait::async_trait;
use forwarder::{
    Forwarder, Settings, Sinks,
    event::Letter,
    sink::{FUNCTIONS, Sink, Told},
};
use host::SettingSource;
use stage::Copy;
use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio::task::JoinHandle;
use world::{chance::Chance, clock::Clock, deliveries::DeliveryFaults};

use crate::{Theatre, theatre};

/// Takes each event to one of the copies, as well as it can.
struct Road {
    copies: Vec<Arc<Copy>>,
    chance: Chance,
    clock: Clock,
    faults: DeliveryFaults,
    /// Events of pods that arrived at a copy, each as often as it did.
    placings: Arc<AtomicUsize>,
}

/// How many events of pods the copies have had.
#[derive(Clone, Default)]
pub struct Placings(Arc<AtomicUsize>);

impl Placings {
    pub fn count(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

impl Road {
    fn happens(&self, percent: u8) -> bool {
        self.chance.below(100) < u64::from(percent)
    }

    /// Late events come after those that were sent behind them.
    fn delay(&self) -> Duration {
        let late = self.happens(self.faults.delayed) || self.happens(self.faults.reordered);
        Duration::from_millis(if late { self.chance.below(self.faults.longest_delay_ms + 1) } else { 0 })
    }

    /// One way to one copy.
    fn travel(&self, function: &'static str, letter: &Letter) -> JoinHandle<Told> {
        let copy = usize::try_from(self.chance.below(self.copies.len() as u64)).unwrap_or_default();
        let (copy, delay, clock) = (self.copies[copy].clone(), self.delay(), self.clock);
        let (text, placings) = (letter.text.clone(), self.placings.clone());
        tokio::spawn(async move {
            clock.sleep(delay).await;
            if function == "on-pending-pod" {
                placings.fetch_add(1, Ordering::Relaxed);
            }
            match copy.call(function, &text).await {
                Ok(answer) => Told::Answered(answer),
                Err(crashed) => lost(&format!("{crashed:?}")),
            }
        })
    }
}

#[async_trait]
impl Sink for Road {
    async fn deliver(&self, function: &'static str, letter: &Letter) -> Told {
        if self.happens(self.faults.duplicated) {
            // Nobody hears what the second one is answered.
            drop(self.travel(function, letter));
        }
        if self.happens(self.faults.dropped) {
            return lost("lost on the way");
        }
        let told = self.travel(function, letter).await.unwrap_or_else(|error| lost(&error.to_string()));
        // An answer can be lost as well, after everything was done.
        if self.happens(self.faults.dropped) { lost("the answer was lost") } else { told }
    }
}

fn lost(why: &str) -> Told {
    Told::Unheard { why: why.to_owned(), retry_after: None }
}

impl Theatre {
    /// Sets so many copies of the functions to work, with the forwarder before them.
    pub fn forward(&mut self, copies: usize, faults: DeliveryFaults) -> Placings {
        let start = |number: usize| {
            let user = format!("pilotlight-{}", number + 1);
            Arc::new(Copy::start(&self.world, &user, &theatre::FUNCTIONS).expect("a copy starts"))
        };
        let copies: Vec<Arc<Copy>> = (0..copies).map(start).collect();
        let has = |function: &&'static str| copies.iter().all(|copy| copy.has(function));
        let functions: Vec<&'static str> = FUNCTIONS.into_iter().filter(has).collect();
        let placings = Placings::default();
        let road: Arc<dyn Sink> = Arc::new(Road {
            copies,
            chance: self.world.chance.stream("road"),
            clock: self.world.clock,
            faults,
            placings: placings.0.clone(),
        });
        let mut sinks = Sinks::default();
        functions.into_iter().for_each(|function| sinks.add(function, road.clone()));
        let alone = [("PILOTLIGHT_ALLOW_UNSIGNED", "true"), ("PILOTLIGHT_LEASE_DURATION", "0s")];
        let (_, settings) = Settings::read(SettingSource::from_pairs(alone)).expect("good settings");
        let clock = self.world.clock;
        let forwarder =
            Forwarder::new(settings, sinks, self.world.client("forwarder")).with_clock(Arc::new(move || clock.now()));
        self.work(tokio::spawn(forwarder.run(std::future::pending())));
        placings
    }
}
