"""A secret shows itself to nobody who does not ask."""

import copy
import logging
import pickle

import pytest

from headgate.kernel.secrets import MASK, Secret

_VALUE = "hunter2-and-more"


def test_it_is_masked_wherever_it_is_shown(caplog: pytest.LogCaptureFixture) -> None:
    secret = Secret(_VALUE)
    logging.getLogger(__name__).warning("%s %r", secret, [secret])
    shown = [repr(secret), str(secret), f"{secret}", f"{secret!r:>40}", "{:s}".format(secret), caplog.text]  # noqa: UP032 - each way
    assert all(_VALUE not in one and MASK in one for one in shown)
    assert secret.reveal() == _VALUE


def test_it_compares_by_value_and_only_with_its_kind() -> None:
    assert Secret(_VALUE) == Secret(_VALUE)
    assert Secret(_VALUE) != Secret("other")
    assert Secret(_VALUE) != _VALUE
    assert hash(Secret(_VALUE)) == hash(Secret(_VALUE))


@pytest.mark.parametrize("leak", [pickle.dumps, copy.copy])
def test_it_is_not_pickled(leak: object) -> None:
    assert callable(leak)
    with pytest.raises(TypeError, match="not pickled"):
        leak(Secret(_VALUE))
