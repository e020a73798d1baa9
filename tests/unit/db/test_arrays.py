"""Arrays in PostgreSQL's binary form: the one way in which a row is written by itself, the other among several."""

from datetime import UTC, datetime, timedelta, timezone
from typing import NamedTuple

import pytest
from psycopg.adapt import Transformer
from psycopg.pq import Format

from headgate.db.arrays import Utf8, columns_of, encode_rows


class Row(NamedTuple):
    text: str | None
    utf8: Utf8
    data: bytes | None
    number: int
    flag: bool
    at: datetime


FIRST = Row("Grüße", b"{}", None, 2**53 + 1, True, datetime(2026, 11, 22, 0, 30, 0, 123456, tzinfo=UTC))
SECOND = Row(None, "é".encode(), b"\x00\xff", -1, False, datetime(1999, 12, 31, tzinfo=timezone(timedelta(hours=2))))


def _read(column: int, encoded: bytes) -> list[object]:
    """As psycopg reads it."""
    transformer = Transformer.from_context(None)
    return transformer.get_loader(columns_of(Row)[column].array_type, Format.BINARY).load(encoded)


@pytest.mark.parametrize("rows", [[FIRST], [SECOND], [FIRST, SECOND], [SECOND, FIRST, FIRST]])
def test_a_driver_reads_what_was_written(rows: list[Row]) -> None:
    encoded = encode_rows(columns_of(Row), rows)
    for column, (name, parameter) in enumerate(zip(Row._fields, encoded, strict=True)):
        expected = [getattr(row, name) for row in rows]
        if name == "utf8":
            expected = [value.decode() for value in expected]
        assert _read(column, parameter) == expected


def test_a_row_with_a_field_too_few_is_refused() -> None:
    for rows in ([FIRST[:-1]], [FIRST[:-1], SECOND[:-1]]):
        with pytest.raises(ValueError, match="zip"):
            encode_rows(columns_of(Row), rows)
