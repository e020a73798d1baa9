"""Identifiers: RFC 9562, version 7, with a type prefix."""

import time
import uuid
from datetime import UTC, datetime, timedelta

import pytest

from headgate.kernel.errors import ValidationError
from headgate.kernel.ids import IdPrefix, earliest_id, new_id, parse_id

_UUID = "01932c07-209c-7000-8000-000000000000"


@pytest.mark.parametrize("prefix", list(IdPrefix))
def test_a_new_id_is_a_uuid_of_version_7(prefix: IdPrefix) -> None:
    before = time.time_ns() // 1_000_000
    made = new_id(prefix)
    assert parse_id(prefix, made) == made
    value = uuid.UUID(made.removeprefix(f"{prefix}_"))
    assert (value.version, value.variant) == (7, uuid.RFC_4122)
    assert before <= value.int >> 80 <= time.time_ns() // 1_000_000


def test_ids_differ_and_sort_by_their_millisecond() -> None:
    made = [new_id(IdPrefix.ACTION) for _ in range(1000)]
    assert len(set(made)) == len(made)
    assert [one[:17] for one in made] == sorted(one[:17] for one in made)


def test_the_earliest_id_of_a_time() -> None:
    at = datetime(2022, 2, 22, 19, 22, 22, tzinfo=UTC)  # RFC 9562, A.6
    assert earliest_id(IdPrefix.ACTION, at) == "act_017f22e2-79b0"
    assert earliest_id(IdPrefix.ACTION, at - timedelta(hours=1), timedelta(hours=1)) == "act_017f22e2-79b0"


def test_the_ends_of_time_have_an_earliest_id() -> None:
    first, last = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
    day = timedelta(days=1)
    assert earliest_id(IdPrefix.ACTION, first, -day) == "act_00000000-0000"
    assert new_id(IdPrefix.ACTION) < earliest_id(IdPrefix.ACTION, last, day)


def test_a_bare_uuid_is_accepted() -> None:
    assert parse_id(IdPrefix.ACTION, _UUID) == f"act_{_UUID}"


@pytest.mark.parametrize(
    "text",
    ["", "act_", f"apr_{_UUID}", f"act_{_UUID.upper()[:-1]}A", f"act_{_UUID}\n", f" {_UUID}", f"act_{_UUID}0", "act_x"],
)
def test_everything_else_is_refused(text: str) -> None:
    with pytest.raises(ValidationError) as caught:
        parse_id(IdPrefix.ACTION, text)
    assert caught.value.details == {"expected_prefix": "act_", "got": text[:64]}
    with pytest.raises(ValidationError, match=r"^ids: ") as caught:
        parse_id(IdPrefix.ACTION, text, "ids")
    assert caught.value.details is not None
    assert caught.value.details["field"] == "ids"
