//! Golden requests: the exact JSON that is sent for each documented input, in files that a person can read.
//!
//! `UPDATE_GOLDEN=1` writes them anew.

#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use common::{CLAIM, Stage, TOKEN, request, with_class, words};
use model::InstanceRequest;
use serde_json::{Value, json};
use world::scaleway::options::{Availability, ShortageManner, Stock, Window};

/// Everything that was sent, in order; a world of one seed gives the same IDs each time.
fn sent(stage: &Stage) -> Value {
    let exchanges = stage.world.history.exchanges();
    let lines = exchanges.iter().map(|one| {
        let query = if one.query.is_empty() { String::new() } else { format!("?{}", one.query) };
        let mut line = json!({ "send": format!("{} {}{query}", one.method, one.path), "answer": one.status });
        match &one.request {
            Value::Null => {}
            // Lines are easier to compare than one long text.
            Value::String(text) => line["body"] = text.lines().collect::<Vec<_>>().into(),
            body => line["body"] = body.clone(),
        }
        line
    });
    lines.collect::<Vec<_>>().into()
}

fn compare(name: &str, stage: &Stage) {
    let path = format!("{}/tests/golden/{name}.json", env!("CARGO_MANIFEST_DIR"));
    let text = format!("{:#}\n", sent(stage));
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(text, kept, "{path} differs: if that is meant, run with UPDATE_GOLDEN=1");
}

async fn check(name: &str, request: &InstanceRequest) {
    let stage = Stage::plain();
    stage.drive(request).await.unwrap();
    compare(&format!("create-{name}"), &stage);
}

#[tokio::test(start_paused = true)]
async fn each_documented_input_sends_exactly_what_its_file_says() {
    let plain = request("L4-1-24G", "fr-par-2");
    check("kubeadm", &plain).await;
    let network = "6f1c0d3e-5555-4222-8333-944444444444";
    let everything = [
        ("image", "ubuntu_noble"),
        ("scratch", "true"),
        ("public-ip", "flexible"),
        ("private-network", network),
        ("security-group", "6f1c0d3e-6666-4222-8333-944444444444"),
        ("root-volume-size", "250G"),
        ("join.cloud-provider", "external"),
    ];
    check("everything", &with_class(request("L40S-1-48G", "fr-par-2"), &everything)).await;
    let mut k3s = plain.clone();
    k3s.class = words(&[("join", "k3s"), ("join.endpoint", "https://10.0.0.1:6443"), ("join.token", TOKEN)]);
    k3s.requests.insert("ephemeral-storage".to_owned(), "200Gi".parse().unwrap());
    check("k3s", &k3s).await;
    let mut kosmos = plain.clone();
    kosmos.class = words(&[
        ("join", "kosmos"),
        ("join.pool-id", CLAIM),
        ("join.pool-region", "fr-par"),
        ("join.secret-key", TOKEN),
        ("public-ip", "none"),
    ]);
    kosmos.requests.insert("storage".to_owned(), "50Gi".parse().unwrap());
    check("kosmos", &kosmos).await;
}

#[tokio::test(start_paused = true)]
async fn removing_and_giving_up_send_exactly_what_their_files_say() {
    let wanted = with_class(request("L40S-1-48G", "fr-par-2"), &[("scratch", "true"), ("public-ip", "flexible")]);
    let stage = Stage::plain();
    stage.drive(&wanted).await.unwrap();
    let before = sent(&stage).as_array().unwrap().len();
    stage.drive_gone(&wanted.key).await.unwrap();
    let all = sent(&stage);
    let removal: Vec<Value> = all.as_array().unwrap().iter().skip(before).cloned().collect();
    let changes = removal.iter().filter(|line| !line["send"].as_str().unwrap().starts_with("GET")).count();
    assert_eq!(changes, 3, "terminate, block volume, address");
    compare("remove", &stage);

    let stage = Stage::with(|options| {
        options.stock.push(Stock {
            commercial_type: "*".to_owned(),
            zone: "*".to_owned(),
            window: Window::ALWAYS,
            availability: Availability::Shortage,
            manner: ShortageManner::RefusesPoweron,
        });
    });
    stage.drive(&wanted).await.unwrap_err();
    compare("give-up", &stage);
}
