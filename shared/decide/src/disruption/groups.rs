//! What hangs together becomes one command: nodes whose pods share new claims, and those claims.

use model::disruption::{KeptCode, Reason};
use std::collections::{BTreeMap, BTreeSet};

use super::{Stay, commands, consolidate::Search, independent, replacing};
use crate::place::moving::Spotted;

/// Nodes and claims that hang together.
pub struct Group {
    pub nodes: Vec<usize>,
    pub claims: Vec<usize>,
}

/// With more candidates than this nobody looks whether one of a set could have stayed in the place of what comes.
const MOST_KEPT: usize = 200;

impl Search<'_, '_> {
    /// The claims that these pods are on, with all nodes whose pods are there, and their other claims.
    pub fn group_of(&self, pods: &[usize]) -> Group {
        let board = self.choosing.board;
        let claim_of = |pod: usize| match self.choosing.moving.spotted(pod) {
            Spotted::Claim(claim) => Some(claim),
            Spotted::Node(_) | Spotted::Nowhere => None,
        };
        let mut claims: BTreeSet<usize> = BTreeSet::new();
        let mut nodes: BTreeSet<usize> = BTreeSet::new();
        let mut open: Vec<usize> = pods.iter().filter_map(|pod| claim_of(*pod)).collect();
        while let Some(claim) = open.pop() {
            if !claims.insert(claim) {
                continue;
            }
            let homes = self.choosing.moving.of_claim(claim).iter().filter_map(|pod| board.homes.get(*pod));
            for at in homes.filter_map(|home| board.candidate_at(*home)) {
                if nodes.insert(at) {
                    open.extend(board.pods_of(at).filter_map(claim_of));
                }
            }
        }
        Group { nodes: nodes.into_iter().collect(), claims: claims.into_iter().collect() }
    }

    /// Nodes whose pods share claims belong together; one whose pods all went to nodes stands alone.
    pub fn groups(&self, nodes: &[usize]) -> Vec<Group> {
        let board = self.choosing.board;
        let mut groups: Vec<Group> = vec![];
        let mut seen: BTreeSet<usize> = BTreeSet::new();
        for at in nodes {
            if seen.contains(at) {
                continue;
            }
            let pods: Vec<usize> = board.pods_of(*at).collect();
            let mut group = self.group_of(&pods);
            if group.claims.is_empty() {
                group.nodes = vec![*at];
            }
            seen.extend(&group.nodes);
            groups.push(group);
        }
        groups
    }

    /// What was chosen becomes commands, and nodes that pods come to say so. The error names nodes that may not go with what they
    /// share in the end, having been packed anew; the last time they stay, and the others go all the same.
    pub fn finish(mut self, last: bool) -> Result<(), Vec<(usize, Stay)>> {
        let board = self.choosing.board;
        let mut groups = self.groups(&self.taken);
        groups.sort_by_key(|group| group.nodes.iter().map(|at| self.taken.iter().position(|one| one == at)).min());
        let groups = independent::joined(self.choosing, groups);
        let mut narrowed = vec![];
        let mut fallen = vec![];
        for (group, verdict) in &groups {
            let planned: Vec<_> =
                group.claims.iter().filter_map(|claim| self.choosing.moving.planned(*claim)).collect();
            let claims = match verdict {
                Err(stay) => Err(stay.clone()),
                Ok(()) if planned.is_empty() => Ok(vec![]),
                Ok(()) if !self.keeps_limits(&group.nodes, &group.claims) => Err(limits_first()),
                Ok(()) => replacing::narrow(board, &group.nodes, planned),
            };
            match &claims {
                Err(stay) => fallen.extend(group.nodes.iter().map(|at| (*at, stay.clone()))),
                Ok(claims) if self.order.len() <= MOST_KEPT => {
                    fallen.extend(replacing::kept(board, &group.nodes, claims))
                }
                Ok(_) => {}
            }
            narrowed.push(claims);
        }
        if !last && !fallen.is_empty() {
            return Err(fallen);
        }
        for ((group, _), narrowed) in groups.into_iter().zip(narrowed) {
            let why = match (group.nodes.len(), group.claims.len()) {
                (_, 0) => "its pods have room on other nodes".to_owned(),
                (1, 1) => "a cheaper node holds its pods".to_owned(),
                (nodes, 1) => format!("one node holds the pods of these {nodes} for less"),
                (_, claims) => format!("{claims} nodes hold their pods for less"),
            };
            let command = narrowed.and_then(|narrowed| {
                let claims = group.claims.iter().copied().zip(narrowed.into_iter().map(|(claim, _)| claim)).collect();
                commands::replaced(self.choosing, &group.nodes, claims, Reason::Underutilized, &why)
            });
            match command {
                Ok(command) => self.choosing.chosen.push(command),
                // They were packed anew since they were chosen, or there is no money: what may not go alone stays, and says why.
                Err(stay) => group.nodes.iter().for_each(|at| self.choosing.come_back(*at, stay.clone())),
            }
        }
        let gone = self.taken.iter().filter(|at| self.choosing.gone[**at]);
        let taken: BTreeMap<usize, &str> =
            gone.map(|at| (board.candidates[*at].node, board.candidates[*at].name())).collect();
        let mut comes_from: BTreeMap<usize, &str> = BTreeMap::new();
        for (pod, home) in board.homes.iter().enumerate() {
            if let (Some(from), Spotted::Node(node)) = (taken.get(home), self.choosing.moving.spotted(pod)) {
                comes_from.entry(node).or_insert(from);
            }
        }
        for at in self.choosing.staying() {
            let Some(from) = comes_from.get(&board.candidates[at].node) else { continue };
            let soft = [KeptCode::NotCheaper, KeptCode::NoOtherPlace, KeptCode::SavingTooSmall];
            if self.choosing.stays[at].as_ref().is_none_or(|stay| soft.contains(&stay.code)) {
                self.choosing.stay(at, Stay::new(KeptCode::Destination, format!("pods of node {from} come to it")));
            }
        }
        Ok(())
    }
}

fn limits_first() -> Stay {
    let words =
        "what would come is within the limits of its pool only when other nodes have gone: it is looked at then";
    Stay::new(KeptCode::NoOtherPlace, words)
}
