//! What was measured, whether it is good enough, and how it is shown to people and to programs.

use serde::Serialize;

use crate::Result;

/// One row. `goal` and `holds` are absent together: not everything measured is promised.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Measurement {
    pub name: String,
    pub value: f64,
    pub unit: &'static str,
    pub goal: Option<f64>,
    pub holds: Option<bool>,
    /// How the goal is read by people; programs read `holds`.
    #[serde(skip)]
    sign: char,
}

impl Measurement {
    /// Measured for its own sake, or as a yardstick.
    pub fn new(name: impl Into<String>, value: f64, unit: &'static str) -> Measurement {
        Measurement { name: name.into(), value: rounded(value), unit, goal: None, holds: None, sign: ' ' }
    }

    /// Promised: holds if it is not greater than the goal. Judged before rounding.
    pub fn at_most(name: impl Into<String>, value: f64, unit: &'static str, goal: f64) -> Measurement {
        Measurement { goal: Some(goal), holds: Some(value <= goal), sign: '≤', ..Measurement::new(name, value, unit) }
    }

    /// Promised: holds if it is not less than the goal.
    pub fn at_least(name: impl Into<String>, value: f64, unit: &'static str, goal: f64) -> Measurement {
        Measurement { goal: Some(goal), holds: Some(value >= goal), sign: '≥', ..Measurement::new(name, value, unit) }
    }
}

/// How many promised values are not reached.
pub fn missed(measurements: &[Measurement]) -> usize {
    measurements.iter().filter(|measurement| measurement.holds == Some(false)).count()
}

pub fn as_json(measurements: &[Measurement]) -> Result<String> {
    Ok(serde_json::to_string_pretty(measurements)? + "\n")
}

pub fn as_table(measurements: &[Measurement]) -> String {
    let head = ["name", "value", "unit", "goal", "holds"].map(str::to_owned);
    let rows: Vec<[String; 5]> = std::iter::once(head).chain(measurements.iter().map(cells)).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default();
    let widths: [usize; 5] = std::array::from_fn(width);
    let mut table = String::new();
    for [name, value, unit, goal, holds] in &rows {
        let [names, values, units, goals, _] = widths;
        // Numbers stand to the right, so that their points are under each other.
        let line = format!("{name:<names$}  {value:>values$}  {unit:<units$}  {goal:>goals$}  {holds}");
        table.push_str(line.trim_end());
        table.push('\n');
    }
    table
}

fn cells(measurement: &Measurement) -> [String; 5] {
    let goal = measurement.goal.map(|goal| format!("{} {goal}", measurement.sign)).unwrap_or_default();
    let holds = measurement.holds.map(|holds| if holds { "✓" } else { "✗" }).unwrap_or_default();
    [measurement.name.clone(), format!("{:.3}", measurement.value), measurement.unit.to_owned(), goal, holds.to_owned()]
}

/// Three places: more would be noise.
fn rounded(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

#[cfg(test)]
mod tests {
    use super::{Measurement, as_json, as_table, missed};

    fn measurements() -> Vec<Measurement> {
        vec![
            Measurement::at_most("function.binary_mib.on-delete", 4.5, "MiB", 10.0),
            Measurement::at_most("function.start_ms.lambda", 7.25, "ms", 6.0),
            Measurement::new("process.floor_ms.true", 1.0, "ms"),
        ]
    }

    #[test]
    fn a_goal_that_is_just_missed_is_missed_though_rounding_would_hide_it() {
        assert_eq!(Measurement::at_most("a", 6.0, "ms", 6.0).holds, Some(true));
        assert_eq!(Measurement::at_most("a", 6.0001, "ms", 6.0).holds, Some(false));
        assert_eq!(Measurement::at_least("a", 5.9999, "pods/s", 6.0).holds, Some(false));
        assert_eq!(missed(&measurements()), 1);
    }

    #[test]
    fn the_table_lines_up() {
        let expected = "\
name                           value  unit  goal  holds
function.binary_mib.on-delete  4.500  MiB   ≤ 10  ✓
function.start_ms.lambda       7.250  ms     ≤ 6  ✗
process.floor_ms.true          1.000  ms
";
        assert_eq!(as_table(&measurements()), expected);
    }

    #[test]
    fn programs_read_a_list_with_null_where_nothing_is_promised() {
        let json: serde_json::Value = serde_json::from_str(&as_json(&measurements()).unwrap()).unwrap();
        let missed = serde_json::json!({"name": "function.start_ms.lambda", "value": 7.25, "unit": "ms", "goal": 6.0, "holds": false});
        assert_eq!(json[1], missed);
        assert!(json[2]["goal"].is_null() && json[2]["holds"].is_null());
    }
}
