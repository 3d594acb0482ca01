//! How the demo looks: aligned lines, a table at the end, or one JSON object. Colours only on a terminal.

use serde_json::{Value, json};
use std::{
    env,
    io::{self, IsTerminal as _, Write as _},
};

use super::{
    Form, span,
    watch::{ClaimEnding, Line},
};
use crate::table::table;

/// The invariants that are looked at, by their numbers in ARCHITECTURE.md.
const INVARIANTS: [(u8, &str); 5] = [
    (1, "one machine a claim"),
    (2, "no work lost"),
    (3, "nothing left behind"),
    (AT_THE_END, "quiet at the end"),
    (7, "no secret told"),
];
/// The one that can be seen only once everything is gone.
const AT_THE_END: u8 = 5;

/// How it all went.
pub struct Ending {
    pub claims: Vec<ClaimEnding>,
    pub running: Vec<String>,
    /// What did not go as it should; empty is good.
    pub wrong: Vec<String>,
    /// The claims were left alone, so nothing had to be gone.
    pub kept: bool,
}

pub struct Screen {
    form: Form,
    colours: bool,
    widest_claim: usize,
    /// Kept for JSON, which is written once.
    lines: Vec<Line>,
}

impl Screen {
    /// `widest` is the length of the longest name.
    pub fn new(form: Form, widest: usize) -> Self {
        let no_colour = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Screen { form, colours: io::stdout().is_terminal() && !no_colour, widest_claim: widest, lines: Vec::new() }
    }

    /// A sentence beside the story. In JSON there is no place for it on standard output.
    pub fn say(&mut self, text: &str) {
        match self.form {
            Form::Text => print(&format!("{text}\n\n")),
            Form::Json => eprintln!("{text}"),
        }
    }

    pub fn tell(&mut self, line: Line) {
        match self.form {
            Form::Text => print(&self.row(&line)),
            Form::Json => self.lines.push(line),
        }
    }

    pub fn end(&self, ending: &Ending) {
        match self.form {
            Form::Text => print(&self.summary(ending)),
            Form::Json => print(&format!("{:#}\n", self.to_json(ending))),
        }
    }

    fn row(&self, line: &Line) -> String {
        let (at, widest) = (span(line.at), self.widest_claim);
        let (on, off) = if self.colours { (colour(&line.phase), "\x1b[0m") } else { ("", "") };
        let Line { claim, provider, phase, what, .. } = line;
        format!("{at:>7}  {claim:widest$}  {provider:8}  {on}{phase:11}{off}  {what}\n")
    }

    fn summary(&self, ending: &Ending) -> String {
        let shown = |seconds: Option<i64>| {
            seconds.map_or("-".to_owned(), |seconds| span(jiff::SignedDuration::from_secs(seconds)))
        };
        let row = |one: &ClaimEnding| {
            let shared = ending.claims.iter().filter(|other| other.provider == one.provider).count() > 1;
            let requests = one.cloud_requests.to_string() + if shared { " (shared)" } else { "" };
            let machine = one.machine.clone().unwrap_or_else(|| "-".to_owned());
            vec![one.claim.clone(), machine, shown(one.seconds_to_ready), shown(one.seconds_to_gone), requests]
        };
        let rows: Vec<Vec<String>> = ending.claims.iter().map(row).collect();
        let table = table(&["CLAIM", "MACHINE", "TO READY", "TO GONE", "CLOUD REQUESTS"], &rows);
        let looked_at = INVARIANTS.iter().filter(|(number, _)| !ending.kept || *number != AT_THE_END);
        let held: Vec<String> = looked_at.map(|(number, words)| format!("{words} ({number})")).collect();
        let verdict = match ending.wrong.as_slice() {
            [] => format!("Every invariant held: {}.", held.join(", ")),
            wrong => format!("Not as it should be:\n  {}", wrong.join("\n  ")),
        };
        let running = if ending.running.is_empty() { "none".to_owned() } else { ending.running.join(", ") };
        format!("\n{table}\nMachines that still run: {running}.\n{verdict}\n")
    }

    fn to_json(&self, ending: &Ending) -> Value {
        let line = |line: &Line| {
            json!({ "atSeconds": line.at.as_secs_f64(), "claim": line.claim, "provider": line.provider,
                "phase": line.phase, "what": line.what })
        };
        let claim = |one: &ClaimEnding| {
            json!({ "name": one.claim, "provider": one.provider, "machine": one.machine,
                "secondsToReady": one.seconds_to_ready, "secondsToGone": one.seconds_to_gone,
                "cloudRequests": one.cloud_requests })
        };
        json!({
            "lines": self.lines.iter().map(line).collect::<Value>(),
            "claims": ending.claims.iter().map(claim).collect::<Value>(),
            "running": ending.running,
            "wrong": ending.wrong,
        })
    }
}

/// Green for what is there, yellow for what is on its way out, grey for what is gone.
fn colour(phase: &str) -> &'static str {
    match phase {
        "Ready" | "Running" => "\x1b[32m",
        "Deleted" | "Draining" | "Evicted" | "Terminating" => "\x1b[33m",
        "Removed" | "Off" | "Gone" => "\x1b[90m",
        _ => "",
    }
}

/// A reader that closes early, as `head` does, is no failure worth a panic.
fn print(text: &str) {
    let mut out = io::stdout();
    drop(out.write_all(text.as_bytes()).and_then(|()| out.flush()));
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::SignedDuration;

    fn screen(colours: bool) -> Screen {
        Screen { form: Form::Text, colours, widest_claim: 6, lines: Vec::new() }
    }

    fn line(phase: &str) -> Line {
        let (claim, what) = ("a-b".to_owned(), "words".to_owned());
        Line { at: SignedDuration::from_secs(161), claim, provider: "aks", phase: phase.to_owned(), what }
    }

    #[test]
    fn columns_line_up_with_and_without_colours() {
        assert_eq!(screen(false).row(&line("Ready")), "  2m41s  a-b     aks       Ready        words\n");
        assert_eq!(screen(true).row(&line("Ready")), "  2m41s  a-b     aks       \x1b[32mReady      \x1b[0m  words\n");
    }

    #[test]
    fn what_went_wrong_is_said_instead_of_what_held() {
        let mut ending = Ending { claims: Vec::new(), running: Vec::new(), wrong: Vec::new(), kept: false };
        let all = "one machine a claim (1), no work lost (2), nothing left behind (3), quiet at the end (5), no secret told (7)";
        let summary = screen(false).summary(&ending);
        assert!(
            summary.ends_with(&format!("Machines that still run: none.\nEvery invariant held: {all}.\n")),
            "{summary}"
        );
        ending.kept = true;
        assert!(!screen(false).summary(&ending).contains("(5)"));
        ending.wrong.push("a is not gone".to_owned());
        assert!(screen(false).summary(&ending).ends_with("\nNot as it should be:\n  a is not gone\n"));
    }
}
