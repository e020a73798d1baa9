//! Moments in time zones, as Go's `time` has them: the engine's own differ at ends of months, and in what is written.

use std::str::FromStr;

use chrono::{DateTime, Datelike, Duration, NaiveDate, NaiveDateTime, Offset, TimeZone, Timelike};
use chrono_tz::{OffsetName, Tz};
use regorus::Value;

use super::guard::Guard;
use super::layouts;

pub fn guard_of(name: &str) -> Option<Guard> {
    Some(Guard::Instead(match name {
        "time.add_date" => add_date,
        "time.clock" => clock,
        "time.date" => date,
        "time.diff" => diff,
        "time.format" => format,
        "time.weekday" => weekday,
        _ => return None,
    }))
}

const NANOSECONDS: i64 = 1_000_000_000;

/// 1 January 2100 and 1970, in seconds.
const TABLES_END: i64 = 4_102_444_800;
const EPOCH: i64 = 0;
/// After this many years all weekdays are where they were.
const CYCLE_YEARS: i32 = 28;
/// Their changes follow the moon, up to 2087.
const WITHOUT_RULE: [Tz; 2] = [Tz::Africa__Casablanca, Tz::Africa__El_Aaiun];
/// Names of one offset once, and of a place in later tables.
const RENAMED: [Tz; 3] = [Tz::EST, Tz::HST, Tz::MST];

/// A zone; without one, UTC.
#[derive(Clone, Copy)]
pub struct Zone(Option<Tz>);

impl Zone {
    /// The seconds that its clocks are before UTC's, and what it is called then.
    fn at(self, seconds: i64) -> Result<(i64, String), String> {
        let Some(zone) = self.0 else { return Ok((0, String::from("UTC"))) };
        if (seconds < EPOCH && RENAMED.contains(&zone)) || (seconds >= TABLES_END && WITHOUT_RULE.contains(&zone)) {
            return Err(format!("the tables of {} do not agree on that time", zone.name()));
        }
        let moment = DateTime::from_timestamp(seconds, 0).map(|moment| in_tables(moment.naive_utc()));
        let offset = zone.offset_from_utc_datetime(&moment.ok_or("time outside of valid range")?);
        let seconds = i64::from(offset.fix().local_minus_utc());
        let name = offset.abbreviation().map_or_else(|| layouts::zone_name(seconds), str::to_owned);
        Ok((seconds, name))
    }
}

/// The tables end in 2100; the last rule of a zone goes on, by weekdays and leap years.
fn in_tables(moment: NaiveDateTime) -> NaiveDateTime {
    let is_like = |year: i32| {
        let (one, other) = (NaiveDate::from_ymd_opt(year, 1, 1), NaiveDate::from_ymd_opt(moment.year(), 1, 1));
        one.zip(other)
            .is_some_and(|(one, other)| one.weekday() == other.weekday() && one.leap_year() == other.leap_year())
    };
    let last = 2099;
    if moment.year() <= last {
        return moment;
    }
    let alike = (last - CYCLE_YEARS + 1..=last).find(|year| is_like(*year));
    alike.and_then(|year| moment.with_year(year)).unwrap_or(moment)
}

/// What the clocks of a zone show.
pub struct Moment {
    pub local: NaiveDateTime,
    pub offset_seconds: i64,
    pub zone: String,
}

impl Moment {
    fn new(nanoseconds: i64, zone: Zone) -> Result<Self, String> {
        let (offset_seconds, name) = zone.at(nanoseconds.div_euclid(NANOSECONDS))?;
        let local = DateTime::from_timestamp_nanos(nanoseconds).naive_utc() + Duration::seconds(offset_seconds);
        Ok(Self { local, offset_seconds, zone: name })
    }
}

struct Given {
    nanoseconds: i64,
    zone: Zone,
    layout: String,
}

fn string(value: Option<&Value>) -> Result<String, String> {
    match value {
        None => Ok(String::new()),
        Some(Value::String(text)) => Ok(text.to_string()),
        Some(_) => Err(String::from("operand 1 must be string")),
    }
}

/// Nanoseconds, or a list of them, a zone and a layout.
fn given(value: Option<&Value>) -> Result<Given, String> {
    let (number, zone, layout) = match value {
        Some(Value::Array(items)) => (items.get(0), string(items.get(1))?, string(items.get(2))?),
        other => (other, String::new(), String::new()),
    };
    let Some(Value::Number(number)) = number else {
        return Err(String::from("operand 1 must be either number (ns) or [number (ns), string (tz)]"));
    };
    let zone = match zone.as_str() {
        "" | "UTC" => Zone(None),
        "Local" => return Err(String::from("a policy knows no local time")),
        name => Zone(Some(Tz::from_str(name).map_err(|_| format!("unknown time zone {name}"))?)),
    };
    let nanoseconds = number.as_i64().filter(|_| number.is_integer()).ok_or("timestamp too big")?;
    Ok(Given { nanoseconds, zone, layout })
}

fn moment(value: Option<&Value>) -> Result<Moment, String> {
    let given = given(value)?;
    Moment::new(given.nanoseconds, given.zone)
}

fn list(numbers: impl IntoIterator<Item = i64>) -> Value {
    Value::from(numbers.into_iter().map(Value::from).collect::<Vec<_>>())
}

fn parts(local: &NaiveDateTime) -> [i64; 6] {
    [
        i64::from(local.year()),
        i64::from(local.month()),
        i64::from(local.day()),
        i64::from(local.hour()),
        i64::from(local.minute()),
        i64::from(local.second()),
    ]
}

fn date(values: &[Value]) -> Result<Value, String> {
    Ok(list(parts(&moment(values.first())?.local).into_iter().take(3)))
}

fn clock(values: &[Value]) -> Result<Value, String> {
    Ok(list(parts(&moment(values.first())?.local).into_iter().skip(3)))
}

fn weekday(values: &[Value]) -> Result<Value, String> {
    Ok(Value::from(layouts::weekday(&moment(values.first())?.local)))
}

fn format(values: &[Value]) -> Result<Value, String> {
    let given = given(values.first())?;
    Ok(Value::from(layouts::write(&Moment::new(given.nanoseconds, given.zone)?, &given.layout)))
}

/// Years, months, days, hours, minutes and seconds, counted on the clocks of the first zone.
fn diff(values: &[Value]) -> Result<Value, String> {
    let (one, other) = (given(values.first())?, given(values.get(1))?);
    let (from, to) = (one.nanoseconds.min(other.nanoseconds), one.nanoseconds.max(other.nanoseconds));
    let (from, to) = (Moment::new(from, one.zone)?.local, Moment::new(to, one.zone)?.local);
    let mut apart: Vec<i64> = parts(&to).into_iter().zip(parts(&from)).map(|(to, from)| to - from).collect();
    let first = NaiveDate::from_ymd_opt(from.year(), from.month(), 1).ok_or("time outside of valid range")?;
    let days = i64::from(first.num_days_in_month());
    for (index, size) in [(5, 60), (4, 60), (3, 24), (2, days), (1, 12)] {
        if apart[index] < 0 {
            apart[index] += size;
            apart[index - 1] -= 1;
        }
    }
    Ok(list(apart))
}

fn whole(values: &[Value], index: usize) -> Result<i64, String> {
    match values.get(index) {
        Some(Value::Number(number)) => {
            number.as_i64().ok_or_else(|| format!("operand {} must be integer number", index + 1))
        }
        _ => Err(format!("operand {} must be number", index + 1)),
    }
}

/// Goes on where a month is too short: 31 January and a month is 3 March.
fn add_date(values: &[Value]) -> Result<Value, String> {
    let given = given(values.first())?;
    let (years, months, days) = (whole(values, 1)?, whole(values, 2)?, whole(values, 3)?);
    let before = Moment::new(given.nanoseconds, given.zone)?.local;
    let beyond = || String::from("time outside of valid range");
    let count = years.checked_mul(12).and_then(|count| count.checked_add(months)).ok_or_else(beyond)?;
    let count = count.checked_add(i64::from(before.year()) * 12 + i64::from(before.month0())).ok_or_else(beyond)?;
    let year = i32::try_from(count.div_euclid(12)).map_err(|_| beyond())?;
    let month = u32::try_from(count.rem_euclid(12) + 1).map_err(|_| beyond())?;
    let first = NaiveDate::from_ymd_opt(year, month, 1).ok_or_else(beyond)?;
    let later = days.checked_add(i64::from(before.day0())).and_then(Duration::try_days).ok_or_else(beyond)?;
    let date = first.checked_add_signed(later).ok_or_else(beyond)?;
    let local = date.and_time(before.time()).and_utc();
    // As Go finds a zone's offset for what its clocks show, where they are set at that time too.
    let (guess, _) = given.zone.at(local.timestamp())?;
    let (offset, _) = given.zone.at(local.timestamp() - guess)?;
    let offset = if guess == 0 { 0 } else { offset };
    let after = local.checked_sub_signed(Duration::seconds(offset)).ok_or_else(beyond)?;
    after.timestamp_nanos_opt().map(Value::from).ok_or_else(beyond)
}
