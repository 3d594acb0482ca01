//! Plays scenarios on both sides, step by step, and compares every answer.

use serde_json::Value;
use std::{io, path::Path, time::Duration};

use super::{
    differences::{Difference, Scope, compare},
    pairing::Pairing,
    scenario::{Scenario, Step},
    side::{Listening, Question, Reply, Side},
    variables::Variables,
};

/// Clients name themselves; field managers are called after it.
pub const AGENT: &str = "compare/1";

const LONGEST_WATCH: Duration = Duration::from_secs(8);
const ASK_AGAIN: Duration = Duration::from_millis(50);
const MOST_TRIES: u32 = 200;

/// A difference, and where it was found.
#[derive(Debug, Clone)]
pub struct Found {
    pub scenario: String,
    pub step: usize,
    pub request: String,
    pub difference: Difference,
}

/// What playing a scenario came to.
#[derive(Debug, Default)]
pub struct Played {
    pub requests: usize,
    pub fields: usize,
    pub found: Vec<Found>,
}

/// Where files that steps name are, and what makes names of this run its own.
#[derive(Debug, Clone, Copy)]
pub struct Stage<'a> {
    pub repository: &'a Path,
    pub run: &'a str,
}

/// One scenario on both sides, in a namespace of its own. What it made outside of it is removed at the end.
pub async fn play(world: &dyn Side, server: &dyn Side, scenario: &Scenario, stage: Stage<'_>) -> io::Result<Played> {
    let namespace = namespace(&scenario.name, stage.run);
    let mut actors = [Actor::new(world, &namespace), Actor::new(server, &namespace)];
    for actor in &mut actors {
        actor.furnish(&namespace).await?;
    }
    let (mut pairing, mut played) = (Pairing::default(), Played::default());
    for (number, step) in scenario.steps.iter().enumerate() {
        let [ours, theirs] = &mut actors;
        let (ours, theirs) = tokio::try_join!(ours.perform(step, stage), theirs.perform(step, stage))?;
        let scope = Scope { subset: step.subset, only: step.only.clone() };
        for (ours, theirs) in ours.iter().zip(&theirs) {
            let scope = if ours.asked == step.send { scope.clone() } else { Scope::default() };
            let comparison = compare(&ours.reply, &theirs.reply, &scope, &mut pairing);
            played.requests += 1;
            played.fields += comparison.fields;
            played.found.extend(comparison.differences.into_iter().map(|difference| Found {
                scenario: scenario.name.clone(),
                step: number + 1,
                request: ours.asked.clone(),
                difference,
            }));
        }
    }
    for actor in &actors {
        actor.tidy().await?;
    }
    Ok(played)
}

fn namespace(name: &str, run: &str) -> String {
    let slug: String =
        name.to_lowercase().chars().map(|one| if one.is_ascii_alphanumeric() { one } else { '-' }).collect();
    let short: String = slug.chars().take(40).collect();
    format!("{}-{run}", short.trim_matches('-'))
}

/// An answer, and the request of the scenario that it answers.
struct Answered {
    asked: String,
    reply: Reply,
}

/// One side while a scenario is played on it.
struct Actor<'a> {
    side: &'a dyn Side,
    variables: Variables,
    /// Objects outside of the namespace.
    made: Vec<String>,
}

impl<'a> Actor<'a> {
    fn new(side: &'a dyn Side, namespace: &str) -> Self {
        let mut variables = Variables::default();
        variables.set("ns", namespace.into());
        Actor { side, variables, made: Vec::new() }
    }

    /// Pods need a ServiceAccount, which a controller makes in a whole cluster.
    async fn furnish(&self, namespace: &str) -> io::Result<()> {
        let body = serde_json::json!({ "metadata": { "name": namespace } });
        self.must("POST", "/api/v1/namespaces", &body).await?;
        let body = serde_json::json!({ "metadata": { "name": "default" } });
        self.must("POST", &format!("/api/v1/namespaces/{namespace}/serviceaccounts"), &body).await
    }

    async fn must(&self, method: &str, path: &str, body: &Value) -> io::Result<()> {
        let reply = self.side.ask(question(method, path, body)).await?;
        if matches!(reply.status, 200 | 201 | 409) {
            return Ok(());
        }
        Err(io::Error::other(format!("{method} {path} was answered with {}: {}", reply.status, reply.body)))
    }

    /// The answer to a step, after those of the steps that were sent while it watched.
    async fn perform(&mut self, step: &Step, stage: Stage<'_>) -> io::Result<Vec<Answered>> {
        let question = self.question(step, stage)?;
        let mut answered = Vec::new();
        let reply = match step.events {
            None => self.ask(step, question).await?,
            Some(events) => {
                let watching = self.side.open(question).await?;
                for below in &step.during {
                    answered.extend(Box::pin(self.perform(below, stage)).await?);
                }
                watching.collect(Listening { events, longest: LONGEST_WATCH }).await?
            }
        };
        for (name, pointer) in &step.keep {
            self.variables.set(name, reply.body.pointer(pointer).cloned().unwrap_or_default());
        }
        answered.push(Answered { asked: step.send.clone(), reply });
        Ok(answered)
    }

    async fn ask(&mut self, step: &Step, question: Question) -> io::Result<Reply> {
        let is_definition = question.path.contains("/customresourcedefinitions");
        let mut reply = self.side.ask(question.clone()).await?;
        for _ in 0..MOST_TRIES {
            let arrived = step.until.is_none_or(|status| reply.status == status)
                && step.until_equal.iter().all(|(pointer, value)| reply.body.pointer(pointer) == Some(value));
            if arrived {
                break;
            }
            tokio::time::sleep(ASK_AGAIN).await;
            reply = self.side.ask(question.clone()).await?;
        }
        let path = question.path.split('?').next().unwrap_or_default();
        if reply.status == 201 && !path.contains("/namespaces/") && !question.path.contains("dryRun") {
            let name = reply.body.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
            let path = if path.ends_with(&format!("/{name}")) { path.to_owned() } else { format!("{path}/{name}") };
            self.made.push(path);
        }
        if is_definition && reply.status == 201 && !question.path.contains("dryRun") {
            self.wait_until_served(&reply.body).await?;
        }
        Ok(reply)
    }

    /// A definition is accepted at once and served a moment later.
    async fn wait_until_served(&self, definition: &Value) -> io::Result<()> {
        let spec = &definition["spec"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        for version in spec["versions"].as_array().into_iter().flatten().filter(|version| version["served"] == true) {
            let (group, version) = (text(&spec["group"]), text(&version["name"]));
            let path = format!("/apis/{group}/{version}/{}", text(&spec["names"]["plural"]));
            for _ in 0..MOST_TRIES {
                if self.side.ask(question("GET", &path, &Value::Null)).await?.status == 200 {
                    break;
                }
                tokio::time::sleep(ASK_AGAIN).await;
            }
        }
        Ok(())
    }

    fn question(&self, step: &Step, stage: Stage<'_>) -> io::Result<Question> {
        let (method, path) = step.send.split_once(' ').unwrap_or(("GET", &step.send));
        let mut headers = step.headers.clone();
        headers.entry("user-agent".to_owned()).or_insert(AGENT.to_owned());
        for value in headers.values_mut() {
            *value = self.variables.fill(value);
        }
        let body = match (&step.body, &step.text, &step.file) {
            (Some(body), _, _) => self.variables.fill_value(body).to_string(),
            (_, Some(text), _) => self.variables.fill(text).repeat(step.repeat.unwrap_or(1)),
            (_, _, Some(file)) => std::fs::read_to_string(stage.repository.join(file))?,
            _ => String::new(),
        };
        if !body.is_empty() {
            let content = step.content.as_deref().unwrap_or(if step.file.is_some() { "yaml" } else { "json" });
            headers.entry("content-type".to_owned()).or_insert_with(|| media_type(content).to_owned());
        }
        Ok(Question { method: method.to_owned(), path: self.variables.fill(path), headers, body: body.into() })
    }

    /// Finalizers that nobody serves would keep what a scenario left.
    async fn tidy(&self) -> io::Result<()> {
        for path in self.made.iter().rev() {
            let free = serde_json::json!({ "metadata": { "finalizers": null } });
            let now = serde_json::json!({ "gracePeriodSeconds": 0, "propagationPolicy": "Background" });
            self.side.ask(question("DELETE", path, &now)).await?;
            let mut patch = question("PATCH", path, &free);
            patch.headers.insert("content-type".to_owned(), media_type("merge").to_owned());
            self.side.ask(patch).await?;
        }
        Ok(())
    }
}

fn media_type(content: &str) -> &str {
    match content {
        "json" => "application/json",
        "yaml" => "application/yaml",
        "merge" => "application/merge-patch+json",
        "json-patch" => "application/json-patch+json",
        "strategic" => "application/strategic-merge-patch+json",
        "apply" => "application/apply-patch+yaml",
        other => other,
    }
}

/// A plain request with a JSON body, or none.
pub fn question(method: &str, path: &str, body: &Value) -> Question {
    let bytes = if body.is_null() { String::new() } else { body.to_string() };
    let headers = [("user-agent", AGENT), ("content-type", media_type("json"))];
    let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    Question { method: method.to_owned(), path: path.to_owned(), headers, body: bytes.into() }
}
