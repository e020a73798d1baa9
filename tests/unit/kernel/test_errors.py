"""One tree of errors, and one table of statuses."""

import pytest

from headgate.kernel import errors
from headgate.kernel.errors import HTTP_STATUS, ErrorCode, HeadgateError

_CLASSES = [one for one in vars(errors).values() if isinstance(one, type) and issubclass(one, HeadgateError)]


def test_every_code_has_a_status() -> None:
    assert set(HTTP_STATUS) == set(ErrorCode)


@pytest.mark.parametrize("error_class", _CLASSES)
def test_an_error_says_what_how_and_when(error_class: type[HeadgateError]) -> None:
    error = error_class("what happened", details={"field": "x"}, retry_after_seconds=3)
    assert str(error) == error.message == "what happened"
    assert error.details == {"field": "x"}
    assert error.retry_after_seconds == 3
    assert error.http_status == HTTP_STATUS[error.code]
    assert error_class.__doc__


@pytest.mark.parametrize("error_class", [one for one in _CLASSES if one is not HeadgateError])
def test_every_class_names_its_own_code(error_class: type[HeadgateError]) -> None:
    assert error_class.code is not ErrorCode.INTERNAL_ERROR
