//! What taking nodes away costs at the least, without trying it: most questions are answered by this alone.

use std::collections::{BTreeMap, HashMap};

use super::board::Choosing;

pub struct Bounds {
    /// By resource: what is free on each node that takes pods, the most first.
    free: Vec<Vec<(i64, usize)>>,
    sums: Vec<i64>,
    /// By resource: what a unit of it costs at the least.
    units: Vec<f64>,
    market: Vec<(Vec<i64>, u64)>,
    cheapest: HashMap<usize, u64>,
}

impl Bounds {
    pub fn new(choosing: &Choosing<'_>) -> Self {
        let market = choosing.moving.market();
        let columns = market.first().map_or(0, |(row, _)| row.len());
        let unit = |column: usize| {
            let each = market.iter().filter(|(row, _)| row[column] > 0);
            each.map(|(row, price)| *price as f64 / row[column] as f64).fold(f64::INFINITY, f64::min)
        };
        let units = (0..columns).map(unit).collect();
        let mut bounds = Bounds { free: vec![], sums: vec![], units, market, cheapest: HashMap::new() };
        bounds.refresh(choosing);
        bounds
    }

    /// What is free has become less. Nothing breaks if this is not done: the bounds are only weaker.
    pub fn refresh(&mut self, choosing: &Choosing<'_>) {
        let nodes = choosing.board.scene.nodes.len();
        let rooms: Vec<(usize, &[i64])> =
            (0..nodes).filter_map(|node| Some((node, choosing.moving.free(node)?))).collect();
        let columns = rooms.first().map_or(0, |(_, room)| room.len());
        self.free = (0..columns)
            .map(|column| {
                let mut all: Vec<(i64, usize)> = rooms.iter().map(|(node, room)| (room[column], *node)).collect();
                all.sort_unstable_by(|a, b| b.cmp(a));
                all
            })
            .collect();
        self.sums = self.free.iter().map(|all| all.iter().map(|(free, _)| (*free).max(0)).sum()).collect();
    }

    /// What new nodes cost at the least if these nodes go; nothing if all may fit on the others. Infinite where nothing holds a pod.
    pub fn least(&mut self, choosing: &Choosing<'_>, nodes: &[usize]) -> u64 {
        let columns = self.free.len();
        let of_others = |column: &Vec<(i64, usize)>| {
            let others = column.iter().find(|(_, node)| !nodes.contains(node));
            others.map_or(0, |(free, _)| *free)
        };
        let most: Vec<i64> = self.free.iter().map(of_others).collect();
        let mut sums = self.sums.clone();
        let mut shapes: BTreeMap<usize, (usize, &[i64])> = BTreeMap::new();
        for node in nodes {
            for (sum, own) in sums.iter_mut().zip(choosing.moving.free(*node).unwrap_or_default()) {
                *sum -= (*own).max(0);
            }
            for pod in choosing.moving.pods_on(*node) {
                if let (Some(shape), Some(request)) = (choosing.moving.shape(*pod), choosing.moving.request(*pod)) {
                    shapes.entry(shape).or_insert((0, request)).0 += 1;
                }
            }
        }
        let mut total = vec![0_i64; if columns == 0 { self.units.len() } else { columns }];
        let mut least = 0;
        for (shape, (count, request)) in &shapes {
            for (total, amount) in total.iter_mut().zip(*request) {
                *total += amount * i64::try_from(*count).unwrap_or(i64::MAX);
            }
            let fits = columns > 0 && request.iter().zip(&most).all(|(amount, most)| *amount <= *most || *amount == 0);
            if !fits {
                least = least.max(self.cheapest(*shape, request));
            }
        }
        for (column, total) in total.iter().enumerate() {
            let over = total - sums.get(column).copied().unwrap_or(0);
            if over > 0 {
                let unit = self.units.get(column).copied().unwrap_or(f64::INFINITY);
                // A little less than computed: the bound must hold in whole millionths.
                let cost = (over as f64 * unit * 0.999_999).max(1.0);
                least = least.max(if cost.is_finite() { cost as u64 } else { u64::MAX });
            }
        }
        least
    }

    fn cheapest(&mut self, shape: usize, request: &[i64]) -> u64 {
        let market = &self.market;
        *self.cheapest.entry(shape).or_insert_with(|| {
            let holds = |row: &[i64]| request.iter().zip(row).all(|(amount, has)| amount <= has || *amount == 0);
            market.iter().filter(|(row, _)| holds(row)).map(|(_, price)| *price).min().unwrap_or(u64::MAX)
        })
    }
}
