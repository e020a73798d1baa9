# ruff: noqa: E501, D103, E731, RUF001, RUF100, S104, C420 - lines of data, and letters that look alike
"""Formats of ``sprintf`` and of times, with what they are for."""

from random import Random

from differential.values import anything

FLAGS = ["", "", "", "-", "+", "#", "0", " ", "+ ", "-0", "#0", "0-"]
VERBS = [*"vvvdddsssqfgexXobctTUuGEFp", "!", "z", "%", "é", ""]


def sprintf_format(random: Random) -> str:
    parts = []
    for _ in range(random.choice([1, 1, 1, 2, 3])):
        width = random.choice(["", "", "", "", "1", "5", "12", "*", "[1]", "[2]", "[9]", "[", "[1]*"])
        precision = random.choice(["", "", "", "", ".", ".0", ".1", ".2", ".5", ".12", ".*", ".[1]*"])
        if random.random() < 0.8:
            width, precision = random.choice(["", "", "3", "8"]), random.choice(["", "", ".2", ".0", ".3"])
        parts.append(
            random.choice(["", "a", "é "]) + "%" + random.choice(FLAGS) + width + precision + random.choice(VERBS)
        )
    return "".join(parts) + random.choice(["", "", "b", "%"])


LAYOUTS = ["2006-01-02", "2006-01-02T15:04:05Z07:00", "2006-01-02T15:04:05.999999999Z07:00", "Mon, 02 Jan 2006 15:04:05 MST", "Mon, 02 Jan 2006 15:04:05 -0700",
           "Monday, 02-Jan-06 15:04:05 MST", "Mon Jan _2 15:04:05 2006", "Mon Jan 02 15:04:05 -0700 2006", "3:04PM", "3:04pm", "15:04:05.000", "15:04:05.000000",
           "15:04:05.999", "15:04:05,000", "02 Jan 06 15:04 -0700", "Jan _2 15:04:05", "2006-002", "2006-__2", "1/2/06", "RFC3339", "RFC3339Nano", "ANSIC", "UnixDate",
           "RubyDate", "RFC822", "RFC822Z", "RFC850", "RFC1123", "RFC1123Z", "Kitchen", "Stamp", "StampMilli", "DateTime", "DateOnly", "TimeOnly", "Layout", "January 2, 2006", "2006-01-02 15:04:05 -07", "Z0700", "-07:00:00", "Z07:00:00",
           "06-1-2 3:4:5 PM", "Monday", "Jan", "", "no layout", "20060102150405", "%Y-%m-%d", "2006-01-02T15:04:05.000Z", "01/02 03:04:05PM '06 -0700"]  # fmt: skip
TIMES = ["2023-11-14", "2023-11-14T22:13:20Z", "2023-11-14T22:13:20.5+02:00", "Tue, 14 Nov 2023 22:13:20 UTC", "Tue, 14 Nov 2023 22:13:20 +0200", "Tuesday, 14-Nov-23 22:13:20 UTC",
         "Tue Nov 14 22:13:20 2023", "Tue Nov  4 22:13:20 2023", "10:13PM", "10:13pm", "22:13:20.123", "22:13:20.123456", "14 Nov 23 22:13 +0200", "Nov  4 22:13:20", "2023-318", "11/4/23",
         "November 14, 2023", "2023-11-14 22:13:20 +02", "2024-02-29", "2023-02-29", "2023-13-01", "2023-11-31", "0000-01-01T00:00:00Z", "1677-09-21T00:12:43Z", "2262-04-11T23:47:16Z", "9999-12-31T23:59:59Z",
         "2023-11-14t22:13:20z", "2023-11-14 22:13:20Z", "2023-11-14T22:13:60Z", "2023-11-14T24:00:00Z", "2023-11-14T22:13:20,5Z", "2023-11-14T22:13:20.123456789012Z", "2023-11-14T22:13:20+24:00", "2023-11-14T2:13:20Z", "20231114221320", "1", "", "2023-11-14T22:13:20-00:00", "2023-11-14T22:13:20.Z"]  # fmt: skip
NANOSECONDS = [
    0,
    1,
    -1,
    10**9,
    1_700_000_000 * 10**9,
    1_700_000_000_123_456_789,
    1_700_000_000_500_000_000,
    -62_135_596_800 * 10**9,
    951_782_400 * 10**9,
    -86_400 * 10**9,
    2**63 - 1,
    -(2**63),
    2**63,
    1_698_541_200 * 10**9,
    1_711_846_800 * 10**9,
]
ZONES = [
    "UTC",
    "",
    "Local",
    "America/New_York",
    "Europe/Berlin",
    "Asia/Kolkata",
    "Australia/Lord_Howe",
    "Asia/Kathmandu",
    "America/St_Johns",
    "Etc/GMT+5",
    "EST",
    "Pacific/Apia",
    "Europe/Nowhere",
    "utc",
    "GMT",
]


def nanoseconds(random: Random) -> object:
    return random.choice(NANOSECONDS) if random.random() < 0.6 else random.randrange(-(10**18), 4 * 10**18)


def moment(random: Random) -> object:
    choice = random.random()
    if choice < 0.5:
        return nanoseconds(random)
    if choice < 0.97:
        return [nanoseconds(random), random.choice(ZONES)]
    return anything(random)


def formatted(random: Random) -> object:
    if random.random() < 0.25:
        return moment(random)
    return [nanoseconds(random), random.choice(ZONES), random.choice(LAYOUTS)]


def moment_for_diff(random: Random) -> object:
    return moment(random)


def layout_and_time(random: Random) -> list[object]:
    at = random.randrange(len(TIMES)) if random.random() < 0.5 else None
    return [random.choice(LAYOUTS), TIMES[at] if at is not None else random.choice(TIMES)]
