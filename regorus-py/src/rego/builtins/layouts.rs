//! Layouts of Go's `time.Format`.

use chrono::{Datelike, NaiveDateTime, Timelike};

use super::dates::Moment;

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const WEEKDAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

/// What a layout's parts are, the longer before those that they begin with.
const PARTS: [&str; 38] = [
    "January",
    "Jan",
    "Monday",
    "Mon",
    "MST",
    "002",
    "01",
    "02",
    "03",
    "04",
    "05",
    "06",
    "15",
    "1",
    "2006",
    "2",
    "_2006",
    "__2",
    "_2",
    "3",
    "4",
    "5",
    "PM",
    "pm",
    "-070000",
    "-07:00:00",
    "-0700",
    "-07:00",
    "-07",
    "Z070000",
    "Z07:00:00",
    "Z0700",
    "Z07:00",
    "Z07",
    ".0",
    ",0",
    ".9",
    ",9",
];

const FRACTION_DIGITS: usize = 9;

/// The name of a layout that OPA knows, or the layout itself.
fn layout_of(name: &str) -> &str {
    match name {
        "" | "RFC3339Nano" => "2006-01-02T15:04:05.999999999Z07:00",
        "RFC3339" => "2006-01-02T15:04:05Z07:00",
        "ANSIC" => "Mon Jan _2 15:04:05 2006",
        "UnixDate" => "Mon Jan _2 15:04:05 MST 2006",
        "RubyDate" => "Mon Jan 02 15:04:05 -0700 2006",
        "RFC822" => "02 Jan 06 15:04 MST",
        "RFC822Z" => "02 Jan 06 15:04 -0700",
        "RFC850" => "Monday, 02-Jan-06 15:04:05 MST",
        "RFC1123" => "Mon, 02 Jan 2006 15:04:05 MST",
        "RFC1123Z" => "Mon, 02 Jan 2006 15:04:05 -0700",
        other => other,
    }
}

pub fn weekday(local: &NaiveDateTime) -> &'static str {
    usize::try_from(local.weekday().num_days_from_sunday())
        .ok()
        .and_then(|day| WEEKDAYS.get(day))
        .copied()
        .unwrap_or("")
}

fn month(local: &NaiveDateTime) -> &'static str {
    usize::try_from(local.month0()).ok().and_then(|month| MONTHS.get(month)).copied().unwrap_or("")
}

/// The part that a layout begins with.
fn part_of(layout: &str) -> Option<&str> {
    let found = PARTS.into_iter().find(|part| layout.starts_with(part))?;
    let after = &layout[found.len()..];
    match found {
        "Jan" | "Mon" if after.starts_with(|next: char| next.is_ascii_lowercase()) => None,
        ".0" | ",0" | ".9" | ",9" => {
            let digit = &found[1..];
            let length = layout[1..].len() - layout[1..].trim_start_matches(digit).len();
            let ends = !layout[1 + length..].starts_with(|next: char| next.is_ascii_digit());
            ends.then_some(&layout[..=length])
        }
        _ => Some(&layout[..found.len()]),
    }
}

pub fn write(moment: &Moment, layout: &str) -> String {
    let (mut out, mut rest) = (String::new(), layout_of(layout));
    while let Some(next) = rest.chars().next() {
        if let Some(part) = part_of(rest) {
            write_part(&mut out, moment, part);
            rest = &rest[part.len()..];
        } else {
            out.push(next);
            rest = &rest[next.len_utf8()..];
        }
    }
    out
}

fn write_part(out: &mut String, moment: &Moment, part: &str) {
    let local = &moment.local;
    let hour = match local.hour() % 12 {
        0 => 12,
        hour => hour,
    };
    let written = match part {
        "January" => month(local).to_owned(),
        "Jan" => month(local)[..3].to_owned(),
        "Monday" => weekday(local).to_owned(),
        "Mon" => weekday(local)[..3].to_owned(),
        "MST" => moment.zone.clone(),
        "002" => format!("{:03}", local.ordinal()),
        "__2" => format!("{:3}", local.ordinal()),
        "01" => format!("{:02}", local.month()),
        "1" => local.month().to_string(),
        "02" => format!("{:02}", local.day()),
        "_2" => format!("{:2}", local.day()),
        "2" => local.day().to_string(),
        "03" => format!("{hour:02}"),
        "3" => hour.to_string(),
        "15" => format!("{:02}", local.hour()),
        "04" => format!("{:02}", local.minute()),
        "4" => local.minute().to_string(),
        "05" => format!("{:02}", local.second()),
        "5" => local.second().to_string(),
        "06" => format!("{:02}", local.year().rem_euclid(100)),
        "2006" => format!("{:04}", local.year()),
        "_2006" => format!("_{:04}", local.year()),
        "PM" => String::from(if local.hour() >= 12 { "PM" } else { "AM" }),
        "pm" => String::from(if local.hour() >= 12 { "pm" } else { "am" }),
        zone if zone.starts_with('Z') && moment.offset_seconds == 0 => String::from("Z"),
        zone if zone.starts_with(['Z', '-']) => offset(moment.offset_seconds, &zone[1..]),
        digits => fraction(local.nanosecond(), digits),
    };
    out.push_str(&written);
}

/// What a zone without a name is called: `-03`, `+0545`.
pub fn zone_name(offset_seconds: i64) -> String {
    let form = if offset_seconds % 3600 == 0 { "07" } else { "0700" };
    offset(offset_seconds, form)
}

/// `07`, `0700`, `07:00`, `070000` or `07:00:00`.
fn offset(seconds: i64, form: &str) -> String {
    let minutes = seconds / 60;
    let sign = if minutes < 0 { '-' } else { '+' };
    let (minutes, seconds) = (minutes.abs(), if minutes < 0 { -seconds } else { seconds } % 60);
    let colon = if form.contains(':') { ":" } else { "" };
    let mut out = format!("{sign}{:02}", minutes / 60);
    if form.len() > 2 {
        out.push_str(&format!("{colon}{:02}", minutes % 60));
    }
    if form.len() > 5 {
        out.push_str(&format!("{colon}{seconds:02}"));
    }
    out
}

/// With `0` as many digits as the layout has, with `9` as many of them as are needed.
fn fraction(nanoseconds: u32, layout: &str) -> String {
    let count = (layout.len() - 1).min(FRACTION_DIGITS);
    let digits = &format!("{nanoseconds:09}")[..count];
    let trims = layout.ends_with('9');
    let digits = if trims { digits.trim_end_matches('0') } else { digits };
    if trims && digits.is_empty() { String::new() } else { format!("{}{digits}", &layout[..1]) }
}
