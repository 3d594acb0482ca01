//! Agent pools: create, read, list, change, delete, and what is refused.

use super::*;

/// The body gpu-provisioner sends.
fn kaito_body() -> Value {
    json!({
        "type": "VirtualMachineScaleSets", "count": 1, "vmSize": A100, "osType": "Linux", "osSKU": "Ubuntu",
        "osDiskSizeGB": 0,
        "nodeLabels": {"karpenter.sh/nodepool": "kaito", "kaito.sh/workspace": "w",
                       "kaito.sh/creation-timestamp": "2026-01-01T00-00-00Z", "kaito.sh/machine-type": "gpu"},
        "nodeTaints": ["sku=gpu:NoSchedule", "empty=:NoExecute"],
    })
}

#[tokio::test(start_paused = true)]
async fn a_put_is_accepted_as_creating_and_its_operation_ends_in_success() {
    let azure = azure().await;
    let accepted = azure.put_pool("ws1234567", kaito_body()).await;
    assert_eq!(accepted.status, StatusCode::CREATED);
    assert_eq!(accepted.body["properties"]["provisioningState"], "Creating");
    assert!(accepted.header("azure-asyncoperation").starts_with("http://azure.test/subscriptions/"));
    assert_eq!(accepted.header("retry-after"), "10");

    let ended = azure.settle(&accepted).await;
    assert_eq!(ended["status"], "Succeeded");
    assert!(ended["endTime"].is_string());
    let pool = azure.get_pool("ws1234567").await;
    assert_eq!(pool.status, StatusCode::OK);
    let properties = &pool.body["properties"];
    assert_eq!(properties["provisioningState"], "Succeeded");
    assert_eq!(properties["nodeLabels"]["kaito.sh/workspace"], "w");
    assert_eq!(properties["osDiskSizeGB"], 512, "0 asks for the default of the size");
    assert_eq!(properties["mode"], "User");
    assert!(properties["eTag"].is_string());
    let result = accepted.header("location").to_owned();
    assert_eq!(azure.get(&result).await.body["name"], "ws1234567");
}

#[tokio::test(start_paused = true)]
async fn the_operation_can_be_read_by_another_caller_long_after_it_ended() {
    let mut azure = azure().await;
    let accepted = azure.put_pool("gpu", one_gpu()).await;
    azure.settle(&accepted).await;
    azure.clock.sleep(Duration::from_secs(86_400)).await;
    azure.sign_in().await;
    assert_eq!(azure.settle(&accepted).await["status"], "Succeeded");
    let unknown = azure.get(&accepted.header("azure-asyncoperation").replace("operations/", "operations/0")).await;
    assert_eq!((unknown.status, unknown.code()), (StatusCode::NOT_FOUND, "OperationNotFound"));
}

#[tokio::test(start_paused = true)]
async fn a_deleted_pool_is_deleting_then_not_found_and_deleting_nothing_is_204() {
    let azure = azure().await;
    azure.running_pool("gpu", one_gpu()).await;
    let accepted = azure.delete_pool("gpu").await;
    assert_eq!(accepted.status, StatusCode::ACCEPTED);
    assert_eq!(azure.get_pool("gpu").await.body["properties"]["provisioningState"], "Deleting");
    let again = azure.delete_pool("gpu").await;
    assert_eq!(again.header("azure-asyncoperation"), accepted.header("azure-asyncoperation"), "joins the first");

    assert_eq!(azure.settle(&accepted).await["status"], "Succeeded");
    let missing = azure.get_pool("gpu").await;
    assert_eq!((missing.status, missing.code()), (StatusCode::NOT_FOUND, "NotFound"));
    assert!(missing.body["message"].as_str().unwrap().contains("Agent Pool not found"));
    assert_eq!(azure.delete_pool("gpu").await.status, StatusCode::NO_CONTENT);
    assert_eq!(azure.get(accepted.header("location")).await.status, StatusCode::NO_CONTENT);
}

#[tokio::test(start_paused = true)]
async fn names_are_one_to_twelve_lower_case_letters_and_digits_from_a_letter() {
    let azure = azure().await;
    for bad in ["1abc", "Abc", "a-b", "abcdefghijklm", "a_b", "%C3%A9"] {
        let reply = azure.put_pool(bad, one_gpu()).await;
        assert_eq!((reply.status, reply.code()), (StatusCode::BAD_REQUEST, "InvalidParameter"), "{bad}");
        assert_eq!(reply.body["target"], "agentPoolProfile.name");
    }
    assert_eq!(azure.put_pool("abcdefghijkl", one_gpu()).await.status, StatusCode::CREATED);
}

#[tokio::test(start_paused = true)]
async fn bad_bodies_are_refused_with_the_member_as_target_and_leave_nothing() {
    let azure = azure().await;
    let cases = [
        (json!({"count": 1}), "InvalidParameter", "vmSize"),
        (json!({"vmSize": "Standard_Nothing"}), "VMSizeNotSupported", "vmSize"),
        (json!({"vmSize": A100, "count": 1001}), "InvalidParameter", "count"),
        (json!({"vmSize": A100, "count": "one"}), "UnmarshalError", ""),
        (json!({"vmSize": A100, "nodeTaints": ["sku=gpu"]}), "InvalidParameter", "nodeTaints"),
        (json!({"vmSize": A100, "nodeLabels": {"a": "b c"}}), "InvalidParameter", "nodeLabels"),
        (
            json!({"vmSize": A100, "nodeLabels": {"kubernetes.azure.com/agentpool": "x"}}),
            "InvalidParameter",
            "nodeLabels",
        ),
        (json!({"vmSize": A100, "availabilityZones": ["4"]}), "AvailabilityZoneNotSupported", ""),
        (json!({"vmSize": "Standard_NC6s_v3", "availabilityZones": ["1"]}), "AvailabilityZoneNotSupported", ""),
        (json!({"vmSize": "Standard_NV6", "scaleSetPriority": "Spot"}), "InvalidParameter", "scaleSetPriority"),
        (json!({"vmSize": A100, "scaleSetEvictionPolicy": "Deallocate"}), "InvalidParameter", "scaleSetEvictionPolicy"),
        (
            json!({"vmSize": "Standard_NC4as_T4_v3", "gpuInstanceProfile": "MIG1g"}),
            "InvalidParameter",
            "gpuInstanceProfile",
        ),
        (json!({"vmSize": A100, "osDiskSizeGB": 10}), "InvalidParameter", "osDiskSizeGB"),
        (json!({"vmSize": A100, "osSKU": "Windows2022"}), "InvalidParameter", "osSKU"),
    ];
    for (properties, code, member) in cases {
        let reply = azure.put_pool("gpu", properties.clone()).await;
        assert_eq!((reply.status, reply.code()), (StatusCode::BAD_REQUEST, code), "{properties}");
        if !member.is_empty() {
            assert_eq!(reply.body["target"], format!("agentPoolProfile.{member}"));
        }
    }
    let path = format!("{POOLS}/gpu?{VERSION}");
    let bearer = format!("Bearer {}", azure.token);
    let broken = send(&azure.arm, Method::PUT, &path, &[("authorization", &bearer)], "{").await;
    assert_eq!((broken.status, broken.code()), (StatusCode::BAD_REQUEST, "InvalidRequestContent"));
    assert!(azure.arm.snapshot().pools.is_empty());
}

#[tokio::test(start_paused = true)]
async fn aks_errors_are_flat_and_arm_errors_are_enveloped_unless_told_otherwise() {
    let azure = azure().await;
    let aks = azure.put_pool("gpu", json!({"vmSize": "x"})).await.body;
    assert_eq!(
        (&aks["code"], &aks["details"], &aks["subcode"]),
        (&json!("VMSizeNotSupported"), &Value::Null, &json!(""))
    );
    let arm = azure.get(&format!("{POOLS}/gpu")).await;
    assert_eq!(arm.body["error"]["code"], "MissingApiVersionParameter");
    azure.arm.change(|options| options.enveloped_errors = true);
    assert_eq!(azure.put_pool("gpu", json!({"vmSize": "x"})).await.body["error"]["code"], "VMSizeNotSupported");
}

#[tokio::test(start_paused = true)]
async fn a_pool_can_be_scaled_and_relabelled_but_not_rebuilt() {
    let azure = azure().await;
    azure.running_pool("gpu", one_gpu()).await;
    let before = azure.get_pool("gpu").await.body["properties"]["eTag"].clone();
    for (member, value) in [
        ("vmSize", json!("Standard_NC6s_v3")),
        ("availabilityZones", json!(["1"])),
        ("osDiskSizeGB", json!(100)),
        ("scaleSetPriority", json!("Spot")),
        ("maxPods", json!(30)),
    ] {
        let reply = azure.put_pool("gpu", json!({member: value})).await;
        assert_eq!((reply.status, reply.code()), (StatusCode::BAD_REQUEST, "PropertyChangeNotAllowed"), "{member}");
        assert_eq!(reply.body["target"], format!("properties.{member}"));
    }
    let accepted =
        azure.put_pool("gpu", json!({"vmSize": A100.to_lowercase(), "count": 3, "nodeLabels": {"a": "b"}})).await;
    assert_eq!(
        (accepted.status, &accepted.body["properties"]["provisioningState"]),
        (StatusCode::OK, &json!("Scaling"))
    );
    assert_ne!(accepted.body["properties"]["eTag"], before);
    azure.settle(&accepted).await;
    assert_eq!(azure.joined().len(), 3);
    assert!(azure.joined().iter().all(|machine| machine.labels["a"] == "b"));
    assert_eq!(azure.joined()[0].accelerator_after, Some(Duration::ZERO), "a GPU that is there stays there");

    let accepted = azure.put_pool("gpu", json!({"count": 0})).await;
    azure.settle(&accepted).await;
    assert_eq!(azure.left().len(), 3);
    assert_eq!(azure.get_pool("gpu").await.body["properties"]["count"], 0);
}

#[tokio::test(start_paused = true)]
async fn lists_come_in_pages_with_next_links() {
    let azure = azure_with(|options| (options.limits.page, options.limits.operations) = (2, 10)).await;
    for name in ["a", "b", "c", "d", "e"] {
        azure.put_pool(name, json!({"vmSize": A100, "count": 0})).await;
    }
    let (mut next, mut names, mut pages) = (format!("{POOLS}?{VERSION}"), Vec::new(), 0);
    while !next.is_empty() {
        let page = azure.get(&next).await;
        names.extend(
            page.body["value"].as_array().unwrap().iter().map(|pool| pool["name"].as_str().unwrap().to_owned()),
        );
        next = page.body["nextLink"].as_str().unwrap_or_default().to_owned();
        pages += 1;
    }
    assert_eq!((names.join(""), pages), ("abcde".to_owned(), 3));
}

#[tokio::test(start_paused = true)]
async fn versions_scopes_and_parents_are_checked() {
    let azure = azure().await;
    let cases = [
        (format!("{POOLS}?api-version=2000-01-01"), 400, "NoRegisteredProviderFound"),
        (format!("{POOLS}?api-version="), 400, "MissingApiVersionParameter"),
        (format!("{}?{VERSION}", POOLS.replace("22222222-", "99999999-")), 404, "SubscriptionNotFound"),
        (
            format!("{}?{VERSION}", POOLS.replace("resourceGroups/world", "resourceGroups/other")),
            404,
            "ResourceGroupNotFound",
        ),
        (
            format!("{}?{VERSION}", POOLS.replace("managedClusters/world", "managedClusters/other")),
            404,
            "ResourceNotFound",
        ),
    ];
    for (path, status, code) in cases {
        let reply = azure.get(&path).await;
        assert_eq!((reply.status.as_u16(), reply.code()), (status, code), "{path}");
    }
    let orphan = format!("{}/gpu?{VERSION}", POOLS.replace("managedClusters/world", "managedClusters/other"));
    let reply = azure.call(Method::PUT, &orphan, &[], &json!({"properties": one_gpu()})).await;
    assert_eq!(reply.code(), "ParentResourceNotFound");
    let shouted = format!("{}?{VERSION}", POOLS.to_uppercase().replace("/SUBSCRIPTIONS", "/subscriptions"));
    assert_eq!(azure.get(&shouted).await.status, StatusCode::OK, "paths have no case");
}

#[tokio::test(start_paused = true)]
async fn the_system_pool_is_there_from_the_beginning_and_cannot_be_the_last_to_go() {
    let azure = azure_with(|options| options.system_pool = ArmOptions::default().system_pool).await;
    let machines = azure.joined();
    assert_eq!(machines.len(), 1);
    assert_eq!(machines[0].labels["kubernetes.azure.com/mode"], "system");
    assert_eq!(azure.delete_pool("nodepool1").await.status, StatusCode::BAD_REQUEST);
    let cluster = azure.get(&format!("{}?{VERSION}", POOLS.trim_end_matches("/agentPools"))).await;
    assert_eq!(cluster.body["properties"]["agentPoolProfiles"][0]["name"], "nodepool1");
    assert_eq!(cluster.body["properties"]["nodeResourceGroup"], "MC_world_world_eastus");
}

#[tokio::test(start_paused = true)]
async fn there_is_a_largest_number_of_pools() {
    let azure = azure_with(|options| (options.limits.pools, options.limits.operations) = (1, 10)).await;
    azure.running_pool("a", one_gpu()).await;
    assert_eq!(azure.put_pool("b", one_gpu()).await.status, StatusCode::BAD_REQUEST);
}
