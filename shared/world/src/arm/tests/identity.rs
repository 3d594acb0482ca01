//! Signing in: every way in, every way to be turned away.

use super::*;
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};

const SCOPE: &str = "https%3A%2F%2Fmanagement.azure.com%2F.default";
const ASSERTION_TYPE: &str = "urn%3Aietf%3Aparams%3Aoauth%3Aclient-assertion-type%3Ajwt-bearer";

async fn ask(azure: &Azure, tenant: &str, form: &str) -> Reply {
    send(&azure.arm, Method::POST, &format!("/{tenant}/oauth2/v2.0/token"), &[], form).await
}

fn kubernetes_token(claims: &Value) -> String {
    format!("e30.{}.sig", URL_SAFE_NO_PAD.encode(claims.to_string()))
}

async fn exchange(azure: &Azure, claims: &Value) -> Reply {
    let assertion = kubernetes_token(claims);
    let form = format!(
        "client_id={CLIENT}&grant_type=client_credentials&scope={SCOPE}&client_assertion_type={ASSERTION_TYPE}&client_assertion={assertion}"
    );
    ask(azure, TENANT, &form).await
}

async fn list_with(azure: &Azure, token: &str) -> Reply {
    let path = format!("{POOLS}?{VERSION}");
    send(&azure.arm, Method::GET, &path, &[("authorization", &format!("Bearer {token}"))], "").await
}

#[tokio::test(start_paused = true)]
async fn a_client_secret_buys_a_token_that_opens_arm() {
    let azure = azure().await;
    let form = format!("client_id={CLIENT}&client_secret=world-secret&grant_type=client_credentials&scope={SCOPE}");
    let reply = ask(&azure, TENANT, &form).await;
    assert_eq!((&reply.body["token_type"], &reply.body["expires_in"]), (&json!("Bearer"), &json!(3599)));
    let token = reply.body["access_token"].as_str().unwrap();
    assert_eq!(token.split('.').count(), 3);
    assert_eq!(list_with(&azure, token).await.status, StatusCode::OK);
}

#[tokio::test(start_paused = true)]
async fn bad_sign_ins_get_the_numbers_entra_gives() {
    let azure = azure().await;
    let good = format!("client_id={CLIENT}&client_secret=world-secret&grant_type=client_credentials&scope={SCOPE}");
    let cases = [
        ("other-tenant", good.clone(), 400, "invalid_request", 90_002),
        (TENANT, good.replace("world-secret", "wrong"), 401, "invalid_client", 7_000_215),
        (TENANT, good.replace("33333333-", "55555555-"), 400, "unauthorized_client", 700_016),
        (TENANT, good.replace("client_credentials", "password"), 400, "unsupported_grant_type", 70_003),
        (TENANT, good.replace("%2F.default", ""), 400, "invalid_scope", 1_002_012),
        (TENANT, good.replace("client_secret", "x"), 401, "invalid_client", 7_000_218),
        (TENANT, good.replace("client_id", "x"), 400, "invalid_request", 900_144),
    ];
    for (tenant, form, status, error, number) in cases {
        let reply = ask(&azure, tenant, &form).await;
        assert_eq!((reply.status.as_u16(), &reply.body["error"]), (status, &json!(error)), "{form}");
        assert_eq!(reply.body["error_codes"], json!([number]));
        assert!(reply.body["error_description"].as_str().unwrap().starts_with(&format!("AADSTS{number}:")));
        assert!(!reply.body.to_string().contains("world-secret"), "no secret in an error");
    }
}

#[tokio::test(start_paused = true)]
async fn a_kubernetes_token_is_exchanged_if_issuer_subject_and_audience_match() {
    let subject = "system:serviceaccount:gpu-provisioner:gpu-provisioner";
    let azure = azure_with(|options| {
        options.identities[0].federated =
            vec![Federated { issuer: Some("https://oidc".into()), subject: Some(subject.into()) }];
    })
    .await;
    let claims = json!({"iss": "https://oidc", "sub": subject, "aud": ["api://AzureADTokenExchange"], "exp": i64::MAX});
    let reply = exchange(&azure, &claims).await;
    assert_eq!(reply.status, StatusCode::OK, "{}", reply.body);
    assert_eq!(list_with(&azure, reply.body["access_token"].as_str().unwrap()).await.status, StatusCode::OK);

    for (member, value, number) in [
        ("sub", json!("system:serviceaccount:other:other"), 700_213),
        ("iss", json!("https://other"), 700_213),
        ("aud", json!("https://kubernetes.default.svc"), 700_212),
        ("exp", json!(1), 700_024),
    ] {
        let mut claims = claims.clone();
        claims[member] = value;
        let reply = exchange(&azure, &claims).await;
        assert_eq!(
            (reply.status, &reply.body["error_codes"]),
            (StatusCode::UNAUTHORIZED, &json!([number])),
            "{member}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn managed_identity_answers_on_the_metadata_and_app_service_endpoints() {
    let azure = azure().await;
    let imds = "/metadata/identity/oauth2/token?api-version=2018-02-01&resource=https%3A%2F%2Fmanagement.azure.com";
    assert_eq!(send(&azure.arm, Method::GET, imds, &[], "").await.status, StatusCode::BAD_REQUEST, "header missing");
    let reply = send(&azure.arm, Method::GET, imds, &[("metadata", "true")], "").await;
    assert!(reply.body["expires_on"].is_string() && reply.body["expires_in"].is_string());
    assert_eq!(list_with(&azure, reply.body["access_token"].as_str().unwrap()).await.status, StatusCode::OK);
    let stranger =
        send(&azure.arm, Method::GET, &format!("{imds}&client_id=nobody"), &[("metadata", "true")], "").await;
    assert_eq!(stranger.body["error_description"], "Identity not found");

    let app = "/msi/token?api-version=2019-08-01&resource=https%3A%2F%2Fmanagement.azure.com";
    assert_eq!(send(&azure.arm, Method::GET, app, &[], "").await.status, StatusCode::UNAUTHORIZED);
    let reply = send(&azure.arm, Method::GET, app, &[("x-identity-header", "world-identity-header")], "").await;
    assert_eq!(list_with(&azure, reply.body["access_token"].as_str().unwrap()).await.status, StatusCode::OK);
}

#[tokio::test(start_paused = true)]
async fn arm_tells_missing_wrong_expired_and_foreign_tokens_apart() {
    let azure = azure().await;
    let nothing = send(&azure.arm, Method::GET, &format!("{POOLS}?{VERSION}"), &[], "").await;
    assert_eq!((nothing.status, nothing.code()), (StatusCode::UNAUTHORIZED, "AuthenticationFailed"));
    assert!(nothing.header("www-authenticate").starts_with("Bearer authorization_uri="));
    assert_eq!(list_with(&azure, "nonsense").await.code(), "InvalidAuthenticationToken");

    let form = format!(
        "client_id={CLIENT}&client_secret=world-secret&grant_type=client_credentials&scope=https%3A%2F%2Fvault.azure.net%2F.default"
    );
    let vault = ask(&azure, TENANT, &form).await.body["access_token"].as_str().unwrap().to_owned();
    assert_eq!(list_with(&azure, &vault).await.code(), "InvalidAuthenticationTokenAudience");

    azure.clock.sleep(Duration::from_secs(3600)).await;
    let expired = list_with(&azure, &azure.token).await;
    assert_eq!((expired.status, expired.code()), (StatusCode::UNAUTHORIZED, "ExpiredAuthenticationToken"));
}

#[tokio::test(start_paused = true)]
async fn a_revoked_client_is_turned_away_at_once() {
    let azure = azure().await;
    azure.arm.revoke_tokens(CLIENT);
    assert_eq!(list_with(&azure, &azure.token).await.code(), "InvalidAuthenticationToken");
}

#[tokio::test(start_paused = true)]
async fn single_actions_can_be_forbidden_and_nothing_happens_then() {
    let azure = azure().await;
    let action = "Microsoft.ContainerService/managedClusters/agentPools/write";
    azure.arm.change(|options| {
        options.denied_actions.insert(action.into());
    });
    let refused = azure.put_pool("gpu", one_gpu()).await;
    assert_eq!((refused.status, refused.code()), (StatusCode::FORBIDDEN, "AuthorizationFailed"));
    assert!(refused.body["error"]["message"].as_str().unwrap().contains(action));
    assert_eq!(azure.get_pool("gpu").await.status, StatusCode::NOT_FOUND, "reading is allowed");
    assert!(azure.arm.snapshot().pools.is_empty());
}

#[tokio::test(start_paused = true)]
async fn discovery_documents_point_back_to_this_address() {
    let azure = azure().await;
    let openid = format!("/{TENANT}/v2.0/.well-known/openid-configuration");
    let reply = send(&azure.arm, Method::GET, &openid, &[], "").await;
    assert_eq!(reply.body["token_endpoint"], format!("http://azure.test/{TENANT}/oauth2/v2.0/token"));
    let reply = send(&azure.arm, Method::GET, "/common/discovery/instance?api-version=1.1", &[], "").await;
    assert_eq!(reply.body["metadata"][0]["aliases"], json!(["azure.test"]));
}

#[tokio::test(start_paused = true)]
async fn clients_on_another_clock_can_be_told_other_times() {
    let azure = azure_with(|options| {
        options.tokens.client_clock_ahead = 1_000_000;
        options.tokens.told_life = Some(Duration::from_secs(60));
    })
    .await;
    let imds = "/metadata/identity/oauth2/token?resource=https%3A%2F%2Fmanagement.azure.com";
    let reply = send(&azure.arm, Method::GET, imds, &[("metadata", "true")], "").await;
    let expires: i64 = reply.body["expires_on"].as_str().unwrap().parse().unwrap();
    assert_eq!(expires, crate::clock::BEGINNING.as_second() + 1_000_000 + 60);
}
