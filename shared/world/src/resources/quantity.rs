//! Kubernetes quantities such as `1500m` and `2Gi`: read exactly, compared, and written in the server's canonical form.

use std::cmp::Ordering;

/// Which family of suffixes a quantity is written with; the server keeps it through canonicalisation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Decimal,
    Binary,
    Exponent,
}

/// An exact number of billionths, with the way it is written. Finer parts are rounded up, as the server does.
#[derive(Clone, Copy, Debug, Eq)]
pub struct Quantity {
    nano: i128,
    format: Format,
}

const NANO: i128 = 1_000_000_000;
const DECIMAL: [(&str, i32); 10] =
    [("n", -9), ("u", -6), ("m", -3), ("", 0), ("k", 3), ("M", 6), ("G", 9), ("T", 12), ("P", 15), ("E", 18)];
const BINARY: [(&str, u32); 6] = [("Ki", 10), ("Mi", 20), ("Gi", 30), ("Ti", 40), ("Pi", 50), ("Ei", 60)];

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.nano == other.nano
    }
}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Quantity {
    fn cmp(&self, other: &Self) -> Ordering {
        self.nano.cmp(&other.nano)
    }
}

impl Quantity {
    /// None when the text is not a quantity.
    pub fn parse(text: &str) -> Option<Quantity> {
        let (negative, unsigned) = match text.as_bytes().first()? {
            b'-' => (true, &text[1..]),
            b'+' => (false, &text[1..]),
            _ => (false, text),
        };
        let end = unsigned.find(|one: char| !one.is_ascii_digit() && one != '.').unwrap_or(unsigned.len());
        let (digits, suffix) = unsigned.split_at(end);
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
            return None;
        }
        let mantissa: i128 = format!("{whole}{fraction}").parse().ok()?;
        let mut places = i32::try_from(fraction.len()).ok()?;
        let mut nano = mantissa;
        let format = if let Some((_, bits)) = BINARY.iter().find(|(name, _)| *name == suffix) {
            nano = nano.checked_mul(1_i128.checked_shl(*bits)?)?;
            Format::Binary
        } else if let Some((_, power)) = DECIMAL.iter().find(|(name, _)| *name == suffix) {
            places -= power;
            Format::Decimal
        } else {
            let power: i32 = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
            places -= power;
            Format::Exponent
        };
        // Now the value is nano * 10^-places; bring it to billionths, rounding away from zero.
        let shift = 9 - places;
        nano = if shift >= 0 {
            nano.checked_mul(10_i128.checked_pow(shift.unsigned_abs())?)?
        } else {
            let divisor = 10_i128.checked_pow(shift.unsigned_abs())?;
            nano / divisor + i128::from(nano % divisor != 0)
        };
        Some(Quantity { nano: if negative { -nano } else { nano }, format })
    }

    pub fn sign(&self) -> i64 {
        i64::try_from(self.nano.signum()).unwrap_or_default()
    }

    /// Rounded up to a whole number, as `Value()` in Go.
    pub fn value(&self) -> i128 {
        self.nano.div_euclid(NANO) + i128::from(self.nano.rem_euclid(NANO) != 0)
    }

    pub fn is_whole(&self) -> bool {
        self.nano % NANO == 0
    }

    pub fn as_float(&self) -> f64 {
        self.nano as f64 / NANO as f64
    }

    pub fn plus(&self, other: &Quantity) -> Quantity {
        Quantity { nano: self.nano.saturating_add(other.nano), format: self.format }
    }

    pub fn minus(&self, other: &Quantity) -> Quantity {
        Quantity { nano: self.nano.saturating_sub(other.nano), format: self.format }
    }

    pub fn from_whole(number: i128) -> Quantity {
        Quantity { nano: number.saturating_mul(NANO), format: Format::Decimal }
    }

    /// The server's form: no fraction, the largest suffix that loses nothing.
    pub fn canonical(&self) -> String {
        if self.nano == 0 {
            return "0".to_owned();
        }
        // Below 1024 a binary quantity has no suffix of its own, and a fraction cannot be written with one.
        if self.format == Format::Binary && self.is_whole() && (self.nano / NANO).abs() >= 1024 {
            return self.canonical_binary();
        }
        let mut mantissa = self.nano;
        let mut power = -9;
        while mantissa % 1000 == 0 && power < 18 {
            mantissa /= 1000;
            power += 3;
        }
        if self.format == Format::Exponent {
            return if power == 0 { mantissa.to_string() } else { format!("{mantissa}e{power}") };
        }
        let suffix = DECIMAL.iter().find(|(_, known)| *known == power).map(|(name, _)| *name).unwrap_or_default();
        format!("{mantissa}{suffix}")
    }

    fn canonical_binary(&self) -> String {
        let mut mantissa = self.nano / NANO;
        let mut suffix = "";
        for (name, _) in BINARY {
            if mantissa % 1024 != 0 {
                break;
            }
            mantissa /= 1024;
            suffix = name;
        }
        format!("{mantissa}{suffix}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_written_in_canonical_form() {
        let cases = [
            ("1000m", "1"),
            ("0.5", "500m"),
            ("1.5", "1500m"),
            ("1.5Gi", "1536Mi"),
            ("1024Mi", "1Gi"),
            ("1000Mi", "1000Mi"),
            ("512", "512"),
            ("100k", "100k"),
            ("2000", "2k"),
            ("1e3", "1e3"),
            ("0", "0"),
            ("0Gi", "0"),
            ("-1.5Ki", "-1536"),
            ("0.5Ki", "512"),
            ("110", "110"),
            ("0.1n", "1n"),
            ("12345678901234567890", "12345678901234567890"),
        ];
        for (given, canonical) in cases {
            assert_eq!(Quantity::parse(given).map(|one| one.canonical()).as_deref(), Some(canonical), "{given}");
        }
    }

    #[test]
    fn what_is_no_quantity_is_refused() {
        for text in ["", "Gi", "1.2.3", "1 Gi", "abc", "1gi", "--1"] {
            assert_eq!(Quantity::parse(text), None, "{text}");
        }
    }

    #[test]
    fn quantities_compare_across_suffixes() {
        assert!(Quantity::parse("1Gi") > Quantity::parse("1G"));
        assert_eq!(Quantity::parse("1000m"), Quantity::parse("1"));
        assert_eq!(Quantity::parse("1500m").map(|one| one.value()), Some(2));
    }
}
