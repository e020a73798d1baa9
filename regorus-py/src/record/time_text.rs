//! Times as the record's headers write them: RFC 3339 in UTC with six decimals.

use chrono::{DateTime, Datelike, Timelike};

/// Microseconds from 1970 to 2000, from where PostgreSQL counts.
const SERVER_EPOCH: i64 = 946_684_800_000_000;

/// Of microseconds since 2000; nothing where the year has not four digits (infinity, before the first).
pub fn write(micros: i64, text: &mut Vec<u8>) -> Option<()> {
    let time = DateTime::from_timestamp_micros(micros.checked_add(SERVER_EPOCH)?)?.naive_utc();
    let year = u32::try_from(time.year()).ok().filter(|year| (1..=9999).contains(year))?;
    let parts = [
        (year, 4, b'-'),
        (time.month(), 2, b'-'),
        (time.day(), 2, b'T'),
        (time.hour(), 2, b':'),
        (time.minute(), 2, b':'),
        (time.second(), 2, b'.'),
        (time.nanosecond() / 1_000, 6, b'Z'),
    ];
    for (value, digits, after) in parts {
        for place in (0..digits).rev() {
            text.push(b'0' + (value / 10_u32.pow(place) % 10) as u8);
        }
        text.push(after);
    }
    Some(())
}
