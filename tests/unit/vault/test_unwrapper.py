"""A service is asked once for each key, waited for once, and asked again after a pause where it failed."""

import asyncio
import time
from collections.abc import Mapping

import pytest

from headgate.kernel.errors import UnavailableError
from headgate.kms.access import KmsAccess
from headgate.kms.key_address import KeyAddress
from headgate.kms.key_services import KeyServices
from headgate.vault.unwrapper import Unwrapper
from headgate.vault.wrapped_key import WrappedKey, parse_wrapping

_WRAPPING = parse_wrapping("hashivault://headgate", "prod")
_WRAPPED = {"k1": WrappedKey(_WRAPPING, "one"), "k2": WrappedKey(_WRAPPING, "two")}


class Services(KeyServices):
    """Decrypts after ``seconds``, unless it is ``broken``; ``asked`` for these."""

    def __init__(self, seconds: float = 0.0) -> None:
        super().__init__(KmsAccess())
        self.seconds, self.broken, self.is_forgetful = seconds, False, False
        self.asked: list[str] = []

    async def encrypt(self, key: KeyAddress, plain: bytes, context: Mapping[str, str]) -> str:
        return plain.hex()

    async def decrypt(self, key: KeyAddress, ciphertext: str, context: Mapping[str, str]) -> bytes:
        assert context["headgate-installation"] == "prod"
        self.asked.append(ciphertext)
        await asyncio.sleep(self.seconds)
        if self.broken:
            raise UnavailableError("it is away")
        return bytes(32) if self.is_forgetful else ciphertext.ljust(32).encode()[:32]


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_each_key_is_asked_for_once_also_from_within_a_loop() -> None:
    services = Services()
    unwrapper = Unwrapper(services)

    async def unwrap() -> dict[str, bytes]:
        return unwrapper.unwrap(_WRAPPED)

    assert asyncio.run(unwrap()) == unwrapper.unwrap(_WRAPPED) == {"k1": b"one".ljust(32), "k2": b"two".ljust(32)}
    assert sorted(services.asked) == ["one", "two"]
    services.broken = True
    assert unwrapper.unwrap({"k1": _WRAPPED["k1"]}) == {"k1": b"one".ljust(32)}
    assert b"one".ljust(32).hex() not in repr(vars(unwrapper)["_keys"])


def test_a_ciphertext_under_another_identifier_is_another_question() -> None:
    services = Services()
    unwrapper = Unwrapper(services)
    unwrapper.unwrap({"k1": _WRAPPED["k1"]})
    unwrapper.unwrap({"k9": _WRAPPED["k1"]})
    assert services.asked == ["one", "one"]


def test_a_failure_is_raised_at_once_until_the_pause_is_over() -> None:
    services, clock = Services(), Clock()
    services.broken = True
    unwrapper = Unwrapper(services, monotonic=clock)
    one = {"k1": _WRAPPED["k1"]}
    for _ in range(3):
        with pytest.raises(UnavailableError, match="'k1' cannot be unwrapped with hashivault://headgate: it is away"):
            unwrapper.unwrap(one)
    assert len(services.asked) == 1
    services.broken = False
    clock.now = 1.0
    until = time.monotonic() + 5
    while time.monotonic() < until:  # no caller waits for the second request
        try:
            assert unwrapper.unwrap(one)
            break
        except UnavailableError as error:
            assert "it is away" in error.message
            time.sleep(0.01)
    assert len(services.asked) == 2


def test_the_pause_grows_to_a_quarter_of_a_minute() -> None:
    services, clock = Services(), Clock()
    services.broken = True
    unwrapper = Unwrapper(services, monotonic=clock)
    for _ in range(200):
        with pytest.raises(UnavailableError):
            unwrapper.unwrap({"k1": _WRAPPED["k1"]})
        time.sleep(0.002)
        clock.now += 1.0
    assert 2 <= len(services.asked) <= 40


def test_a_slow_service_is_waited_for_once_and_a_short_while() -> None:
    services = Services(seconds=0.6)
    unwrapper = Unwrapper(services, wait_seconds=0.1)
    began = time.monotonic()
    with pytest.raises(UnavailableError, match="has not answered yet"):
        unwrapper.unwrap(_WRAPPED)
    assert time.monotonic() - began < 0.4
    for _ in range(20):
        with pytest.raises(UnavailableError):
            unwrapper.unwrap(_WRAPPED)
    assert time.monotonic() - began < 0.5
    time.sleep(0.8)
    assert unwrapper.unwrap(_WRAPPED)
    assert sorted(services.asked) == ["one", "two"]


def test_an_answer_that_is_not_the_key_is_not_kept() -> None:
    services, clock = Services(), Clock()
    services.is_forgetful = True
    unwrapper, wrapped = Unwrapper(services, monotonic=clock), {"k1-0a1b2c3d": _WRAPPED["k1"]}
    for _ in range(2):
        with pytest.raises(UnavailableError, match="'k1-0a1b2c3d' is not the key that was created under this name"):
            unwrapper.unwrap(wrapped)
    assert not vars(unwrapper)["_keys"]


def test_a_service_that_gives_another_key_back_wraps_nothing() -> None:
    services = Services()
    services.is_forgetful = True
    with pytest.raises(UnavailableError, match="did not give back the key"):
        Unwrapper(services).wrap("k1", b"1" * 32, _WRAPPING)
