//! The desk where everything comes together: news in, jobs out, answers in. No IO; the clocks are passed in.

use core::time::Duration;
use jiff::Timestamp;
use provider::Chance;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};
use tokio::time::Instant;

use crate::{
    cache::{Cache, Change, Difference, News},
    counts,
    debounce::Debounce,
    filter::{self, Lane, Wake},
    queue::{After, Because, Job, Queue, Verdict},
    rows::Kind,
    settings::Settings,
};

/// A watch that breaks again does so within this time: longer than its longest pause and than it takes to connect.
const SILENCE: Duration = Duration::from_secs(60);

/// How long what a watch has shown may be old.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Doubt {
    /// It broke. A quiet cluster says nothing after it goes on, so no news for long enough is good news.
    Until(Instant),
    UntilListed,
}

impl Doubt {
    fn lasts(self, now: Instant) -> bool {
        match self {
            Doubt::Until(until) => now < until,
            Doubt::UntilListed => true,
        }
    }

    fn renew(&mut self, now: Instant) {
        if let Doubt::Until(until) = self {
            *until = now + SILENCE;
        }
    }
}

pub struct Desk {
    pub cache: Cache,
    queue: Queue,
    debounce: Debounce,
    settings: Settings,
    /// Functions that can be told.
    functions: BTreeSet<&'static str>,
    luck: Arc<dyn Chance>,
    /// Kinds that were listed once, or that the API server does not have.
    listed: BTreeSet<Kind>,
    /// Kinds of which what is known may be old.
    doubtful: BTreeMap<Kind, Doubt>,
    leads: bool,
    resync_at: Instant,
    repeat_at: Instant,
    tick_at: Timestamp,
}

impl Desk {
    pub fn new(
        settings: Settings,
        functions: impl Iterator<Item = &'static str>,
        luck: Arc<dyn Chance>,
        now: Instant,
        wall: Timestamp,
    ) -> Self {
        Desk {
            cache: Cache::default(),
            queue: Queue::new(settings.limits),
            debounce: Debounce::new(settings.batching),
            functions: functions.collect(),
            luck,
            listed: BTreeSet::new(),
            doubtful: BTreeMap::new(),
            leads: false,
            resync_at: now + settings.resync,
            repeat_at: now + settings.pending_repeat,
            tick_at: tick_after(wall, settings.tick),
            settings,
        }
    }

    /// What a watch said.
    pub fn hear(&mut self, news: News, now: Instant) {
        match news {
            News::Pod(change) => self.apply(Kind::Pod, change, now, Cache::pod, filter::of_pod),
            News::Node(change) => self.apply(Kind::Node, change, now, Cache::node, filter::of_node),
            News::Claim(change) => self.apply(Kind::Claim, change, now, Cache::claim, filter::of_claim),
            News::Pool(change) => self.apply(Kind::Pool, change, now, Cache::pool, filter::of_pool),
            News::Workspace(change) => {
                self.apply(Kind::Workspace, change, now, Cache::workspace, |_, difference| {
                    filter::of_workspace(difference)
                });
            }
            News::NotServed(kind) => self.list_is_complete(kind, now),
            News::Broken(kind) => {
                // A list that is under way stays what is to be waited for.
                self.doubtful.entry(kind).and_modify(|doubt| doubt.renew(now)).or_insert(Doubt::Until(now + SILENCE));
            }
        }
    }

    fn apply<R>(
        &mut self,
        kind: Kind,
        change: Change<R>,
        now: Instant,
        keep: fn(&mut Cache, Change<R>) -> Vec<Difference<R>>,
        wakes: fn(&Cache, &Difference<R>) -> Vec<Wake>,
    ) {
        counts::watch_event(kind);
        let complete = matches!(change, Change::Synced);
        match &change {
            Change::Relisting => _ = self.doubtful.insert(kind, Doubt::UntilListed),
            Change::Synced | Change::Changed(_) | Change::Removed(_) => _ = self.doubtful.remove(&kind),
            Change::Listed(_) => {}
        }
        for difference in keep(&mut self.cache, change) {
            for wake in wakes(&self.cache, &difference) {
                self.want(wake, now);
            }
        }
        if complete {
            self.list_is_complete(kind, now);
        }
    }

    /// After each list, everything in it is told again: what happened while nobody watched shows in the objects only.
    fn list_is_complete(&mut self, kind: Kind, now: Instant) {
        let was_ready = self.is_ready();
        self.listed.insert(kind);
        if self.is_ready() && !was_ready {
            self.resync(now);
        } else {
            self.tell_again(kind, now);
        }
    }

    /// Whether the picture of the cluster is whole: before that, no place is looked for and nothing is called idle.
    pub fn is_ready(&self) -> bool {
        [Kind::Pod, Kind::Node, Kind::Claim, Kind::Pool].iter().all(|kind| self.listed.contains(kind))
    }

    /// Whether a snapshot would show the cluster as it is now.
    pub fn is_sound(&self, now: Instant) -> bool {
        let in_doubt = |kind: &Kind| self.doubtful.get(kind).is_some_and(|doubt| doubt.lasts(now));
        self.is_ready() && ![Kind::Pod, Kind::Node].iter().any(in_doubt)
    }

    pub fn leads(&self) -> bool {
        self.leads
    }

    /// Whoever begins to send tells everything, since nobody knows what the one before had told.
    pub fn set_leads(&mut self, leads: bool, now: Instant) {
        if leads == self.leads {
            return;
        }
        self.leads = leads;
        counts::leader(leads);
        self.debounce = Debounce::new(self.settings.batching);
        if leads {
            self.resync(now);
        } else {
            self.queue.clear();
        }
    }

    /// What the clock brings: windows that close, repeats, ticks, resyncs.
    pub fn turn(&mut self, now: Instant, wall: Timestamp) {
        if self.debounce.take(now) {
            self.offer_placing(Because::ItChanged, now);
        }
        if self.repeat_at <= now {
            self.repeat_at = now + self.settings.pending_repeat;
            self.offer_placing(Because::Resync, now);
        }
        if self.tick_at <= wall {
            self.tick_at = tick_after(wall, self.settings.tick);
            let due = self.tick_at - jiff::SignedDuration::try_from(self.settings.tick).unwrap_or_default();
            if self.is_ready() {
                self.offer(Wake::Tick(due), Because::ItChanged, now);
            }
        }
        while let Some(lane) = self.queue.next_overflow() {
            if let Some(wake) = filter::of_lane(&self.cache, &lane) {
                self.offer(wake, Because::ItChanged, now);
            }
        }
        if self.resync_at <= now {
            self.resync(now);
        }
    }

    /// The next delivery to make, as long as not too many are under way.
    pub fn next_job(&mut self, now: Instant) -> Option<Job> {
        while self.leads && self.queue.under_way() < self.settings.parallel {
            let job = self.queue.take(now)?;
            match filter::newest(&self.cache, job.wake) {
                Some(wake) => return Some(Job { wake, ..job }),
                // Nobody waits any more.
                None => _ = self.finish(job.lane, Verdict::Acknowledged, now),
            }
        }
        None
    }

    pub fn finish(&mut self, lane: Lane, verdict: Verdict, now: Instant) -> After {
        self.queue.finish(lane, verdict, now, &*self.luck)
    }

    /// When there is something to do next without any news.
    pub fn due(&self, now: Instant, wall: Timestamp) -> Instant {
        let until_tick = Duration::try_from(self.tick_at.duration_since(wall)).unwrap_or_default();
        let room = self.leads && self.queue.under_way() < self.settings.parallel;
        let job = self.queue.due().filter(|_| room);
        let clocks = [self.resync_at, self.repeat_at, now + until_tick];
        clocks.into_iter().chain(job).chain(self.debounce.due()).min().unwrap_or(now)
    }

    /// The figures that are not counted as they happen.
    pub fn show(&self) {
        counts::queue(self.queue.len(), self.queue.under_way(), self.cache.waiting());
        counts::objects(Kind::Pod, self.cache.pods.len());
        counts::objects(Kind::Node, self.cache.nodes.len());
        counts::objects(Kind::Claim, self.cache.claims.len());
        counts::objects(Kind::Pool, self.cache.pools.len());
        counts::objects(Kind::Workspace, self.cache.workspaces.len());
    }

    pub fn under_way(&self) -> usize {
        self.queue.under_way()
    }

    fn resync(&mut self, now: Instant) {
        self.resync_at = now + self.settings.resync;
        self.cache.tidy();
        for kind in Kind::ALL {
            self.tell_again(kind, now);
        }
    }

    fn tell_again(&mut self, kind: Kind, now: Instant) {
        for wake in filter::all_of(&self.cache, kind) {
            match wake {
                Wake::Place(_) => self.offer_placing(Because::Resync, now),
                other => self.offer(other, Because::Resync, now),
            }
        }
    }

    /// Pods go through the window, everything else at once.
    fn want(&mut self, wake: Wake, now: Instant) {
        match wake {
            Wake::Place(pod) => {
                if self.leads && self.is_ready() && self.debounce.pod(&pod.id.uid, now) {
                    self.offer(Wake::Place(pod), Because::ItChanged, now);
                }
            }
            other => self.offer(other, Because::ItChanged, now),
        }
    }

    fn offer_placing(&mut self, because: Because, now: Instant) {
        if self.is_ready()
            && let Some(wake) = filter::placing(&self.cache)
        {
            self.offer(wake, because, now);
        }
    }

    fn offer(&mut self, wake: Wake, because: Because, now: Instant) {
        let wanted = self.leads && self.functions.contains(wake.function());
        if wanted && !self.queue.offer(wake, because, now) {
            counts::overflow();
        }
    }
}

/// Ticks are at the same times whoever makes them, so that two senders of one send the same event.
fn tick_after(wall: Timestamp, period: Duration) -> Timestamp {
    let period = i128::try_from(period.as_nanos()).unwrap_or(1).max(1);
    let next = (wall.as_nanosecond().div_euclid(period) + 1) * period;
    Timestamp::from_nanosecond(next).unwrap_or(wall)
}
