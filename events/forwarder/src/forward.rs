//! The loop: hears the watches, keeps the desk, and sends what is on it.

use core::{future::Future, panic::AssertUnwindSafe, time::Duration};
use futures_util::FutureExt as _;
use host::{parts::Clock, telemetry};
use jiff::Timestamp;
use kube::Client;
use model::{Answer, Outcome};
use provider::{Chance, SystemChance};
use std::sync::Arc;
use tokio::{
    sync::{mpsc, watch as told},
    task::JoinSet,
    time::Instant,
};

use crate::{
    counts,
    desk::Desk,
    event::{Letter, Letterhead, Unwritable},
    filter::{Lane, Wake},
    health::Health,
    lease::{Candidate, Leads},
    queue::{After, Job, Verdict},
    settings::Settings,
    sink::{Sinks, Told},
    snapshot,
    watch::watch_all,
};

/// News that may wait to be heard. More would only be memory: the watches wait, and the API server holds what is theirs.
const MOST_NEWS: usize = 256;

/// Longer than any sink waits; then it is given up on.
const LONGEST_DELIVERY: Duration = Duration::from_secs(75);

/// How long deliveries under way are waited for at the end.
const DRAIN: Duration = Duration::from_secs(25);

/// At least this often the loop turns, which is how `/livez` sees that it does.
const LONGEST_SLEEP: Duration = Duration::from_secs(10);

/// How often figures that are not counted as they happen are brought up to date.
const SHOW: Duration = Duration::from_secs(1);

/// When to ask again about something under way whose answers do not come back.
const UNANSWERED: Duration = Duration::from_secs(30);

/// No answer makes us call faster than this.
const SHORTEST_LATER: Duration = Duration::from_millis(50);

/// A forwarder that is put together and not running yet.
pub struct Forwarder {
    settings: Settings,
    sinks: Sinks,
    client: Client,
    clock: Clock,
    luck: Arc<dyn Chance>,
    identity: String,
    health: Health,
}

/// A delivery that has come back.
struct Back {
    lane: Lane,
    function: &'static str,
    letter: Letter,
    under_way: bool,
    told: Told,
    took: Duration,
}

impl Forwarder {
    pub fn new(settings: Settings, sinks: Sinks, client: Client) -> Self {
        Forwarder {
            settings,
            sinks,
            client,
            clock: Arc::new(Timestamp::now),
            luck: Arc::new(SystemChance),
            identity: identity(),
            health: Health::default(),
        }
    }

    /// Another time than the machine's: a world's.
    pub fn with_clock(mut self, clock: Clock) -> Self {
        self.clock = clock;
        self
    }

    /// Another name than the machine's, among replicas.
    pub fn with_identity(mut self, identity: &str) -> Self {
        identity.clone_into(&mut self.identity);
        self
    }

    /// How it is doing, for `/livez` and `/readyz`.
    pub fn health(&self) -> Health {
        self.health.clone()
    }

    /// Works until `stop` is ready, then finishes what is under way.
    pub async fn run(self, stop: impl Future<Output = ()>) {
        let Forwarder { settings, sinks, client, clock, luck, identity, health } = self;
        counts::describe();
        let mut helpers = JoinSet::new();
        let (hearing, mut news) = mpsc::channel(MOST_NEWS);
        let watching = helpers.spawn(watch_all(client.clone(), settings.lists, hearing));
        let namespace = settings.namespace.clone().unwrap_or_else(|| client.default_namespace().to_owned());
        let (stopping, stopped) = told::channel(false);
        let (alone, mut leads) = always();
        if let Some(duration) = settings.lease {
            let (candidate, elected) = Candidate::new(client, &namespace, identity, duration, clock.clone());
            helpers.spawn(take_part(candidate, stopped));
            leads = elected;
        }
        let head = Letterhead { cluster: settings.cluster.clone(), extensions: settings.extensions.clone() };
        let mut desk = Desk::new(settings, sinks.functions(), luck, Instant::now(), clock());
        let (mut deliveries, mut batch) = (JoinSet::new(), Vec::with_capacity(MOST_NEWS));
        let sending = Sending { head, sinks, clock: clock.clone() };
        let mut show_at = Instant::now();
        tokio::pin!(stop);
        loop {
            let (now, wall) = (Instant::now(), clock());
            let until = *leads.borrow_and_update();
            desk.set_leads(until.is_some_and(|until| now < until), now);
            desk.turn(now, wall);
            while let Some(job) = desk.next_job(now) {
                sending.send(&mut desk, job, &mut deliveries);
            }
            health.turned(now, desk.is_ready(), desk.leads());
            if now >= show_at {
                desk.show();
                telemetry::tidy_counts();
                show_at = now + SHOW;
            }
            let wake_at =
                until.filter(|until| *until > now).into_iter().chain([desk.due(now, wall), now + LONGEST_SLEEP]).min();
            tokio::select! {
                () = &mut stop => break,
                count = news.recv_many(&mut batch, MOST_NEWS) => {
                    if count == 0 {
                        tracing::error!("the watches have ended, which is a bug; stopping, so that somebody starts us again");
                        break;
                    }
                    let now = Instant::now();
                    batch.drain(..).for_each(|news| desk.hear(news, now));
                }
                Some(Ok(back)) = deliveries.join_next() => close(&mut desk, back),
                _ = leads.changed() => {}
                () = tokio::time::sleep_until(wake_at.unwrap_or(now)) => {}
            }
        }
        health.stops();
        let draining = async {
            while let Some(back) = deliveries.join_next().await {
                back.into_iter().for_each(|back| close(&mut desk, back));
            }
        };
        if tokio::time::timeout(DRAIN, draining).await.is_err() {
            tracing::warn!(
                deliveries = desk.under_way(),
                "stopped while deliveries were under way; they are sent again after a start"
            );
        }
        // Only now: whoever takes over must not send beside us.
        stopping.send_replace(true);
        watching.abort();
        drop(alone);
        drop(
            tokio::time::timeout(Duration::from_secs(5), async { while helpers.join_next().await.is_some() {} }).await,
        );
    }
}

/// Takes part in the election until the end, and gives the Lease back then.
async fn take_part(mut candidate: Candidate, mut stopped: told::Receiver<bool>) {
    tokio::select! {
        () = candidate.run() => {}
        _ = stopped.wait_for(|stopped| *stopped) => {}
    }
    candidate.release().await;
}

/// The only replica leads, for as long as the sender is kept.
fn always() -> (told::Sender<Option<Instant>>, Leads) {
    told::channel(Some(Instant::now() + Duration::from_secs(100 * 365 * 24 * 3600)))
}

/// What is needed to send.
struct Sending {
    head: Letterhead,
    sinks: Sinks,
    clock: Clock,
}

impl Sending {
    fn send(&self, desk: &mut Desk, job: Job, deliveries: &mut JoinSet<Back>) {
        let Job { lane, wake, waited } = job;
        let (function, wall) = (wake.function(), (self.clock)());
        let Some(sink) = self.sinks.of(function).cloned() else {
            desk.finish(lane, Verdict::Acknowledged, Instant::now());
            return;
        };
        let letter = match self.write(desk, &wake, sink.most_bytes(), wall) {
            Ok(letter) => letter,
            Err(error) => {
                counts::dead_letter(function);
                tracing::error!(function, lane = ?lane, %error, "dead letter");
                desk.finish(lane, Verdict::Refused, Instant::now());
                return;
            }
        };
        counts::waited(function, waited);
        let under_way = wake.is_under_way();
        deliveries.spawn(async move {
            let begun = Instant::now();
            let delivering = AssertUnwindSafe(sink.deliver(function, &letter)).catch_unwind();
            let told = match tokio::time::timeout(LONGEST_DELIVERY, delivering).await {
                Ok(Ok(told)) => told,
                Ok(Err(_)) => Told::unheard("the sink panicked; this is a bug in it"),
                Err(_) => Told::unheard(format!("no answer within {LONGEST_DELIVERY:?}")),
            };
            Back { lane, function, letter, under_way, told, took: begun.elapsed() }
        });
    }

    /// A picture that is old, or larger than it may be, is worse than none.
    fn write(&self, desk: &Desk, wake: &Wake, most: usize, wall: Timestamp) -> Result<Letter, Unwritable> {
        let drawn = || {
            if desk.is_sound(Instant::now()) { snapshot::draw(&desk.cache, wall, snapshot::room(most)) } else { None }
        };
        let picture = snapshot::is_wanted(wake).then(drawn);
        if matches!(picture, Some(None)) {
            counts::snapshot_left_out();
        }
        self.head.write(wake, picture.flatten().as_deref(), wall)
    }
}

/// Counts a delivery, and lets the desk know what came of it.
fn close(desk: &mut Desk, back: Back) {
    let Back { lane, function, letter, under_way, told, took } = back;
    let (outcome, reason) = match &told {
        Told::Answered(answer) => (answer.outcome().as_str(), answer.reason()),
        Told::Accepted => ("accepted", "taken, the answer does not come back"),
        Told::Unheard { why, .. } => ("no-answer", why.as_str()),
    };
    counts::delivered(function, outcome, took);
    let (event, subject) = (letter.id.as_str(), letter.subject.as_str());
    let took_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
    let is_bad = match &told {
        Told::Answered(answer) => matches!(answer.outcome(), Outcome::Failed | Outcome::Refused),
        Told::Accepted => false,
        Told::Unheard { .. } => true,
    };
    if is_bad {
        tracing::warn!(function, event, subject, outcome, reason, took_ms, "delivered");
    } else {
        tracing::debug!(function, event, subject, outcome, reason, took_ms, "delivered");
    }
    match desk.finish(lane, verdict(&told, under_way), Instant::now()) {
        After::GivenUp { failures } => {
            counts::dead_letter(function);
            tracing::error!(
                function,
                event,
                subject,
                failures,
                outcome,
                reason,
                text = short(&letter.text),
                "dead letter"
            );
        }
        After::Settled | After::Waits(_) => {}
    }
}

/// Enough to send it again by hand; the snapshot comes last and may be long.
fn short(text: &str) -> &str {
    let end = text.char_indices().nth(4000).map_or(text.len(), |(end, _)| end);
    &text[..end]
}

fn verdict(told: &Told, under_way: bool) -> Verdict {
    match told {
        Told::Answered(Answer::Done { .. } | Answer::Nothing { .. }) => Verdict::Acknowledged,
        Told::Answered(Answer::Later { after, .. }) => Verdict::Later((*after).max(SHORTEST_LATER)),
        Told::Answered(Answer::Refused { .. }) => Verdict::Refused,
        Told::Answered(Answer::Failed { after, .. }) => Verdict::Failed(Some((*after).max(SHORTEST_LATER))),
        Told::Accepted if under_way => Verdict::Later(UNANSWERED),
        Told::Accepted => Verdict::Acknowledged,
        Told::Unheard { retry_after, .. } => Verdict::Failed(*retry_after),
    }
}

/// The pod's name, and a number that makes each start somebody else: what was promised to the one before is void.
fn identity() -> String {
    let name =
        std::env::var("POD_NAME").or_else(|_| std::env::var("HOSTNAME")).unwrap_or_else(|_| "forwarder".to_owned());
    format!("{name}-{:08x}", SystemChance.number() & 0xffff_ffff)
}
