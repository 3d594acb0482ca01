//! The two numbers a series of times is told by.

use std::time::Duration;

/// The middle: half of the series is not slower.
pub fn median(series: &[Duration]) -> f64 {
    percentile(series, 50)
}

/// In milliseconds, by nearest rank: a value that was really measured. An empty series has none, which is NaN.
pub fn percentile(series: &[Duration], percent: usize) -> f64 {
    let mut sorted = series.to_vec();
    sorted.sort();
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).map_or(f64::NAN, |time| milliseconds(*time))
}

pub fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{median, percentile};

    fn series(milliseconds: impl IntoIterator<Item = u64>) -> Vec<Duration> {
        milliseconds.into_iter().map(Duration::from_millis).collect()
    }

    #[test]
    fn order_and_outliers_do_not_move_the_median() {
        assert_eq!(median(&series([9, 1, 1000, 2, 3])), 3.0);
        assert_eq!(median(&series([4])), 4.0);
    }

    #[test]
    fn ninety_of_a_hundred_are_not_above_the_ninetieth_percentile() {
        assert_eq!(percentile(&series(1..=100), 90), 90.0);
        assert_eq!(percentile(&series(1..=40), 90), 36.0);
        assert!(percentile(&[], 90).is_nan());
    }
}
