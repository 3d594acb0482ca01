//! The providers: their catalogue, what they add to a request, and what they ask for under throttling.

mod burst;
mod catalogue;
mod clouds;
mod pace;
mod throttled;
mod wire;

use crate::Result;
use crate::report::Measurement;

pub fn measure() -> Result<Vec<Measurement>> {
    let mut measurements = catalogue::measure()?;
    measurements.extend(pace::measure()?);
    measurements.extend(throttled::measure()?);
    Ok(measurements)
}
