//! Redfish: shapes, credentials, and the settle race.

use super::*;
use crate::power::{
    Effect,
    options::{RedfishManner, WhileSettling},
};
use serde_json::json;

const JSON: (&str, &str) = ("Content-Type", "application/json");
const BASIC: (&str, &str) = ("Authorization", "Basic YWRtaW46cGFzc3dvcmQ=");

impl Stage {
    fn redfish(manner: RedfishManner, starts_on: bool) -> Stage {
        let machine = MachineOptions { starts_on, ..MachineOptions::new("rack-1", BackEnd::Redfish, 4) };
        Stage::with(Options { machines: vec![machine], redfish: manner, ..Options::default() })
    }

    fn system(&self) -> String {
        format!("/redfish/v1/Systems/{}", self.power.system_id("rack-1").unwrap())
    }

    async fn state(&self) -> String {
        let reply = self.send("GET", &self.system(), &[BASIC], "").await;
        reply.json["PowerState"].as_str().unwrap().to_owned()
    }

    async fn reset(&self, kind: &str) -> Reply {
        let path = format!("{}/Actions/ComputerSystem.Reset", self.system());
        self.send("POST", &path, &[BASIC, JSON], &json!({"ResetType": kind}).to_string()).await
    }
}

#[tokio::test(start_paused = true)]
async fn a_reset_is_answered_204_and_the_state_lags_behind_it() {
    let stage = Stage::redfish(RedfishManner::default(), false);
    assert_eq!(stage.reset("On").await.status, 204);
    assert_eq!(stage.state().await, "Off");
    stage.seconds(12).await;
    assert_eq!(stage.state().await, "On");
    assert_eq!(stage.joined(), 0);
    stage.seconds(240).await;
    assert_eq!(stage.joined(), 1);
}

#[tokio::test(start_paused = true)]
async fn on_sent_while_an_off_is_pending_is_answered_204_and_lost() {
    let stage = Stage::redfish(RedfishManner::default(), true);
    assert_eq!(stage.reset("ForceOff").await.status, 204);
    assert_eq!(stage.reset("On").await.status, 204);
    assert_eq!(stage.state().await, "On", "204 and On prove nothing");
    stage.seconds(13).await;
    assert_eq!(stage.state().await, "Off");
    assert_eq!(stage.power.calls()[1].effect, Effect::AlreadySo);
    assert_eq!(*stage.fleet.left.lock().unwrap(), [("rack-1".to_owned(), false)]);
    stage.reset("On").await;
    stage.seconds(12).await;
    assert_eq!(stage.state().await, "On", "sent again after the settle window it holds");
}

#[tokio::test(start_paused = true)]
async fn vendors_differ_while_a_machine_settles_and_when_it_already_is_as_asked() {
    for (while_settling, status) in [(WhileSettling::Conflicts, 409), (WhileSettling::Busy, 503)] {
        let manner = RedfishManner { while_settling, already_so: 409, shows_transitions: true, ..Default::default() };
        let stage = Stage::redfish(manner, true);
        assert_eq!(stage.reset("On").await.status, 409, "already on");
        stage.reset("ForceOff").await;
        assert_eq!(stage.state().await, "PoweringOff");
        let second = stage.reset("On").await;
        assert_eq!(second.status.as_u16(), status);
        assert_eq!(second.headers.contains_key("retry-after"), status == 503);
        stage.seconds(12).await;
        assert_eq!(stage.state().await, "Off");
    }
}

#[tokio::test(start_paused = true)]
async fn an_ignored_graceful_shutdown_looks_like_success_and_force_off_works() {
    let stage = Stage::redfish(RedfishManner::default(), true);
    stage.power.adjust("rack-1", |machine| machine.faults.ignores_soft_off = true);
    assert_eq!(stage.reset("GracefulShutdown").await.status, 204);
    stage.seconds(600).await;
    assert_eq!(stage.state().await, "On");
    stage.reset("ForceOff").await;
    stage.seconds(12).await;
    assert_eq!(stage.state().await, "Off");
}

#[tokio::test(start_paused = true)]
async fn a_forced_restart_shows_off_and_then_on_and_the_node_joins_again() {
    let stage = Stage::redfish(RedfishManner::default(), true);
    stage.reset("ForceRestart").await;
    assert_eq!(stage.state().await, "Off");
    stage.seconds(300).await;
    assert_eq!((stage.state().await.as_str(), stage.joined()), ("On", 2));
    let joined = stage.fleet.joined.lock().unwrap();
    assert_ne!(joined[0].boot_id, joined[1].boot_id);
}

#[tokio::test(start_paused = true)]
async fn what_a_reset_cannot_do_has_its_own_status_each() {
    let stage = Stage::redfish(RedfishManner::default(), false);
    let path = format!("{}/Actions/ComputerSystem.Reset", stage.system());
    for kind in ["Nmi", "PushPowerButton", "PowerCycle", "Suspend", "Pause", "garbage"] {
        assert_eq!(stage.reset(kind).await.status, 501, "{kind}");
    }
    assert_eq!(stage.send("POST", &path, &[JSON], "{}").await.status, 500);
    assert_eq!(stage.send("POST", &path, &[JSON], "{").await.status, 400);
    assert_eq!(stage.send("POST", &path, &[], "").await.status, 415);
    assert_eq!(stage.send("GET", &path, &[], "").await.status, 405);
    let unknown = stage.send("GET", "/redfish/v1/Systems/none", &[], "").await;
    assert_eq!((unknown.status.as_u16(), unknown.json["error"]["code"].as_str()), (404, Some("Base.1.0.GeneralError")));
    let by_name = stage.send("POST", "/redfish/v1/Systems/rack-1/Actions/ComputerSystem.Reset", &[JSON], "{}").await;
    assert_eq!((by_name.status.as_u16(), by_name.headers["location"].to_str().unwrap()), (307, path.as_str()));
}

#[tokio::test(start_paused = true)]
async fn the_action_says_where_to_send_it_and_what_it_takes() {
    let stage = Stage::redfish(RedfishManner::default(), false);
    let system = stage.send("GET", &stage.system(), &[], "").await;
    let action = &system.json["Actions"]["#ComputerSystem.Reset"];
    assert!(action["target"].as_str().unwrap().ends_with("/Actions/ComputerSystem.Reset"));
    assert!(action["ResetType@Redfish.AllowableValues"].as_array().unwrap().contains(&json!("ForceOff")));
    let stage = Stage::redfish(RedfishManner { action_info: true, ..Default::default() }, false);
    let system = stage.send("GET", &stage.system(), &[], "").await;
    let info = system.json["Actions"]["#ComputerSystem.Reset"]["@Redfish.ActionInfo"].as_str().unwrap().to_owned();
    let info = stage.send("GET", &info, &[], "").await.json;
    assert_eq!(info["Parameters"][0]["AllowableValues"][0], "On");
}

#[tokio::test(start_paused = true)]
async fn the_root_is_open_and_everything_else_asks_for_an_account_or_a_session() {
    let machine = MachineOptions::new("rack-1", BackEnd::Redfish, 4);
    let account = Some(("admin".to_owned(), "password".to_owned()));
    let redfish = RedfishManner { sessions: Some(1), ..Default::default() };
    let stage = Stage::with(Options { machines: vec![machine], account, redfish, ..Options::default() });
    assert_eq!(stage.send("GET", "/redfish/v1", &[], "").await.status, 200);
    let refused = stage.send("GET", "/redfish/v1/Systems", &[], "").await;
    assert_eq!((refused.status.as_u16(), refused.headers.contains_key("www-authenticate")), (401, true));
    let wrong = ("Authorization", "Basic YWRtaW46d3Jvbmc=");
    assert_eq!(stage.send("GET", "/redfish/v1/Systems", &[wrong], "").await.status, 401);
    assert_eq!(stage.send("GET", "/redfish/v1/Systems", &[BASIC], "").await.json["Members@odata.count"], 1);
    let sessions = "/redfish/v1/SessionService/Sessions";
    let bad = json!({"UserName": "admin", "Password": "wrong"}).to_string();
    assert_eq!(stage.send("POST", sessions, &[JSON], &bad).await.status, 401);
    let good = json!({"UserName": "admin", "Password": "password"}).to_string();
    let session = stage.send("POST", sessions, &[JSON], &good).await;
    assert_eq!(session.status, 201);
    let token = session.headers["x-auth-token"].to_str().unwrap();
    assert_eq!(stage.send("GET", "/redfish/v1/Systems", &[("X-Auth-Token", token)], "").await.status, 200);
    assert_eq!(stage.send("POST", sessions, &[JSON], &good).await.status, 503, "a BMC allows few sessions");
    let location = session.headers["location"].to_str().unwrap();
    assert_eq!(stage.send("DELETE", location, &[("X-Auth-Token", token)], "").await.status, 204);
    assert_eq!(stage.send("GET", "/redfish/v1/Systems", &[("X-Auth-Token", token)], "").await.status, 401);
}

#[tokio::test(start_paused = true)]
async fn etags_guard_patches_and_save_readings() {
    let stage = Stage::redfish(RedfishManner::default(), false);
    let tag = stage.send("GET", &stage.system(), &[], "").await.headers["etag"].to_str().unwrap().to_owned();
    assert_eq!(stage.send("GET", &stage.system(), &[("If-None-Match", &tag)], "").await.status, 304);
    let body = json!({"Boot": {"BootSourceOverrideTarget": "Pxe"}}).to_string();
    assert_eq!(stage.send("PATCH", &stage.system(), &[JSON, ("If-Match", &tag)], &body).await.status, 204);
    assert_eq!(stage.send("PATCH", &stage.system(), &[JSON, ("If-Match", &tag)], &body).await.status, 412);
}

#[tokio::test(start_paused = true)]
async fn a_reset_can_be_a_task_that_ends_when_the_machine_has_settled() {
    let stage = Stage::redfish(RedfishManner { accepted: 202, ..Default::default() }, false);
    let reply = stage.reset("On").await;
    assert_eq!(reply.status, 202);
    let task = reply.headers["location"].to_str().unwrap().to_owned();
    assert_eq!(stage.send("GET", &task, &[], "").await.json["TaskState"], "Running");
    stage.seconds(12).await;
    assert_eq!(stage.send("GET", &task, &[], "").await.json["TaskState"], "Completed");
    let watts = stage.send("GET", &format!("{}/Power", stage.system().replace("Systems", "Chassis")), &[], "").await;
    assert_eq!(watts.json["PowerControl"][0]["PowerConsumedWatts"], 350.0);
}

#[tokio::test(start_paused = true)]
async fn the_same_seed_gives_the_same_calls_and_joins() {
    async fn history() -> String {
        let stage = Stage::redfish(RedfishManner::default(), false);
        stage.reset("On").await;
        stage.seconds(300).await;
        format!("{:?} {:?} {:?}", stage.power.calls(), stage.power.snapshot(), stage.fleet.joined.lock().unwrap())
    }
    assert_eq!(history().await, history().await);
}
