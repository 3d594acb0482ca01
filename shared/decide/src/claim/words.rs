//! How things are said to people.

use jiff::SignedDuration;
use model::{Attempt, Offering, Price};

/// `Standard_NC24ads_A100_v4 in westeurope-1, on-demand, 3.673 USD/h`.
pub fn offering(offering: &Offering) -> String {
    let id = &offering.id;
    let zone = id.zone.as_deref().map(|zone| format!(" in {zone}")).unwrap_or_default();
    let price = offering.price.as_ref().map(|found| format!(", {}", price(found))).unwrap_or_default();
    format!("{}{zone}, {}{price}", id.instance_type, id.capacity_type.as_str())
}

/// Exact, without needless zeros.
pub fn price(price: &Price) -> String {
    let (whole, rest) = (price.millionths_per_hour / 1_000_000, price.millionths_per_hour % 1_000_000);
    let digits = format!("{rest:06}");
    let digits = digits.trim_end_matches('0');
    let point = if digits.is_empty() { "" } else { "." };
    format!("{whole}{point}{digits} {}/h", price.currency)
}

/// `15 min`, `40 s`.
pub fn time(duration: SignedDuration) -> String {
    match duration.as_secs() {
        seconds if seconds >= 60 && seconds % 60 == 0 => format!("{} min", seconds / 60),
        seconds => format!("{seconds} s"),
    }
}

/// What was tried, the latest first: it is the one that people ask about.
pub fn chain(tried: &[Attempt]) -> String {
    let shown: Vec<String> =
        tried.iter().rev().take(3).map(|attempt| format!("{}: {}", attempt.offering, attempt.reason)).collect();
    let more = tried.len().saturating_sub(shown.len());
    let more = if more > 0 { format!(", and {more} before") } else { String::new() };
    format!("tried {}{more}", shown.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;

    #[test]
    fn money_is_exact() {
        let shown = |millionths_per_hour| {
            price(&Price { millionths_per_hour, currency: "EUR".into(), as_of: date(2026, 7, 30) })
        };
        assert_eq!([shown(787_500), shown(3_000_000), shown(0)], ["0.7875 EUR/h", "3 EUR/h", "0 EUR/h"]);
    }

    #[test]
    fn times_are_said_in_the_unit_that_fits() {
        assert_eq!(time(SignedDuration::from_secs(900)), "15 min");
        assert_eq!(time(SignedDuration::from_secs(90)), "90 s");
    }
}
