"""Whole numbers of JSON, which has one kind of number: 3 and 3.0 are the same (JSON Schema 2020-12, 6.1.1)."""


def whole_number(value: object) -> int | None:
    """The value as an int; None where it is no whole number, as true and "3" are not."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None
