//! ETags, one operation at a time, deletion of a busy pool, throttling.

use super::*;

#[tokio::test(start_paused = true)]
async fn if_none_match_star_creates_once_and_then_answers_412() {
    let azure = azure().await;
    let only_new = [("if-none-match", "*")];
    assert_eq!(azure.put_pool_if("gpu", one_gpu(), &only_new).await.status, StatusCode::CREATED);
    let second = azure.put_pool_if("gpu", one_gpu(), &only_new).await;
    assert_eq!((second.status, second.code()), (StatusCode::PRECONDITION_FAILED, "PreconditionFailed"));
}

#[tokio::test(start_paused = true)]
async fn api_versions_before_2024_09_01_ignore_conditions_and_know_no_etag() {
    let azure = azure().await;
    azure.running_pool("gpu", one_gpu()).await;
    let old = format!("{POOLS}/gpu?api-version=2024-01-01");
    assert!(azure.get(&old).await.body["properties"]["eTag"].is_null());
    let body = json!({"properties": one_gpu()});
    let reply = azure.call(Method::PUT, &old, &[("if-none-match", "*")], &body).await;
    assert_eq!(reply.status, StatusCode::OK, "gpu-provisioner's version overwrites");
}

#[tokio::test(start_paused = true)]
async fn if_match_changes_and_deletes_only_what_was_seen() {
    let azure = azure().await;
    assert_eq!(azure.put_pool_if("gpu", one_gpu(), &[("if-match", "*")]).await.status, StatusCode::PRECONDITION_FAILED);
    azure.running_pool("gpu", one_gpu()).await;
    let seen = azure.get_pool("gpu").await.body["properties"]["eTag"].as_str().unwrap().to_owned();
    let stale = azure.put_pool_if("gpu", one_gpu(), &[("if-match", "something else")]).await;
    assert_eq!(stale.status, StatusCode::PRECONDITION_FAILED);
    let accepted = azure.put_pool_if("gpu", json!({"tags": {"a": "b"}}), &[("if-match", &seen)]).await;
    assert_eq!(accepted.status, StatusCode::OK);
    azure.settle(&accepted).await;
    let path = format!("{POOLS}/gpu?{VERSION}");
    let late = azure.call(Method::DELETE, &path, &[("if-match", &seen)], &Value::Null).await;
    assert_eq!(late.status, StatusCode::PRECONDITION_FAILED, "the etag has moved on");
    assert!(azure.arm.snapshot().pool("gpu").is_some());
}

#[tokio::test(start_paused = true)]
async fn one_operation_runs_in_a_cluster_at_a_time() {
    let azure = azure().await;
    let first = azure.put_pool("first", one_gpu()).await;
    let second = azure.put_pool("second", one_gpu()).await;
    assert_eq!((second.status, second.code()), (StatusCode::CONFLICT, "OperationNotAllowed"));
    assert!(second.body["message"].as_str().unwrap().contains("(first - Creating)"));
    let again = azure.put_pool("first", one_gpu()).await;
    assert_eq!((again.status, again.code()), (StatusCode::CONFLICT, "OperationNotAllowed"));
    assert!(again.body["message"].as_str().unwrap().contains("there's an in progress create node pool operation"));
    azure.settle(&first).await;
    assert_eq!(azure.put_pool("second", one_gpu()).await.status, StatusCode::CREATED);
}

#[tokio::test(start_paused = true)]
async fn more_operations_can_be_allowed() {
    let azure = azure_with(|options| options.limits.operations = 2).await;
    assert_eq!(azure.put_pool("a", one_gpu()).await.status, StatusCode::CREATED);
    assert_eq!(azure.put_pool("b", one_gpu()).await.status, StatusCode::CREATED);
    assert_eq!(azure.put_pool("c", one_gpu()).await.status, StatusCode::CONFLICT);
}

#[tokio::test(start_paused = true)]
async fn deleting_a_pool_that_is_being_created_cancels_the_creation_and_no_machine_joins() {
    let azure = azure().await;
    let creation = azure.put_pool("gpu", one_gpu()).await;
    let deletion = azure.delete_pool("gpu").await;
    assert_eq!(deletion.status, StatusCode::ACCEPTED);
    let canceled = azure.settle(&creation).await;
    assert_eq!((&canceled["status"], &canceled["error"]["code"]), (&json!("Canceled"), &json!("Canceled")));
    assert_eq!(azure.settle(&deletion).await["status"], "Succeeded");
    azure.clock.sleep(Duration::from_secs(3600)).await;
    assert!(azure.heard().is_empty());
    assert_eq!(azure.arm.snapshot().alive().count(), 0);
}

#[tokio::test(start_paused = true)]
async fn deleting_a_busy_pool_can_be_made_a_conflict() {
    let azure = azure_with(|options| options.delete_when_busy = DeleteWhenBusy::Conflicts).await;
    let creation = azure.put_pool("gpu", one_gpu()).await;
    assert_eq!(azure.delete_pool("gpu").await.status, StatusCode::CONFLICT);
    azure.settle(&creation).await;
    assert_eq!(azure.delete_pool("gpu").await.status, StatusCode::ACCEPTED);
    assert_eq!(azure.put_pool("gpu", one_gpu()).await.status, StatusCode::CONFLICT, "it is being deleted");
}

#[tokio::test(start_paused = true)]
async fn a_pool_made_again_under_its_name_has_the_old_node_names_and_a_new_boot_id() {
    let azure = azure().await;
    azure.running_pool("gpu", one_gpu()).await;
    let first = azure.joined().remove(0);
    azure.settle(&azure.delete_pool("gpu").await).await;
    azure.running_pool("gpu", one_gpu()).await;
    let second = azure.joined().remove(0);
    assert_eq!((&first.node, &first.provider_id), (&second.node, &second.provider_id));
    assert_ne!(first.boot_id, second.boot_id);
}

#[tokio::test(start_paused = true)]
async fn too_many_requests_are_answered_429_with_the_time_to_wait() {
    let bucket = Some(Rate { size: 2.0, per_second: 0.1 });
    let azure = azure_with(|options| options.rates.reads = bucket).await;
    assert_eq!(azure.get_pool("gpu").await.header("x-ms-ratelimit-remaining-subscription-reads"), "1");
    azure.get_pool("gpu").await;
    let refused = azure.get_pool("gpu").await;
    assert_eq!((refused.status, refused.code()), (StatusCode::TOO_MANY_REQUESTS, "SubscriptionRequestsThrottled"));
    let wait: u64 = refused.header("retry-after").parse().unwrap();
    assert_eq!(wait, 10);
    azure.clock.sleep(Duration::from_secs(wait)).await;
    assert_eq!(azure.get_pool("gpu").await.status, StatusCode::NOT_FOUND);
    assert_eq!(azure.put_pool("gpu", one_gpu()).await.status, StatusCode::CREATED, "writes have their own bucket");
}

#[tokio::test(start_paused = true)]
async fn aks_throttles_puts_of_one_pool_by_itself() {
    let bucket = Some(Rate { size: 1.0, per_second: 1.0 / 60.0 });
    let azure = azure_with(|options| options.rates.put_agent_pool = bucket).await;
    azure.put_pool("gpu", one_gpu()).await;
    let refused = azure.put_pool("gpu", one_gpu()).await;
    assert_eq!(
        (refused.status, refused.code(), refused.header("retry-after")),
        (StatusCode::TOO_MANY_REQUESTS, "Throttled", "60")
    );
}
