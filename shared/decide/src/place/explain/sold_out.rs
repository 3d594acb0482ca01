//! What is said of a pool that has nothing left: first what would keep the pod out of it for good, for that will not change.

use model::place::Code;

use super::super::answer::told;
use super::super::mask::Mask;
use super::super::needs::Need;
use super::super::shapes::ShapeId;
use super::super::solver::Solver;
use super::super::sources::template;
use super::too_large;

pub fn why(solver: &Solver<'_>, shape: ShapeId, source: usize) -> (Code, String) {
    let ground = &solver.ground;
    let own = template(ground.sources[source].pool, &ground.words);
    let with = |need: &Need| ground.states.sold_by(source, own.iter().chain(need));
    let needs = solver.plans[shape].attempts.last().map(|must| must.needs.as_slice()).unwrap_or_default();
    let mut types = Mask::default();
    needs.iter().for_each(|need| types.or(&with(ground.needs.get(*need))));
    if types.is_empty() {
        let asked = needs.iter().flat_map(|need| ground.needs.get(*need));
        let unkept = asked.into_iter().find(|one| with(&vec![(*one).clone()]).is_empty());
        let words = unkept.map_or_else(
            || "no type of it keeps all labels that the pod asks for together".to_owned(),
            |(key, allowed)| {
                let asked = told(*key, allowed, &ground.words);
                let asked: Vec<String> =
                    asked.iter().map(|of| format!("{} {} {}", of.key, of.operator, of.values.join(","))).collect();
                format!("no type of it keeps what the pod or its volumes ask: {}", asked.join(" and ").trim())
            },
        );
        return (Code::Labels, words);
    }
    let mut request = solver.shapes[shape].request.clone();
    if let Some((device, cost)) = solver.device_cost(shape, None) {
        request[device] += cost;
    }
    let mut fitting = types.clone();
    if !ground.sources[source].fit.keep(&request, &mut fitting) {
        return (Code::Resources, too_large(solver, source, &types, &request));
    }
    (Code::NoOffering, "nothing that it allows can be had now: out of stock, out of quota, or all in use".to_owned())
}
