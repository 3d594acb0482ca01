//! Two planners that take nodes away, on the same clusters: each is asked, its answer is carried out, and it is asked again until it
//! does nothing more. What is left is compared.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use jiff::Timestamp;

use super::planner::nodes_answer;
use super::{CompareError, Comparison};
use crate::Rule;
use crate::carry_out::State;
use crate::disruption::Ways;
use crate::random::World;
use crate::settle::{Bill, Settled, begin, settle};

/// Karpenter acts once a loop, and its pods find their places in a loop of their own.
const ROUNDS: usize = 60;

/// Prices closer than this are the same.
const SAME: f64 = 1e-6;

/// Who was asked, in the order of the columns.
const COLUMNS: [&str; 3] = ["karpenter", "other", "other, GPU too"];

/// A cluster, and what each made of it.
pub struct Played {
    pub world: String,
    pub themes: String,
    pub by: Vec<Settled>,
}

impl Comparison {
    /// A cluster that runs, until nobody does anything more.
    pub fn running(&self, world: &World) -> Result<Played, CompareError> {
        let mut states = [begin(world)?, begin(world)?, begin(world)?];
        let [.., gpus] = &mut states;
        gpus.annotate_pools("pilotlight.dev/consolidate-gpu", "true");
        let mut by: Vec<Settled> = Vec::new();
        for (column, state) in states.iter_mut().enumerate() {
            by.extend(self.settled(world, column, state, "begin")?);
        }
        // Budgets open and nodes age with time: everybody is asked once more at the time when the last one came to rest.
        let last = states.iter().map(|state| state.now).max().unwrap_or_default();
        for (column, (state, settled)) in states.iter_mut().zip(&mut by).enumerate() {
            if std::mem::replace(&mut state.now, last) == last {
                continue;
            }
            let Some(later) = self.settled(world, column, state, "later")? else { continue };
            settled.after = later.after;
            settled.evicted += later.evicted;
            settled.rounds += later.rounds;
            settled.homeless = later.homeless;
            settled.rests &= later.rests;
            settled.disrupt_ms += later.disrupt_ms;
            settled.violations.extend(later.violations);
            settled.in_vain.extend(later.in_vain);
        }
        Ok(Played { world: name(world), themes: format!("{:?}", world.themes), by })
    }

    /// What the planner of a column makes of a cluster; nothing if there is none.
    fn settled(
        &self,
        world: &World,
        column: usize,
        state: &mut State,
        part: &str,
    ) -> Result<Option<Settled>, CompareError> {
        let (program, ways) = match (column, &self.other) {
            (0, _) => (&self.karpenter.program, Ways::Karpenters),
            (_, Some(other)) => (&other.program, Ways::Ours),
            (_, None) => return Ok(None),
        };
        let name = name(world);
        let directory = self.directory.join(&name).join(format!("{column}-{part}"));
        let ask = |cluster: &Path, catalog: &Path, now: Timestamp| {
            nodes_answer(program, &name, cluster, catalog, now).map_err(|error| error.to_string())
        };
        let settled = settle(state, &world.catalog, &directory, ways, ROUNDS, &ask);
        settled.map(Some).map_err(|error| CompareError::Settle(name.clone(), error))
    }
}

fn name(world: &World) -> String {
    format!("running-{}", world.seed)
}

/// Sums over clusters, and lists.
#[derive(Default)]
pub struct NodesReport {
    worlds: usize,
    before: Bill,
    columns: Vec<Sums>,
    /// Where Karpenter keeps every rule and ends cheaper than the other with GPU work moved.
    cheaper: Vec<String>,
    broken: Vec<String>,
}

#[derive(Default)]
struct Sums {
    after: Bill,
    rounds: usize,
    evicted: usize,
    homeless: usize,
    restless: usize,
    in_vain: usize,
    disrupt_ms: f64,
    sound: usize,
    cheapest: usize,
    broken: BTreeMap<Rule, usize>,
}

impl NodesReport {
    pub fn add(&mut self, played: &Played) {
        self.worlds += 1;
        let Some(first) = played.by.first() else { return };
        self.before.nodes += first.before.nodes;
        self.before.price += first.before.price;
        let least = played.by.iter().map(|one| one.after.price).fold(f64::INFINITY, f64::min);
        self.columns.resize_with(played.by.len(), Sums::default);
        for (column, settled) in self.columns.iter_mut().zip(&played.by) {
            column.add(settled, least);
        }
        for (column, settled) in played.by.iter().enumerate().skip(1) {
            let wrong = settled.violations.iter().map(|(round, one)| format!("round {round}: {one}"));
            let vain = settled.in_vain.iter().map(|words| format!("in vain: {words}"));
            let restless = (!settled.rests).then(|| "it does not come to rest".to_owned());
            let all = wrong.chain(vain).chain(restless);
            self.broken.extend(all.map(|words| format!("{} ({}): {words}", played.world, COLUMNS[column])));
        }
        let (Some(other), true) = (played.by.last(), played.by.len() > 1) else { return };
        let by_the_rules = first.violations.is_empty() && first.homeless <= other.homeless;
        if by_the_rules && first.after.price < other.after.price - SAME {
            self.cheaper.push(format!(
                "{} {}: {:.4} for {} nodes and {} pods moved, Karpenter {:.4} for {} nodes and {} pods moved",
                played.world,
                played.themes,
                other.after.price,
                other.after.nodes,
                other.evicted,
                first.after.price,
                first.after.nodes,
                first.evicted
            ));
        }
    }

    /// Whether there is anything to mend.
    pub fn is_fine(&self) -> bool {
        self.broken.is_empty()
    }

    pub fn text(&self, most: usize) -> String {
        let Bill { nodes, price } = self.before;
        let mut text = format!(
            "Nodes that go: {} clusters with {nodes} nodes for {price:.3} an hour\n\n  {:<34}",
            self.worlds, ""
        );
        for name in COLUMNS.iter().take(self.columns.len()) {
            let _ = write!(text, "{name:>16}");
        }
        let mut row = |name: &str, of: &dyn Fn(&Sums) -> String| {
            let _ = write!(text, "\n  {name:<34}");
            for column in &self.columns {
                let _ = write!(text, "{:>16}", of(column));
            }
        };
        row("nodes left", &|sums| sums.after.nodes.to_string());
        row("price an hour left", &|sums| format!("{:.3}", sums.after.price));
        row("pods moved", &|sums| sums.evicted.to_string());
        row("pods without a node in the end", &|sums| sums.homeless.to_string());
        row("rounds in which nodes went", &|sums| sums.rounds.to_string());
        row("nodes that came and went again", &|sums| sums.in_vain.to_string());
        row("clusters that never rest", &|sums| sums.restless.to_string());
        row("clusters where nobody is cheaper", &|sums| sums.cheapest.to_string());
        row("decisions, ms", &|sums| format!("{:.1}", sums.disrupt_ms));
        row("clusters without a broken rule", &|sums| sums.sound.to_string());
        let rules: BTreeSet<Rule> = self.columns.iter().flat_map(|sums| sums.broken.keys().copied()).collect();
        for rule in rules {
            row(&format!("  {rule:?}"), &|sums| sums.broken.get(&rule).copied().unwrap_or(0).to_string());
        }
        text.push('\n');
        super::report::list(&mut text, "broken by the other planner", &self.broken, most);
        super::report::list(&mut text, "Karpenter ends cheaper by the rules", &self.cheaper, most);
        text
    }
}

impl Sums {
    fn add(&mut self, settled: &Settled, least: f64) {
        self.after.nodes += settled.after.nodes;
        self.after.price += settled.after.price;
        self.rounds += settled.rounds;
        self.evicted += settled.evicted;
        self.homeless += settled.homeless;
        self.restless += usize::from(!settled.rests);
        self.in_vain += settled.in_vain.len();
        self.disrupt_ms += settled.disrupt_ms;
        self.sound += usize::from(settled.violations.is_empty());
        self.cheapest += usize::from(settled.after.price <= least + SAME);
        for (_, violation) in &settled.violations {
            *self.broken.entry(violation.rule).or_default() += 1;
        }
    }
}
