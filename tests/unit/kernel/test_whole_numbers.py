import math

import pytest

from headgate.kernel.whole_numbers import whole_number


@pytest.mark.parametrize(("value", "whole"), [(3, 3), (3.0, 3), (-2.0, -2), (0, 0), (1e15, 10**15)])
def test_an_integer_of_json_may_have_a_fraction_of_zero(value: object, whole: int) -> None:
    found = whole_number(value)
    assert (found, type(found)) == (whole, int)


@pytest.mark.parametrize("value", [True, False, "3", 3.5, None, [], math.nan, math.inf, -math.inf])
def test_nothing_else_is_one(value: object) -> None:
    assert whole_number(value) is None
