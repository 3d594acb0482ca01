//! Money: what may be spent an hour, and what is spent, claim by claim.

use core::fmt;
use jiff::Timestamp;
use std::collections::BTreeMap;

use crate::{Price, Uid};

/// What must not be passed, an hour.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cap {
    pub millionths_per_hour: u64,
    /// Absent where any currency counts as it is written: nobody here knows rates of exchange.
    pub currency: Option<String>,
}

/// What a machine costs, and whose NodePool's it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub millionths_per_hour: u64,
    pub currency: String,
    pub pool: Option<String>,
    /// When it was allowed, the last time.
    pub at: Timestamp,
}

/// Who may have a machine, and what it costs at the most: written before the machine is asked for, and crossed out when a cloud's
/// own list has nothing of it any more.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Ledger(pub BTreeMap<Uid, Entry>);

impl Cap {
    /// `12.50`, or with a currency: `12.50 EUR`.
    pub fn read(text: &str) -> Result<Self, String> {
        let wrong = || {
            let shown: String = text.chars().take(40).collect();
            format!("{shown:?} is no amount of money an hour: write a number, as in '12.50' or '12.50 EUR'")
        };
        let mut words = text.split_whitespace();
        let (Some(number), currency, None) = (words.next(), words.next(), words.next()) else { return Err(wrong()) };
        let is_currency = |word: &str| word.len() == 3 && word.bytes().all(|byte| byte.is_ascii_alphabetic());
        if currency.is_some_and(|word| !is_currency(word)) {
            return Err(wrong());
        }
        let millionths_per_hour = millionths(number).ok_or_else(wrong)?;
        Ok(Cap { millionths_per_hour, currency: currency.map(str::to_ascii_uppercase) })
    }
}

/// Exact: digits, and at most six behind the point.
fn millionths(number: &str) -> Option<u64> {
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let well_formed = digits(whole) && part.len() <= 6 && (digits(part) || !number.contains('.'));
    let part: u64 = format!("{part:0<6}").parse().ok().filter(|_| well_formed)?;
    whole.parse::<u64>().ok()?.checked_mul(1_000_000)?.checked_add(part)
}

/// `12.5 EUR/h`.
impl fmt::Display for Cap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let currency = self.currency.as_deref().map(|word| format!(" {word}")).unwrap_or_default();
        write!(f, "{}{currency}/h", amount(self.millionths_per_hour))
    }
}

/// Exact, without needless zeros: `0.7875`.
pub fn amount(millionths: u64) -> String {
    let digits = format!("{:06}", millionths % 1_000_000);
    let digits = digits.trim_end_matches('0');
    let point = if digits.is_empty() { "" } else { "." };
    format!("{}{point}{digits}", millionths / 1_000_000)
}

impl Entry {
    pub fn new(price: &Price, pool: Option<String>, at: Timestamp) -> Self {
        Entry { millionths_per_hour: price.millionths_per_hour, currency: price.currency.clone(), pool, at }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, shown: Option<&str>) {
        assert_eq!(Cap::read(text).ok().map(|cap| cap.to_string()).as_deref(), shown, "{text:?}");
    }

    #[test]
    fn a_cap_is_a_number_with_or_without_its_currency() {
        check("12.50", Some("12.5/h"));
        check(" 3 eur ", Some("3 EUR/h"));
        check("0", Some("0/h"));
        check("0.000001 USD", Some("0.000001 USD/h"));
    }

    #[test]
    fn what_is_no_number_is_no_cap() {
        for bad in ["", "free", "-1", "1,5", "1.", ".5", "1e3", "0x10", "1.0000001", "1 EUR/h", "1 E", "1 EUR a"] {
            check(bad, None);
        }
        check("99999999999999999999", None);
        check("18446744073710", None);
    }
}
