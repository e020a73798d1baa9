//! `time.add_date`: the engine stays within a month (31 January and a month is 28 February), Go goes on to 3 March.

use chrono::{DateTime, Datelike, Duration, NaiveDate};
use regorus::Value;

use super::guard::Guard;

pub fn guard_of(name: &str) -> Option<Guard> {
    (name == "time.add_date").then_some(Guard::Unless(add_date))
}

/// The days up to which every month goes.
const SURE_DAY: u32 = 28;

fn whole(values: &[Value], index: usize) -> Result<i64, String> {
    match values.get(index) {
        Some(Value::Number(number)) => {
            number.as_i64().ok_or_else(|| format!("operand {} must be integer number", index + 1))
        }
        _ => Err(format!("operand {} must be number", index + 1)),
    }
}

/// A time without a zone is answered here; one with a zone by the engine, where no month can be too short.
fn add_date(values: &[Value]) -> Result<Option<Value>, String> {
    let (years, months, days) = (whole(values, 1)?, whole(values, 2)?, whole(values, 3)?);
    let zoned = match values.first() {
        Some(Value::Array(items)) => items.get(0).cloned(),
        _ => None,
    };
    let nanoseconds = match zoned.as_ref().or(values.first()) {
        Some(Value::Number(number)) => number.as_i64().ok_or("a time beyond the range of nanoseconds")?,
        _ => return Ok(None),
    };
    let before = DateTime::from_timestamp_nanos(nanoseconds).naive_utc();
    if zoned.is_some() {
        // A day more, for the zone.
        return match before.day() {
            day if day < SURE_DAY || (years, months) == (0, 0) => Ok(None),
            day => Err(format!("with a time zone, on day {day}, a month could be too short")),
        };
    }
    let beyond = || String::from("time outside of valid range");
    let count = years.checked_mul(12).and_then(|count| count.checked_add(months)).ok_or_else(beyond)?;
    let count = count.checked_add(i64::from(before.year()) * 12 + i64::from(before.month0())).ok_or_else(beyond)?;
    let year = i32::try_from(count.div_euclid(12)).map_err(|_| beyond())?;
    let month = u32::try_from(count.rem_euclid(12) + 1).map_err(|_| beyond())?;
    let first = NaiveDate::from_ymd_opt(year, month, 1).ok_or_else(beyond)?;
    let later = days.checked_add(i64::from(before.day0())).and_then(Duration::try_days).ok_or_else(beyond)?;
    let date = first.checked_add_signed(later).ok_or_else(beyond)?;
    let after = date.and_time(before.time()).and_utc().timestamp_nanos_opt().ok_or_else(beyond)?;
    Ok(Some(Value::from(after)))
}
