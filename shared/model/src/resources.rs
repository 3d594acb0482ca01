//! Amounts of things: `cpu`, `memory`, `nvidia.com/gpu`. Exact integers, never floating point.

use core::{fmt, str::FromStr};

use crate::Few;

/// Resource name to amount, in a stable order.
pub type Resources = Few<Quantity>;

/// An amount in thousandths, as Kubernetes writes it (`500m`, `16Gi`, `1e3`).
///
/// Finer than a thousandth is rounded up, as the scheduler does: a request never shrinks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Quantity {
    thousandths: i128,
}

/// Why a text is not an amount.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a quantity: a number that is not negative with an optional unit, as in '2', '500m' or '16Gi'")]
pub struct InvalidQuantity(String);

impl Quantity {
    pub fn from_thousandths(thousandths: i128) -> Self {
        Quantity { thousandths }
    }

    pub fn thousandths(self) -> i128 {
        self.thousandths
    }
}

impl FromStr for Quantity {
    type Err = InvalidQuantity;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse(text).map(Quantity::from_thousandths).ok_or_else(|| InvalidQuantity(text.chars().take(40).collect()))
    }
}

/// `digits[.digits][unit | e exponent]` as a fraction `number / 10^decimals * factor`, rounded up.
fn parse(text: &str) -> Option<i128> {
    let text = text.strip_prefix('+').unwrap_or(text);
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') || whole.len() + fraction.len() > 18 {
        return None;
    }
    let digits: i128 = format!("{whole}{fraction}").parse().ok()?;
    let (multiply, divide) = factor(unit)?;
    let scale = 10_i128.checked_pow(u32::try_from(fraction.len()).ok()?)?.checked_mul(divide)?;
    let thousandths = digits.checked_mul(1000)?.checked_mul(multiply)?;
    Some(thousandths / scale + i128::from(thousandths % scale != 0))
}

/// The unit as multiplier and divisor.
fn factor(unit: &str) -> Option<(i128, i128)> {
    let thousand = |power| Some((1000_i128.pow(power), 1));
    let binary = |power| Some((1024_i128.pow(power), 1));
    match unit {
        "" => Some((1, 1)),
        "n" => Some((1, 1_000_000_000)),
        "u" => Some((1, 1_000_000)),
        "m" => Some((1, 1000)),
        "k" => thousand(1),
        "M" => thousand(2),
        "G" => thousand(3),
        "T" => thousand(4),
        "P" => thousand(5),
        "E" => thousand(6),
        "Ki" => binary(1),
        "Mi" => binary(2),
        "Gi" => binary(3),
        "Ti" => binary(4),
        "Pi" => binary(5),
        "Ei" => binary(6),
        _ => {
            let exponent: i32 = unit.strip_prefix(['e', 'E'])?.parse().ok()?;
            let power = 10_i128.checked_pow(exponent.unsigned_abs().min(18))?;
            match exponent {
                -18..=-1 => Some((1, power)),
                0..=18 => Some((power, 1)),
                _ => None,
            }
        }
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.thousandths % 1000 != 0 {
            return write!(f, "{}m", self.thousandths);
        }
        let whole = self.thousandths / 1000;
        let units = [(1_i128 << 40, "Ti"), (1 << 30, "Gi"), (1 << 20, "Mi"), (1 << 10, "Ki")];
        match units.into_iter().find(|(size, _)| whole != 0 && whole % size == 0) {
            Some((size, unit)) => write!(f, "{}{unit}", whole / size),
            None => write!(f, "{whole}"),
        }
    }
}

#[cfg(test)]
#[allow(clippy::panic)]
mod tests {
    use super::*;

    fn check(text: &str, thousandths: i128, shown: &str) {
        let quantity: Quantity = text.parse().unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((quantity.thousandths(), quantity.to_string().as_str()), (thousandths, shown), "{text}");
        assert_eq!(shown.parse(), Ok(quantity), "{text} shown as {shown}");
    }

    #[test]
    fn every_notation_of_kubernetes_is_exact() {
        check("0", 0, "0");
        check("2", 2_000, "2");
        check("500m", 500, "500m");
        check("0.5", 500, "500m");
        check("1.5Gi", 1_610_612_736_000, "1536Mi");
        check("16Gi", 17_179_869_184_000, "16Gi");
        check("1k", 1_000_000, "1000");
        check("1e3", 1_000_000, "1000");
        check("12E-1", 1_200, "1200m");
        check("1Ei", 1_152_921_504_606_846_976_000, "1048576Ti");
        check("100M", 100_000_000_000, "100000000");
    }

    #[test]
    fn what_is_finer_than_a_thousandth_is_rounded_up() {
        check("1n", 1, "1m");
        check("1500u", 2, "2m");
        check("0.0001", 1, "1m");
    }

    #[test]
    fn anything_else_is_an_error_and_never_a_panic() {
        for bad in ["", ".", "-1", "1 Gi", "1Gib", "1x", "one", "1e", "1e99", "1.2.3", "99999999999999999999", "Gi"] {
            assert!(bad.parse::<Quantity>().is_err(), "{bad}");
        }
    }
}
