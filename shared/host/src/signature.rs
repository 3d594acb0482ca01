//! Standard Webhooks signatures: who sent this body, and when.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use hmac::{Hmac, KeyInit as _, Mac as _};
use http::HeaderMap;
use jiff::Timestamp;
use sha2::Sha256;

use crate::settings::Secret;

/// How far the sender's clock may be from ours, both ways. An exact replay inside it is answered again: functions
/// keep no state, and running twice is running once.
const TOLERANCE_SECONDS: i64 = 300;

/// Why a delivery is not believed. None of it helps to guess a signature.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unsigned {
    #[error("the delivery is not signed: the header {0} is missing")]
    Missing(&'static str),
    #[error("the header webhook-timestamp is not a number of seconds since 1970")]
    BadTimestamp,
    #[error(
        "the signature is {0} seconds {1} our clock, {TOLERANCE_SECONDS} are allowed: compare the clocks of sender and receiver"
    )]
    WrongTime(i64, &'static str),
    #[error("no signature matches: sender and receiver have different secrets, or the body was changed on its way")]
    NoMatch,
    #[error("a signature covers the body only, so binary mode is not accepted: send a structured CloudEvent")]
    Binary,
}

/// Any secret may have signed, any signature may match: that is how secrets are rotated.
pub fn verify(secrets: &[Secret], headers: &HeaderMap, body: &[u8], now: Timestamp) -> Result<(), Unsigned> {
    let header = |name: &'static str| {
        let value = headers.get(name).and_then(|value| value.to_str().ok());
        value.filter(|text| !text.is_empty()).ok_or(Unsigned::Missing(name))
    };
    let id = header("webhook-id")?;
    let timestamp = header("webhook-timestamp")?;
    let signatures = header("webhook-signature")?;
    let seconds: i64 = timestamp.parse().map_err(|_| Unsigned::BadTimestamp)?;
    let ahead = seconds.saturating_sub(now.as_second());
    if ahead > TOLERANCE_SECONDS {
        return Err(Unsigned::WrongTime(ahead, "ahead of"));
    }
    if ahead < -TOLERANCE_SECONDS {
        return Err(Unsigned::WrongTime(ahead.saturating_neg(), "behind"));
    }
    // Versions other than v1 are for other kinds of key; the list may hold several.
    let given = signatures.split(' ').filter_map(|signature| signature.strip_prefix("v1,"));
    let given: Vec<Vec<u8>> = given.filter_map(|text| BASE64_STANDARD.decode(text).ok()).collect();
    let matches = |secret: &Secret| given.iter().any(|signature| is_by(secret, id, timestamp, body, signature));
    if secrets.iter().any(matches) { Ok(()) } else { Err(Unsigned::NoMatch) }
}

/// The three headers of a signed delivery. Nothing but an impossible key makes it `None`.
pub fn sign(secret: &Secret, id: &str, body: &[u8], now: Timestamp) -> Option<[(&'static str, String); 3]> {
    let timestamp = now.as_second().to_string();
    let signature = BASE64_STANDARD.encode(authenticator(secret, id, &timestamp, body)?.finalize().into_bytes());
    Some([
        ("webhook-id", id.to_owned()),
        ("webhook-timestamp", timestamp),
        ("webhook-signature", format!("v1,{signature}")),
    ])
}

/// Compares in constant time.
fn is_by(secret: &Secret, id: &str, timestamp: &str, body: &[u8], signature: &[u8]) -> bool {
    authenticator(secret, id, timestamp, body).is_some_and(|mac| mac.verify_slice(signature).is_ok())
}

fn authenticator(secret: &Secret, id: &str, timestamp: &str, body: &[u8]) -> Option<Hmac<Sha256>> {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.bytes()).ok()?;
    for part in [id.as_bytes(), b".", timestamp.as_bytes(), b".", body] {
        mac.update(part);
    }
    Some(mac)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    // The example of the Standard Webhooks specification's reference libraries.
    const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    const ID: &str = "msg_p5jXN8AQM9LWM0D4loKWxJek";
    const AT: i64 = 1_614_265_330;
    const BODY: &[u8] = br#"{"test": 2432232314}"#;
    const SIGNATURE: &str = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";

    fn check(secrets: &str, timestamp: &str, signature: &str, body: &[u8], now: i64) -> Result<(), Unsigned> {
        let secrets: Vec<Secret> = secrets.split(' ').map(|text| Secret::parse(text).unwrap()).collect();
        let mut headers = HeaderMap::new();
        headers.insert("webhook-id", ID.parse().unwrap());
        headers.insert("webhook-timestamp", timestamp.parse().unwrap());
        headers.insert("webhook-signature", signature.parse().unwrap());
        verify(&secrets, &headers, body, Timestamp::from_second(now).unwrap())
    }

    #[test]
    fn the_specifications_own_example_is_accepted() {
        assert_eq!(check(SECRET, "1614265330", SIGNATURE, BODY, AT), Ok(()));
    }

    #[test]
    fn what_is_signed_here_is_the_specifications_example_and_is_believed() {
        let secret = Secret::parse(SECRET).unwrap();
        let signed = sign(&secret, ID, BODY, Timestamp::from_second(AT).unwrap()).unwrap();
        assert_eq!(signed.map(|(_, value)| value), [ID.to_owned(), AT.to_string(), SIGNATURE.to_owned()]);
    }

    #[test]
    fn any_of_several_secrets_and_signatures_may_match() {
        let two = format!("whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA {SECRET}");
        let list = format!("v1a,xyz v1,AAAA {SIGNATURE}");
        assert_eq!(check(&two, "1614265330", &list, BODY, AT), Ok(()));
    }

    #[test]
    fn the_clock_may_be_five_minutes_off_and_no_more() {
        for off in [-300, 300] {
            assert_eq!(check(SECRET, "1614265330", SIGNATURE, BODY, AT + off), Ok(()));
        }
        assert_eq!(check(SECRET, "1614265330", SIGNATURE, BODY, AT + 301), Err(Unsigned::WrongTime(301, "behind")));
        assert_eq!(check(SECRET, "1614265330", SIGNATURE, BODY, AT - 600), Err(Unsigned::WrongTime(600, "ahead of")));
        assert_eq!(check(SECRET, "soon", SIGNATURE, BODY, AT), Err(Unsigned::BadTimestamp));
        let far = i64::MIN.to_string();
        assert!(matches!(check(SECRET, &far, SIGNATURE, BODY, AT), Err(Unsigned::WrongTime(..))));
    }

    #[test]
    fn a_changed_body_or_another_secret_is_not_believed() {
        assert_eq!(check(SECRET, "1614265330", SIGNATURE, b"{}", AT), Err(Unsigned::NoMatch));
        let other = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
        assert_eq!(check(other, "1614265330", SIGNATURE, BODY, AT), Err(Unsigned::NoMatch));
        assert_eq!(check(SECRET, "1614265330", "g0hM9SsE", BODY, AT), Err(Unsigned::NoMatch));
    }
}
