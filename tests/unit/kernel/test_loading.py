"""The collector rests while modules are made, and no longer."""

import gc

import pytest

from headgate.kernel.loading import loading


def test_off_inside_and_on_again() -> None:
    with pytest.raises(ImportError), loading():
        assert not gc.isenabled()
        raise ImportError
    assert gc.isenabled()


def test_one_that_was_off_stays_off() -> None:
    gc.disable()
    try:
        with loading():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
