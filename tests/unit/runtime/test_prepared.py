"""What the process that prepares an instance answers."""

from collections.abc import Callable

import pytest

from headgate.kernel.errors import UnavailableError
from headgate.kernel.secrets import Secret
from headgate.runtime.prepared import Prepared, failed, read_prepared, read_token, token_to_json


@pytest.mark.parametrize("link", [None, Secret("http://127.0.0.1:1/auth/local/x")])
def test_it_is_read_as_it_was_told(link: Secret | None) -> None:
    told = Prepared("/data/public/ca.pem", "http://headgate-1.localhost:1", Secret("token"), link)
    assert read_prepared(told.to_json()) == told


def test_a_token_is_read_as_it_was_told() -> None:
    assert read_token(token_to_json(Secret("token"))) == Secret("token")


@pytest.mark.parametrize("read", [read_prepared, read_token])
def test_what_cannot_be_done_is_said_in_the_same_words(read: Callable[[bytes], object]) -> None:
    with pytest.raises(UnavailableError) as raised:
        read(failed("restore the file"))
    assert raised.value.message == "restore the file"


@pytest.mark.parametrize("read", [read_prepared, read_token])
@pytest.mark.parametrize("answer", [b"", b"{", b"a line of a library\n{}"])
def test_what_is_no_answer_is_refused(read: Callable[[bytes], object], answer: bytes) -> None:
    with pytest.raises(UnavailableError, match="no readable answer"):
        read(answer)


def test_no_secret_is_shown() -> None:
    assert "hidden" not in repr(Prepared("", "", Secret("hidden"), Secret("hidden")))
