//! AWS Lambda: signatures that AWS' own vectors and an independent check agree with, and every way an invocation can end.

use aws_credential_types::Credentials;
use bytes::Bytes;
use forwarder::{
    Settings,
    event::Letter,
    sink::{Told, signed},
    sinks,
};
use hmac::{Hmac, KeyInit as _, Mac as _};
use host::{Admission, SettingSource, Site, Unread};
use http::{Request, Response, request::Parts};
use jiff::Timestamp;
use model::Answer;
use sha2::{Digest as _, Sha256};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::time::Instant;

/// A request that arrived at a double.
#[derive(Debug, Clone)]
pub struct Arrived {
    pub method: String,
    pub path: String,
    pub headers: BTreeMap<String, String>,
    pub body: Bytes,
}

/// A server on loopback that answers everything in the same way, or by path.
#[derive(Clone)]
pub struct Double {
    pub url: String,
    arrived: Arc<Mutex<Vec<Arrived>>>,
    by_path: Arc<BTreeMap<String, Fixed>>,
}

/// Status, headers and body of an answer.
type Fixed = (u16, Vec<(String, String)>, String);
/// The same as a test writes it, with the beginning of the path it is for.
type Written<'a> = (&'a str, u16, &'a [(&'a str, &'a str)], &'a str);

impl Double {
    pub async fn start(status: u16, headers: &[(&str, &str)], body: &str) -> Self {
        Double::by_path(&[("", status, headers, body)]).await
    }

    pub async fn by_path(answers: &[Written<'_>]) -> Self {
        let listening = host::listen(Some("127.0.0.1".parse().unwrap()), 0).await.unwrap();
        let own = |headers: &[(&str, &str)]| {
            headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect::<Vec<_>>()
        };
        let by_path = answers
            .iter()
            .map(|(path, status, headers, body)| ((*path).to_owned(), (*status, own(headers), (*body).to_owned())));
        let double = Double {
            url: format!("http://{}", listening.address().unwrap()),
            arrived: Arc::default(),
            by_path: Arc::new(by_path.collect()),
        };
        tokio::spawn(listening.serve(double.clone(), std::future::pending()));
        double
    }

    pub fn requests(&self) -> Vec<Arrived> {
        self.arrived.lock().unwrap().clone()
    }
}

impl Site for Double {
    fn admit(&self, _: &Parts) -> Admission {
        Admission::Read { most: 1 << 20 }
    }

    async fn accept(&self, head: Parts, body: Bytes, _: Instant) -> Response<Bytes> {
        let text = |value: &http::HeaderValue| value.to_str().unwrap().to_owned();
        let headers = head.headers.iter().map(|(name, value)| (name.to_string(), text(value))).collect();
        let path = head.uri.path_and_query().unwrap().to_string();
        let (method, path) = (head.method.to_string(), path);
        self.arrived.lock().unwrap().push(Arrived { method, path: path.clone(), headers, body });
        let answer = self.by_path.iter().rev().find(|(begin, _)| path.starts_with(begin.as_str()));
        let (status, headers, body) = answer.map(|(_, answer)| answer.clone()).unwrap();
        let mut response = Response::builder().status(status);
        for (name, value) in headers {
            response = response.header(name, value);
        }
        response.body(Bytes::from(body)).unwrap()
    }

    fn unread(&self, _: &Parts, _: Unread) -> Response<Bytes> {
        Response::new(Bytes::new())
    }
}

const KEY: &str = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";

/// AWS' published suite: get-vanilla, get-vanilla-query-order-key-case and post-sts-header-before.
#[test]
fn signatures_are_those_of_the_published_suite() {
    const TOKEN: &str = "AQoDYXdzEPT//////////wEXAMPLEtc764bNrC9SAPBSM22wDOk4x4HIZ8j4FZTwdQWLWsKWHGBuFqwAeMicRXmxfpSPfIeoIYRqTflfKD8YUuwthAx7mSEI/qkPpKPi/kMcGdQrmGdeehM4IC1NtBmUpp2wUE8phUZampKsburEDy0KPkyQDYwT7WZ0wq5VSXDvp75YU9HFvlRd8Tx6q6fE8YQcHNVXAkiY9q6d+xo0rKwT38xVqr7ZD0u0iPPkUL64lIZbqBAz+scqKmlzm8FDrypNC9Yjc8fPOLn9FX9KSYvKTr4rvx3iSIlTJabIQwj2ICCR/oLxBA==";
    for (method, path, token, signature) in [
        ("GET", "/", None, "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
        (
            "GET",
            "/?Param2=value2&Param1=value1",
            None,
            "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500",
        ),
        ("POST", "/", Some(TOKEN), "85d96828115b5dc0cfc3bd16ad9e210dd772bbebba041836c64533a82be05ead"),
    ] {
        let request = Request::builder().method(method).uri(format!("https://example.amazonaws.com{path}"));
        let request = request.body(Bytes::new()).unwrap();
        let credentials = Credentials::from_keys("AKIDEXAMPLE", KEY, token.map(str::to_owned));
        let now: Timestamp = "2015-08-30T12:36:00Z".parse().unwrap();
        let signed = signed(request, credentials, "us-east-1", "service", now).unwrap();
        let found = signed.headers()["authorization"].to_str().unwrap();
        assert!(found.ends_with(&format!("Signature={signature}")), "{method} {path}: {found}");
    }
}

fn letter() -> Letter {
    Letter { id: "u/1".to_owned(), subject: "gpu-1".to_owned(), text: r#"{"specversion":"1.0"}"#.to_owned() }
}

const ARN: &str = "arn:aws:lambda:eu-west-1:123456789012:function:{function}";

async fn invoke(double: &Double, more: &[(&str, &str)]) -> Told {
    let usual =
        [("PILOTLIGHT_ALLOW_UNSIGNED", "true"), ("PILOTLIGHT_SINK", ARN), ("AWS_ENDPOINT_URL", double.url.as_str())];
    let source = SettingSource::from_pairs(usual.into_iter().chain(more.iter().copied()));
    let (_, _, told) = Settings::read_with_sinks(source).unwrap();
    let sinks = sinks(told, Arc::new(Timestamp::now));
    sinks.of("on-delete").unwrap().deliver("on-delete", &letter()).await
}

const KEYS: [(&str, &str); 3] =
    [("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE"), ("AWS_SECRET_ACCESS_KEY", KEY), ("AWS_SESSION_TOKEN", "a-token")];

const ANSWER: &str = r#"{"outcome":"later","reason":"soon","retryAfterSeconds":3}"#;

#[tokio::test]
async fn an_invocation_is_signed_and_its_answer_is_the_functions() {
    let double = Double::start(200, &[], ANSWER).await;
    let later = Answer::Later { reason: "soon".to_owned(), after: Duration::from_secs(3) };
    assert_eq!(invoke(&double, &KEYS).await, Told::Answered(later));
    let request = double.requests().pop().unwrap();
    assert_eq!(
        request.path,
        "/2015-03-31/functions/arn%3Aaws%3Alambda%3Aeu-west-1%3A123456789012%3Afunction%3Aon-delete/invocations"
    );
    assert_eq!(request.headers["x-amz-invocation-type"], "RequestResponse");
    assert_eq!(request.headers["x-amz-security-token"], "a-token");
    assert_eq!(&request.body[..], letter().text.as_bytes());
    assert_eq!(request.headers["authorization"], authorization(&request, "eu-west-1", "lambda"));
}

#[tokio::test]
async fn an_event_invocation_is_taken_without_an_answer() {
    let double = Double::start(202, &[], "").await;
    let more: Vec<_> = KEYS.into_iter().chain([("PILOTLIGHT_LAMBDA_INVOCATION", "Event")]).collect();
    assert_eq!(invoke(&double, &more).await, Told::Accepted);
    assert_eq!(double.requests().pop().unwrap().headers["x-amz-invocation-type"], "Event");
}

#[tokio::test]
async fn however_a_failure_is_said_it_is_a_failure() {
    let error = r#"{"errorType":"Failed","errorMessage":"no capacity"}"#;
    for (status, headers, body, expected) in [
        (200, &[("x-amz-function-error", "Unhandled")][..], error, "the function failed: no capacity"),
        (200, &[][..], error, "the function failed: no capacity"),
        (500, &[][..], error, "the function failed: no capacity"),
        (429, &[][..], r#"{"Message":"Rate exceeded"}"#, "Lambda answers 429: Rate exceeded"),
        (403, &[][..], r#"{"Message":"not authorized"}"#, "is lambda:InvokeFunction allowed? not authorized"),
        (404, &[][..], r#"{"Message":"Function not found"}"#, "Lambda answers 404: Function not found"),
    ] {
        let double = Double::start(status, headers, body).await;
        let Told::Unheard { why, .. } = invoke(&double, &KEYS).await else { panic!("{status} {body}") };
        assert!(why.contains(expected), "{why}");
    }
}

#[tokio::test]
async fn credentials_come_from_a_role_or_a_container_and_are_kept() {
    let folder = std::env::temp_dir().join(format!("forwarder-aws-{}", std::process::id()));
    std::fs::write(&folder, "a.web.token\n").unwrap();
    let file = folder.to_str().unwrap().to_owned();
    let sts = "<R><Credentials><AccessKeyId>AKIDEXAMPLE</AccessKeyId><SecretAccessKey>wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY\
        </SecretAccessKey><SessionToken>from-sts</SessionToken><Expiration>2999-01-01T00:00:00Z</Expiration></Credentials></R>";
    let container = format!(
        r#"{{"AccessKeyId":"AKIDEXAMPLE","SecretAccessKey":"{KEY}","Token":"from-container","Expiration":"2999-01-01T00:00:00Z"}}"#
    );
    let double = Double::by_path(&[
        ("/", 200, &[], sts),
        ("/2015-03-31", 200, &[], ANSWER),
        ("/container", 200, &[], &container),
    ])
    .await;
    let role = [("AWS_ROLE_ARN", "arn:aws:iam::1:role/forwarder"), ("AWS_WEB_IDENTITY_TOKEN_FILE", file.as_str())];
    assert!(matches!(invoke(&double, &role).await, Told::Answered(Answer::Later { .. })));
    let requests = double.requests();
    assert_eq!((requests[0].method.as_str(), requests[0].path.as_str()), ("POST", "/"));
    assert!(String::from_utf8_lossy(&requests[0].body).contains("WebIdentityToken=a.web.token"));
    assert_eq!(requests[1].headers["x-amz-security-token"], "from-sts");
    let uri = format!("{}/container", double.url);
    let pod = [
        ("AWS_CONTAINER_CREDENTIALS_FULL_URI", uri.as_str()),
        ("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", file.as_str()),
    ];
    assert!(matches!(invoke(&double, &pod).await, Told::Answered(Answer::Later { .. })));
    let requests = double.requests();
    assert_eq!(requests[2].headers["authorization"], "a.web.token");
    assert_eq!(requests[3].headers["x-amz-security-token"], "from-container");
    std::fs::remove_file(folder).unwrap();
    let Told::Unheard { why, .. } = invoke(&double, &[]).await else { panic!("nobody") };
    assert!(why.contains("AWS_ACCESS_KEY_ID"), "{why}");
}

/// The signature, computed by the book from what arrived.
fn authorization(request: &Arrived, region: &str, service: &str) -> String {
    let given = &request.headers["authorization"];
    let names = given.split("SignedHeaders=").nth(1).unwrap().split(',').next().unwrap();
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let sha = |bytes: &[u8]| hex(&Sha256::digest(bytes));
    let lines: String = names.split(';').map(|name| format!("{name}:{}\n", request.headers[name].trim())).collect();
    // Each segment is encoded once more.
    let path = request.path.replace('%', "%25");
    let canonical = format!("{}\n{path}\n\n{lines}\n{names}\n{}", request.method, sha(&request.body));
    let time = &request.headers["x-amz-date"];
    let scope = format!("{}/{region}/{service}/aws4_request", &time[..8]);
    let to_sign = format!("AWS4-HMAC-SHA256\n{time}\n{scope}\n{}", sha(canonical.as_bytes()));
    let mac = |key: &[u8], text: &str| {
        let mut mac = Hmac::<Sha256>::new_from_slice(key).unwrap();
        mac.update(text.as_bytes());
        mac.finalize().into_bytes().to_vec()
    };
    let key = ["aws4_request"]
        .iter()
        .fold(mac(&mac(&mac(format!("AWS4{KEY}").as_bytes(), &time[..8]), region), service), |key, word| {
            mac(&key, word)
        });
    let signature = hex(&mac(&key, &to_sign));
    format!("AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/{scope}, SignedHeaders={names}, Signature={signature}")
}
