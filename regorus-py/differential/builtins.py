# ruff: noqa: E501, D103, E731, RUF001, RUF100, S104, C420 - lines of data, and letters that look alike
"""Calls of every builtin whose value a library decides, with arguments of its types and some of none."""

from collections.abc import Callable
from random import Random

from differential.formats import TIMES, formatted, layout_and_time, moment
from differential.notations import (
    ADDRESSES,
    BASE64,
    CONCAT,
    DURATIONS,
    HEX,
    JSON,
    NETWORKS,
    QUERY,
    SEMVER,
    UNITS,
    YAML,
    document,
    glob,
    marshal_options,
    object_document,
    patches,
    path,
    sprintf,
)
from differential.values import (
    Make,
    anything,
    choice_of,
    damaged,
    leaf,
    list_of,
    mostly,
    number,
    object_of,
    one_of,
    pieces,
    plain,
    set_of,
    small,
    text,
    whole,
)


def arguments(*makes: Make) -> Callable[[Random], list[object]]:
    return lambda random: [mostly(make)(random) for make in makes]


def exactly(*makes: Make) -> Callable[[Random], list[object]]:
    """For builtins that have no end in OPA where an argument is large."""
    return lambda random: [make(random) for make in makes]


TEXT_PAIR = arguments(one_of(text, plain), one_of(text, plain))
PLAIN_PAIR = arguments(plain, plain)
GRAPH = object_of(one_of(list_of(choice_of("a", "b", "x", "0", "é")), set_of(choice_of("a", "b", "x"))))
ANY_LIST = one_of(list_of(anything), set_of(anything))

BUILTINS: dict[str, Callable[[Random], list[object]]] = {
    **{name: arguments(number) for name in ("abs", "ceil", "floor", "round")},
    **{name: arguments(whole, whole) for name in ("bits.and", "bits.or", "bits.xor")},
    "bits.lsh": exactly(whole, small),
    "bits.rsh": exactly(whole, small),
    "bits.negate": arguments(whole),
    "format_int": arguments(number, choice_of(2, 8, 10, 16, 3)),
    **{name: arguments(one_of(number, whole), one_of(number, whole)) for name in ("plus", "mul", "div", "rem")},
    "minus": arguments(one_of(number, whole, set_of(leaf)), one_of(number, whole, set_of(leaf))),
    "numbers.range": exactly(small, small),
    "numbers.range_step": exactly(small, small, small),
    "to_number": arguments(one_of(number, pieces("1", "-", "0", ".", "e", "E", "5", "+", " ", "0x", "_", "Inf", "NaN", "12345678901234567890"), leaf)),
    **{name: arguments(ANY_LIST) for name in ("count", "max", "min", "sort")},
    "sum": arguments(one_of(list_of(number), set_of(number), list_of(whole))),
    "product": arguments(one_of(list_of(number), list_of(whole))),
    "array.concat": arguments(list_of(anything), list_of(anything)),
    "array.flatten": arguments(list_of(anything)),
    "array.reverse": arguments(list_of(anything)),
    "array.slice": arguments(list_of(anything), small, small),
    **{name: arguments(one_of(set_of(set_of(leaf)), set_of(set_of(small)))) for name in ("intersection", "union")},
    "base64.decode": arguments(BASE64),
    "base64.is_valid": arguments(BASE64),
    "base64url.decode": arguments(BASE64),
    **{name: arguments(text) for name in ("base64.encode", "base64url.encode", "base64url.encode_no_pad", "hex.encode", "crypto.sha256", "crypto.md5")},
    "hex.decode": arguments(HEX),
    "concat": arguments(plain, CONCAT),
    **{name: TEXT_PAIR for name in ("contains", "endswith", "startswith", "trim", "trim_left", "trim_right", "trim_prefix", "trim_suffix", "split", "indexof", "indexof_n", "strings.count")},
    **{f"{name}|": PLAIN_PAIR for name in ("contains", "endswith", "startswith", "trim", "trim_left", "trim_right", "trim_prefix", "trim_suffix", "split", "indexof", "indexof_n", "strings.count")},
    "strings.split_n": arguments(plain, plain, small),
    **{name: arguments(text) for name in ("lower", "upper", "trim_space", "strings.reverse", "glob.quote_meta", "urlquery.encode")},
    "replace": arguments(plain, plain, plain),
    "strings.replace_n": arguments(object_of(plain), plain),
    "strings.any_prefix_match": arguments(one_of(plain, list_of(plain), set_of(plain)), one_of(plain, list_of(plain), set_of(plain))),
    "strings.any_suffix_match": arguments(one_of(plain, list_of(plain), set_of(plain)), one_of(plain, list_of(plain), set_of(plain))),
    "substring": arguments(text, small, small),
    "sprintf": sprintf,
    "sprintf|": sprintf,
    "sprintf||": sprintf,
    "glob.match": glob,
    "glob.match|": glob,
    "glob.match||": glob,
    "json.is_valid": arguments(JSON),
    "json.unmarshal": arguments(JSON),
    "json.marshal": arguments(anything),
    "json.marshal_with_options": marshal_options,
    "json.filter": lambda random: [object_document(random), random.choice([list_of(path), set_of(path)])(random)],
    "json.remove": lambda random: [object_document(random), random.choice([list_of(path), set_of(path)])(random)],
    "json.patch": patches,
    "yaml.marshal": arguments(anything),
    "yaml.unmarshal": arguments(YAML),
    "yaml.is_valid": arguments(YAML),
    "object.get": lambda random: [document(random), random.choice([path(random), random.choice(["a", "b", 0, 1])]), anything(random)],
    "object.keys": arguments(object_document),
    "object.remove": arguments(object_document, one_of(list_of(choice_of("a", "b", 0)), set_of(choice_of("a", "b")), object_document)),
    "object.filter": arguments(object_document, one_of(list_of(choice_of("a", "b", 0)), set_of(choice_of("a", "b")), object_document)),
    "object.subset": arguments(document, document),
    "object.union": arguments(object_document, object_document),
    "object.union_n": arguments(list_of(object_document)),
    "semver.compare": arguments(SEMVER, SEMVER),
    "semver.is_valid": arguments(SEMVER),
    "time.parse_ns": layout_and_time,
    "time.parse_ns|": layout_and_time,
    "time.parse_rfc3339_ns": arguments(damaged(choice_of(*TIMES))),
    "time.parse_duration_ns": arguments(DURATIONS),
    "time.format": lambda random: [formatted(random)],
    "time.format|": lambda random: [formatted(random)],
    **{name: lambda random: [moment(random)] for name in ("time.date", "time.clock", "time.weekday")},
    "time.add_date": lambda random: [moment(random), random.randrange(-30, 30), random.randrange(-30, 30), random.randrange(-400, 400)],
    "time.diff": lambda random: [moment(random), moment(random)],
    "units.parse": arguments(UNITS),
    "units.parse_bytes": arguments(UNITS),
    "urlquery.decode": arguments(QUERY),
    "urlquery.decode_object": arguments(QUERY),
    "urlquery.encode_object": arguments(object_of(one_of(text, list_of(text), set_of(text)))),
    "net.cidr_contains": arguments(damaged(choice_of(*NETWORKS)), damaged(choice_of(*NETWORKS, *ADDRESSES))),
    "net.cidr_intersects": arguments(damaged(choice_of(*NETWORKS)), damaged(choice_of(*NETWORKS))),
    "net.cidr_is_valid": arguments(damaged(choice_of(*NETWORKS, *ADDRESSES))),
    "net.cidr_merge": arguments(one_of(list_of(choice_of(*NETWORKS, *ADDRESSES)), set_of(choice_of(*NETWORKS[:6])))),
    "net.cidr_expand": exactly(choice_of("10.0.0.0/30", "10.0.0.9/31", "::/126", "2001:db8::/128", "10.0.0.0/28", "x")),
    "net.cidr_contains_matches": arguments(one_of(choice_of(*NETWORKS), list_of(choice_of(*NETWORKS)), set_of(choice_of(*NETWORKS))), one_of(choice_of(*NETWORKS, *ADDRESSES), list_of(choice_of(*NETWORKS, *ADDRESSES)))),
    "graph.reachable": arguments(GRAPH, one_of(list_of(choice_of("a", "b", "x")), set_of(choice_of("a", "q")))),
    "graph.reachable_paths": arguments(GRAPH, one_of(list_of(choice_of("a", "b", "x")), set_of(choice_of("a", "q")))),
    **{name: arguments(anything) for name in ("is_array", "is_boolean", "is_null", "is_number", "is_object", "is_set", "is_string", "type_name")},
    "uuid.parse": arguments(damaged(choice_of("00000000-0000-1000-8000-000000000000", "{f47ac10b-58cc-4372-a567-0e02b2c3d479}", "urn:uuid:f47ac10b-58cc-1372-a567-0e02b2c3d479", "f47ac10b58cc4372a5670e02b2c3d479", "F47AC10B-58CC-2372-8567-0E02B2C3D479"))),
    "uri.is_valid": arguments(damaged(choice_of("http://u:p@[::1]:80/%41?q#f", "https://a.b/c?d=e", "//a", "a:b", "/a b", "http://a:b", "", "%zz", "mailto:x@y"))),
    "uri.parse": arguments(damaged(choice_of("http://u:p@[::1]:80/%41?q#f", "https://a.b/c?d=e", "//a", "a:b", "/a b", "http://a:b", "", "%zz", "mailto:x@y"))),
    "regex.globs_match": arguments(pieces("a", "b", "[a-c]", ".", "*", "+", "[ab]", "\\*", "é"), pieces("a", "b", "[a-c]", ".", "*", "+", "[ab]", "\\*", "é")),
}  # fmt: skip


def call(random: Random) -> tuple[str, list[object]]:
    """One call of one of them."""
    name = random.choice(list(BUILTINS))
    return name.rstrip("|"), BUILTINS[name](random)
