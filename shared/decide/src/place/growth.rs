//! What a claim may grow into: the types that are cheapest for what waits.

use std::rc::Rc;

use super::amounts::{Row, is_accelerator};
use super::mask::Mask;
use super::shapes::ShapeId;
use super::solver::Solver;
use super::states::StateId;

/// A claim grows only into types that cost at most so many times what the best costs for each pod.
const GROWTH_TOLERANCE: f64 = 1.1;

/// What a claim may grow into.
pub struct Growth {
    /// The types that were looked at.
    pub types: Mask,
    /// The price for each pod on the best of them, and those that come near it.
    pub growth: (f64, Rc<Mask>),
    /// It holds as long as so much is waiting: enough to fill any of them.
    pub while_wait: Row,
}

impl Solver<'_> {
    /// The types whose price for each pod like this is near the best, and that best price.
    pub fn growth(
        &mut self,
        shape: ShapeId,
        source: usize,
        state: StateId,
        request: &[i64],
        types: &Mask,
    ) -> Option<(f64, Rc<Mask>)> {
        let is_so =
            |known: &&Growth| known.types == *types && known.while_wait.iter().zip(&self.waiting).all(|(a, b)| a <= b);
        if let Some(known) = self.growths.get(&(shape, state)).filter(is_so) {
            return Some(known.growth.clone());
        }
        let rows = &self.ground.sources[source].fit.rows;
        let prices = self.ground.states.prices(state);
        let waiting = &self.waiting;
        let mut while_wait = vec![i64::MIN; request.len()];
        let names = self.ground.columns.names();
        let asked: Vec<usize> = (0..request.len()).filter(|column| request[*column] > 0).collect();
        // While pods are moved one by one, nobody knows how many follow. Only GPUs are not hoped for then.
        let known = |column: usize| waiting[column] > 0 || is_accelerator(names[column]);
        for column in asked.iter().filter(|column| known(**column)) {
            while_wait[*column] = self.ground.sources[source].fit.most(*column, types);
        }
        let few = asked.iter().any(|column| waiting[*column] < while_wait[*column]);
        // Of a machine no more is used than is asked for. Where many wait, others fill what whole pods leave; at the end of a
        // batch nobody does.
        let held = |of: usize| {
            let columns = asked.iter().map(|column| {
                let has = rows[of][*column];
                let used = if known(*column) { has.min(waiting[*column].max(request[*column])) } else { has };
                used as f64 / request[*column] as f64
            });
            let held = columns.fold(f64::MAX, f64::min);
            if few { held.floor().max(1.0) } else { held }
        };
        let unit = |of: usize| Some(prices.of[of]? as f64 / held(of));
        let units: Vec<(usize, f64)> = types.iter().filter_map(|of| Some((of, unit(of)?))).collect();
        let best = units.iter().map(|(_, unit)| *unit).min_by(f64::total_cmp)?;
        let mut grow = Mask::none(rows.len());
        units.iter().filter(|(_, unit)| *unit <= best * GROWTH_TOLERANCE).for_each(|(of, _)| grow.insert(*of));
        let growth = (best, Rc::new(grow));
        self.growths.insert((shape, state), Growth { types: types.clone(), growth: growth.clone(), while_wait });
        Some(growth)
    }

    /// What a claim may grow into, once a pod has changed how it is bought and so what its types cost.
    pub fn grow_anew(&mut self, shape: ShapeId, at: usize, from: StateId) {
        let claim = &self.places.claims[at];
        let (state, types) = (claim.state, claim.types.clone());
        let price = |of: StateId| self.ground.states.cheapest(of, &types).map(|(_, price)| price);
        if price(from) == price(state) {
            return;
        }
        let source = self.ground.states.get(state).pool;
        let request = self.shapes[shape].request.clone();
        if let Some((_, grow)) = self.growth(shape, source, state, &request, &types) {
            self.places.claims[at].grow = grow;
        }
    }
}
