//! Bad input: one typed error each, which says what to do, and no machine is touched.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use common::{KINDS, Kind, MACHINE, Stage, key};
use model::{InstanceRequest, Progress, Quantity};
use provider::{Change as _, Look as _, Retry};
use provider_power::{
    Auth, BackEndConfig, EnergyConfig, Holders as _, HostRule, Machine, MachineConfig, Secret, UrlPolicy, environment,
    presets,
};
use world::faults::{Fault, Matching, Mishap};

#[tokio::test(start_paused = true)]
async fn a_request_that_no_machine_can_meet_is_refused_without_a_call() {
    let gpus = |request: &mut InstanceRequest, resource: &str, count: i128| {
        request.requests.insert(resource.to_owned(), Quantity::from_thousandths(count * 1000));
    };
    type Spoil<'a> = &'a dyn Fn(&mut InstanceRequest);
    let cases: [(&str, Spoil<'_>); 4] = [
        ("there is no such machine; there are: rack-1", &|one| one.offering.id.instance_type = "rack-9".to_owned()),
        ("not \"power\"", &|one| one.offering.id.provider = "aks".to_owned()),
        ("more nvidia.com/gpu than it has", &|one| gpus(one, "nvidia.com/gpu", 5)),
        ("more amd.com/gpu than it has", &|one| gpus(one, "amd.com/gpu", 1)),
    ];
    for (why, change) in cases {
        let stage = Stage::of(Kind::WebhookWithStatus);
        let mut request = stage.request().await;
        change(&mut request);
        let error = stage.power.ensure(&request, None).await.unwrap_err();
        assert_eq!(error.reason(), "InvalidRequest", "{error}");
        assert!(error.to_string().contains(why), "{error}");
        assert!(stage.world.power.calls().is_empty(), "{why}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_wrong_secret_is_unauthorized_and_switches_nothing() {
    for kind in KINDS.into_iter().filter(|kind| kind.world() != world::power::BackEnd::Webhook) {
        let changed = |rack: &mut world::power::Options| {
            rack.account = Some(("admin".to_owned(), "changed".to_owned()));
            rack.maas_key = Some("other:key:here".to_owned());
        };
        let mut stage = Stage::with(kind, changed, |_| {});
        let error = stage.drive_on().await.unwrap_err();
        assert_eq!((error.reason(), error.retry()), ("Unauthorized", Retry::Never), "{kind:?}: {error}");
        assert!(stage.commands().is_empty(), "{kind:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn webhooks_are_called_with_the_auth_of_their_template() {
    use world::power::options::Auth as Asked;
    let text = |text: &str| text.to_owned();
    let cases = [
        (Auth::Basic { user: text("u"), password: Secret::new("canary") }, {
            Asked::Basic { user: text("u"), password: text("canary") }
        }),
        (Auth::Bearer(Secret::new("canary")), Asked::Bearer(text("canary"))),
        (Auth::Header { name: text("x-key"), value: Secret::new("canary") }, {
            Asked::Header { name: text("x-key"), value: text("canary") }
        }),
    ];
    let with_auth = |config: &mut MachineConfig, auth: &Auth| {
        let BackEndConfig::Templates { on, off, soft_off, status } = &mut config.back_end else { panic!("templates") };
        let requests = [Some(on), Some(off), soft_off.as_mut()].into_iter().flatten().map(|request| &mut **request);
        requests
            .chain(status.as_mut().map(|status| &mut status.request))
            .for_each(|request| request.auth = auth.clone());
    };
    for (auth, asked) in cases {
        let rack = |rack: &mut world::power::Options| rack.webhook_auth = asked.clone();
        let mut stage = Stage::with(Kind::WebhookWithStatus, rack, |config| with_auth(config, &auth));
        stage.drive_on().await.unwrap();
        stage.drive_off().await.unwrap();
        assert_eq!(stage.record().boots, 1, "{auth:?}");
        let mut stage = Stage::with(Kind::WebhookWithStatus, rack, |_| {});
        assert_eq!(stage.drive_on().await.unwrap_err().reason(), "Unauthorized", "{auth:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_none_of_the_success_codes_is_not_believed_and_not_taken_for_a_refusal() {
    let only = |config: &mut MachineConfig, code: u16| {
        let BackEndConfig::Templates { on, .. } = &mut config.back_end else { panic!("templates") };
        on.success = vec![code];
    };
    let stage = Stage::with(Kind::WebhookWithStatus, |_| {}, |config| only(config, 202));
    let error = stage.power.ensure(&stage.request().await, None).await.unwrap_err();
    assert_eq!((error.reason(), error.retry()), ("Uncertain", Retry::ReadBack), "it answered 200, and did it: {error}");
    let mut stage = Stage::with(Kind::WebhookWithStatus, |_| {}, |config| only(config, 200));
    stage.drive_on().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_refused_call_is_one_typed_error() {
    let cases = [
        (401, "Unauthorized"),
        (403, "Unauthorized"),
        (404, "InvalidRequest"),
        (400, "InvalidRequest"),
        (405, "InvalidRequest"),
        (415, "InvalidRequest"),
        (501, "InvalidRequest"),
        (302, "InvalidRequest"),
    ];
    for kind in KINDS {
        for (status, reason) in cases {
            let mut stage = Stage::of(kind);
            let on = Matching { to: Some("power".to_owned()), times: Some(1000), ..Matching::default() };
            stage.world.faults.add(Fault { on, then: Mishap::Answer { status, done: false, retry_after: None } });
            let error = stage.drive_on().await.unwrap_err();
            assert_eq!((error.reason(), error.retry()), (reason, Retry::Never), "{kind:?} {status}: {error}");
            assert!(stage.commands().is_empty(), "{kind:?} {status}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_note_that_is_not_ours_is_found_out_again() {
    let stage = Stage::of(Kind::WebhookWithStatus);
    let request = stage.request().await;
    stage.holders.take(MACHINE, &key().claim, "").await.unwrap();
    for text in ["", "nonsense", "{}", "[1]", r#"{"epoch":1}"#] {
        stage.holders.note(MACHINE, &key().claim, text).await.unwrap();
        stage.power.ensure(&request, Some(&Progress(text.to_owned()))).await.unwrap();
    }
    assert_eq!(stage.record().boots, 1);
}

#[tokio::test(start_paused = true)]
async fn a_machine_that_was_taken_off_the_list_while_it_was_held_is_told_and_not_forgotten() {
    let stage = Stage::of(Kind::WebhookWithStatus);
    stage.holders.take("sold", &key().claim, "").await.unwrap();
    let owned = stage.power.owned().await.unwrap();
    assert_eq!((owned.len(), owned[0].key.claim.clone(), owned[0].instance.is_none()), (1, key().claim, true));
    let error = stage.power.ensure_gone(&key(), None).await.unwrap_err();
    assert_eq!(error.reason(), "InvalidRequest");
    assert!(error.to_string().contains("sold: the machine is not configured any more"), "{error}");
    assert!(stage.world.power.calls().is_empty());
}

#[test]
fn a_description_with_a_mistake_names_the_machine_and_the_field() {
    let seed = || presets::seed("http://rack.test/up", "http://rack.test/down");
    let machine = || MachineConfig::new(MACHINE, 1, seed());
    let with_auth = |auth: Auth| {
        let back_end = presets::maas("http://rack.test/a", "http://rack.test/b", "http://rack.test/c", &auth);
        MachineConfig::new(MACHINE, 1, back_end)
    };
    let edit = |change: &dyn Fn(&mut MachineConfig)| {
        let mut config = machine();
        change(&mut config);
        config
    };
    let on = |change: &dyn Fn(&mut provider_power::RequestTemplate)| {
        edit(&|config| {
            if let BackEndConfig::Templates { on, .. } = &mut config.back_end {
                change(on);
            }
        })
    };
    let basic = |user: &str, password: &str| Auth::Basic { user: user.to_owned(), password: Secret::new(password) };
    let cases = [
        ("gpu.count", edit(&|config| config.gpu.count = 0)),
        ("name", edit(&|config| config.name = "Rack_1".to_owned())),
        ("node", edit(&|config| config.node = Some("a b".to_owned()))),
        ("class", edit(&|config| config.class = "a/b".to_owned())),
        ("arch", edit(&|config| config.arch = "sparc".to_owned())),
        ("capacity.cpu", edit(&|config| drop(config.capacity.insert("cpu".to_owned(), "many".to_owned())))),
        ("timing.mostAttempts", edit(&|config| config.timing.most_attempts = 0)),
        ("on.url", on(&|request| request.url = "no url".to_owned())),
        ("on.url", on(&|request| request.url = "http://user:canary@rack.test/".to_owned())),
        ("on.url", on(&|request| request.url = "http://169.254.169.254/".to_owned())),
        ("on.url", on(&|request| request.url = "http://elsewhere.test/".to_owned())),
        ("on.url", on(&|request| request.url = "http://rack.test/${claim}".to_owned())),
        ("on.method", on(&|request| request.method = "GO ON".to_owned())),
        ("on.headers", on(&|request| drop(request.headers.insert("a b".to_owned(), String::new())))),
        ("on.success", on(&|request| request.success = vec![7])),
        ("on.timeoutSeconds", on(&|request| request.timeout_seconds = 0)),
        ("on.ca", on(&|request| request.ca = Some("canary".to_owned()))),
        ("on.auth", with_auth(basic("admin", ""))),
        ("on.auth", with_auth(Auth::Bearer(Secret::new("")))),
        ("on.auth", with_auth(Auth::MaasKey(Secret::new("canary")))),
    ];
    let policy = UrlPolicy::new(vec![HostRule::parse("rack.test").unwrap()], true);
    assert!(Machine::new(machine(), &policy).is_ok());
    for (field, config) in cases {
        let error = Machine::new(config, &policy).err().unwrap_or_else(|| panic!("{field} is taken"));
        assert_eq!(error.field, field, "{error}");
        assert!(!error.to_string().contains("canary"), "{error}");
    }
}

#[test]
fn no_secret_can_be_shown() {
    let auth = Auth::Basic { user: "admin".to_owned(), password: Secret::new("canary") };
    let config = MachineConfig::new(MACHINE, 1, presets::redfish("https://bmc.test/redfish/v1/Systems/1", &auth));
    assert!(!format!("{config:?} {config:#?}").contains("canary"));
}

#[test]
fn a_node_class_can_carry_all_of_it() {
    let config: MachineConfig = serde_json::from_str(
        r#"{"name": "rack-1", "class": "homelab", "gpu": {"count": 2, "model": "RTX-4090", "memoryMib": 24564},
            "capacity": {"cpu": "32", "memory": "128Gi"}, "energy": {"watts": 450, "millionthsPerKwh": 300000,
            "currency": "EUR", "asOf": "2026-01-01"}, "timing": {"coolDownSeconds": 5},
            "backEnd": {"kind": "templates",
              "on": {"url": "https://rack.test/${machine}/on", "auth": {"bearer": "t"}, "success": [200, 202]},
              "off": {"url": "https://rack.test/${machine}/off", "method": "PUT", "auth": {"header": {"name": "x-key", "value": "v"}}},
              "softOff": {"url": "https://rack.test/soft", "auth": {"hmac": {"style": "standardWebhooks", "key": "k"}}},
              "status": {"request": {"method": "GET", "url": "https://rack.test/status", "auth": {"basic": {"user": "u", "password": "p"}}},
                         "read": {"regex": {"on": "running", "off": "stopped"}}}}}"#,
    )
    .unwrap();
    assert_eq!(config.timing.cool_down_seconds, 5);
    assert_eq!(config.timing.boot_budget_seconds, 900);
    assert!(Machine::new(config, &UrlPolicy::default()).is_ok());
    let slip = r#"{"name": "a", "gpu": {"count": 1}, "backend": {}}"#;
    assert!(serde_json::from_str::<MachineConfig>(slip).is_err());
}

#[tokio::test(start_paused = true)]
async fn what_is_not_said_about_settling_is_what_the_back_end_needs() {
    let redfish = r#"{"kind": "redfish", "system": "https://bmc.test/redfish/v1/Systems/1"}"#;
    let seed =
        r#"{"kind": "templates", "on": {"url": "https://rack.test/on"}, "off": {"url": "https://rack.test/off"}}"#;
    let cases = [
        (redfish, "{}", 12),
        (redfish, r#"{"bootBudgetSeconds": 600}"#, 12),
        (redfish, r#"{"settleSeconds": 0}"#, 0),
        (redfish, r#"{"settleSeconds": 30}"#, 30),
        (seed, "{}", 0),
        (seed, r#"{"settleSeconds": 5}"#, 5),
    ];
    for (back_end, timing, seconds) in cases {
        let text = format!(r#"{{"name": "a", "gpu": {{"count": 1}}, "backEnd": {back_end}, "timing": {timing}}}"#);
        let machine = Machine::new(serde_json::from_str(&text).unwrap(), &UrlPolicy::default()).unwrap();
        assert_eq!(machine.timing().settle_seconds, Some(seconds), "{text}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_hour_costs_its_energy_or_nothing() {
    let energy = EnergyConfig {
        watts: 450,
        millionths_per_kwh: 300_000,
        currency: "EUR".to_owned(),
        as_of: "2026-01-01".parse().unwrap(),
    };
    let stage = Stage::with(Kind::Seed, |_| {}, move |config| config.energy = Some(energy));
    let offering = stage.offering().await;
    let price = offering.price.unwrap();
    assert_eq!((price.millionths_per_hour, price.currency.as_str()), (135_000, "EUR"));
    assert_eq!(offering.capacity["nvidia.com/gpu"], "4".parse().unwrap());
    assert_eq!(offering.id.to_string(), "power/rack-1/regional/on-demand");
    assert_eq!(offering.labels["kubernetes.io/hostname"], MACHINE);
    assert_eq!(Stage::of(Kind::Seed).offering().await.price.unwrap().millionths_per_hour, 0);
}

const GOOD: [(&str, &str); 4] = [
    ("GPU_NODE_1_NAME", "rack-1"),
    ("GPU_NODE_1_GPU_COUNT", "4"),
    ("GPU_NODE_1_SCALE_UP_ENDPOINT", "http://user:can%40ary@rack.test/up"),
    ("GPU_NODE_1_SCALE_DOWN_ENDPOINT", "http://rack.test/down"),
];

fn environment_with<'a>(more: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    let kept = GOOD.into_iter().filter(|(name, _)| !more.iter().any(|(other, _)| other == name));
    kept.chain(more.iter().copied()).collect()
}

#[test]
fn the_variables_of_k8s_gpu_autoprovision_are_read_as_they_are() {
    let read = environment::read(environment_with(&[])).unwrap();
    assert_eq!((read.machines.len(), read.machines[0].gpu.count, read.warnings.len()), (1, 4, 0));
    let BackEndConfig::Templates { on, off, status: None, .. } = &read.machines[0].back_end else { panic!("a seed") };
    assert_eq!((on.url.as_str(), off.url.as_str()), ("http://rack.test/up", "http://rack.test/down"));
    assert_eq!(on.auth, Auth::Basic { user: "user".to_owned(), password: Secret::new("can@ary") });
    assert_eq!(off.auth, Auth::None);

    let counts = [("+4", Some(4)), ("007", Some(7)), (" 4", None), ("4.0", None), ("0x4", None), ("4_0", None)];
    for (text, count) in counts {
        let read = environment::read(environment_with(&[("GPU_NODE_1_GPU_COUNT", text)])).unwrap();
        assert_eq!(read.machines.first().map(|machine| machine.gpu.count), count, "{text:?}");
        assert_eq!(read.warnings.len(), usize::from(count.is_none()), "{text:?}");
    }
    for (name, _) in GOOD {
        let read = environment::read(environment_with(&[(name, "")])).unwrap();
        assert!(read.machines.is_empty() && read.warnings[0].starts_with(name), "{name}");
    }
    let odd = [
        ("_NAME", "a"),
        ("_GPU_COUNT", "1"),
        ("_SCALE_UP_ENDPOINT", "http://a/"),
        ("_SCALE_DOWN_ENDPOINT", "http://a/"),
    ];
    assert_eq!(environment::read(odd).unwrap().machines.len(), 1, "an empty prefix is a prefix");
    assert!(environment::read([("GPU_COUNT", "1")]).unwrap().machines.is_empty());
}

/// Its chart makes the prefix from the node's name, in capitals: with whatever else that holds.
#[test]
fn the_variables_that_its_chart_makes_are_read() {
    let read = environment::read([
        ("FOO1_NAME", "foo1"),
        ("FOO1_GPU_COUNT", "1"),
        ("FOO1_SCALE_UP_ENDPOINT", "http://node-foo/up"),
        ("FOO1_SCALE_DOWN_ENDPOINT", "http://node-foo/down"),
        ("RACK-2.LAB_NAME", "rack-2.lab"),
        ("RACK-2.LAB_GPU_COUNT", "8"),
        ("RACK-2.LAB_SCALE_UP_ENDPOINT", "https://node-bar/up"),
        ("RACK-2.LAB_SCALE_DOWN_ENDPOINT", "https://node-bar/down"),
        ("PATH", "/bin"),
    ])
    .unwrap();
    let machines: Vec<(&str, u32)> = read.machines.iter().map(|one| (one.name.as_str(), one.gpu.count)).collect();
    assert_eq!(machines, [("foo1", 1), ("rack-2.lab", 8)], "in the order given");
    assert!(read.warnings.is_empty());
    assert!(read.machines.into_iter().all(|one| Machine::new(one, &UrlPolicy::new(vec![], true)).is_ok()));
    assert!(environment::read([("PATH", "/bin")]).unwrap().machines.is_empty(), "none is no panic");
}

#[test]
fn a_variable_out_of_range_stops_the_start_and_is_named() {
    let again = [
        ("B_NAME", "rack-1"),
        ("B_GPU_COUNT", "1"),
        ("B_SCALE_UP_ENDPOINT", "http://rack.test/"),
        ("B_SCALE_DOWN_ENDPOINT", "http://rack.test/"),
    ];
    let cases: [(&str, &[(&str, &str)]); 7] = [
        ("GPU_NODE_1_GPU_COUNT", &[("GPU_NODE_1_GPU_COUNT", "0")]),
        ("GPU_NODE_1_GPU_COUNT", &[("GPU_NODE_1_GPU_COUNT", "-2")]),
        ("GPU_NODE_1_GPU_COUNT", &[("GPU_NODE_1_GPU_COUNT", "99999999999")]),
        ("GPU_NODE_1_NAME", &[("GPU_NODE_1_NAME", "Not A Node")]),
        ("B_NAME", &again),
        ("GPU_NODE_1_SCALE_UP_ENDPOINT", &[("GPU_NODE_1_SCALE_UP_ENDPOINT", "canary")]),
        ("GPU_NODE_1_SCALE_DOWN_ENDPOINT", &[("GPU_NODE_1_SCALE_DOWN_ENDPOINT", "file:///canary")]),
    ];
    for (variable, more) in cases {
        let error = environment::read(environment_with(more)).unwrap_err();
        assert_eq!(error.variable, variable, "{error}");
        assert!(!error.to_string().contains("canary"), "{error}");
    }
}
