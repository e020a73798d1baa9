"""How a command's calls are sent, and what they end in where the answer is cut off, late or none."""

import re
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import certifi
import pytest

from headgate.cli.http_connection import HttpConnection
from headgate.client import ApiError, UnreachableError
from headgate.client.call import Call
from headgate.demo.certificates import write_service_certificate
from tests.free_port import free_port
from tests.http_server import any_server

HEAD = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
SHORT = HEAD + 'Content-Length: 11\r\n\r\n{"a": "\u00e9"}'
CHUNKS = HEAD + "Transfer-Encoding: chunked\r\n\r\n4\r\na\r\nb\r\n3\r\n\nc\n\r\n0\r\n\r\n"


class _Spoken:
    """What was received: the requests, and by how many connections; and which of these were closed."""

    def __init__(self) -> None:
        self.closed = threading.Semaphore(0)
        self.requests: list[bytes] = []
        self.connections = 0


def _whole_request(accepted: socket.socket) -> bytes:
    """Empty at the end of the connection."""
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        if not (byte := accepted.recv(1)):
            return b""
        head += byte
    length = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
    return head + (accepted.recv(int(length[1]), socket.MSG_WAITALL) if length else b"")


@contextmanager
def _server(*answers: str, closes: bool = False) -> Iterator[tuple[str, _Spoken]]:
    """Sends these bytes, one for each request. ``closes``: the connection, after each answer."""
    spoken, left = _Spoken(), list(answers)
    listening = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while left:
            try:
                accepted, _ = listening.accept()
            except OSError:
                return
            spoken.connections += 1
            with accepted:
                while left and (request := _whole_request(accepted)):
                    spoken.requests.append(request)
                    accepted.sendall(left.pop(0).encode())
                    if closes:
                        break
            spoken.closed.release()

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}", spoken
    finally:
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        thread.join()


def _connection(url: str, credential: str = "Bearer t") -> HttpConnection:
    return HttpConnection(url, {"authorization": credential}, 10.0)


def test_a_call_is_sent_with_its_parameters_body_and_headers() -> None:
    with _server(SHORT) as (url, spoken):
        call: Call[Any] = Call(
            "PUT", "/x/a%2Fb", {"q": "a b&c", "all": True, "no": None}, {"n": "\u00e9"}, {"if-match": '"7"'}
        )
        answer = _connection(url + "/base").answer(call)
    head, _, body = spoken.requests[0].decode().partition("\r\n\r\n")
    lines = head.split("\r\n")
    assert lines[0] == "PUT /base/x/a%2Fb?q=a+b%26c&all=true HTTP/1.1"
    assert {"authorization: Bearer t", 'if-match: "7"', "content-type: application/json"} <= set(lines)
    assert body == '{"n":"\u00e9"}'
    assert (answer.json(), answer.headers.get("CONTENT-TYPE")) == ({"a": "\u00e9"}, "application/json")
    assert answer.url == f"{url}/base/x/a%2Fb"


def test_a_connection_is_used_again_while_the_server_keeps_it() -> None:
    with _server(SHORT, SHORT) as (url, spoken):
        connection = _connection(url)
        assert [connection.answer(Call("GET", "/x")).status_code for _ in range(2)] == [200, 200]
        assert spoken.connections == 1
    with _server(SHORT, SHORT, closes=True) as (url, spoken):
        connection = _connection(url)
        connection.answer(Call("GET", "/x"))
        assert spoken.closed.acquire(timeout=10)
        assert connection.answer(Call("GET", "/x")).status_code == 200
        assert spoken.connections == 2


def test_lines_come_whole_however_they_are_cut() -> None:
    with _server(CHUNKS, HEAD + "Content-Length: 4\r\n\r\na\u2028", HEAD + "Content-Length: 5\r\n\r\n\u00e9\n\nb") as (
        url,
        _,
    ):
        connection = _connection(url)
        assert list(connection.lines(Call("GET", "/x"))) == ["a", "b", "c"]
        assert list(connection.lines(Call("GET", "/x"))) == ["a\u2028"]
        assert list(connection.lines(Call("GET", "/x"))) == ["\u00e9", "", "b"]


@pytest.mark.parametrize(
    "answer",
    [SHORT[:-1], CHUNKS[:-9], CHUNKS[:-20], HEAD[:20], HEAD + "\r\n", "", "SSH-2.0-OpenSSH\r\n"],
    ids=["body", "last chunk", "chunk", "head", "no length", "nothing", "not HTTP"],
)
def test_an_answer_that_is_cut_off_is_none(answer: str) -> None:
    call: Call[Any] = Call("GET", "/x")
    whole: list[Callable[[HttpConnection], object]] = [lambda one: one.answer(call), lambda one: list(one.pieces(call))]
    for read in whole:
        with _server(answer, closes=True) as (url, _), pytest.raises(UnreachableError, match=f"the API at {url} "):
            read(_connection(url))


def test_a_refused_file_is_the_refusal() -> None:
    body = '{"error": {"code": "FORBIDDEN", "message": "no"}}'
    head = f"HTTP/1.1 403 Forbidden\r\nContent-Length: {len(body)}\r\n\r\n"
    with _server(head + body) as (url, _), pytest.raises(ApiError, match=r"\Ano\Z"):
        list(_connection(url).pieces(Call("GET", "/x")))


def test_a_late_answer_is_none() -> None:
    listening = socket.create_server(("127.0.0.1", 0))
    with listening, pytest.raises(UnreachableError, match="timed out"):
        _connection(f"http://127.0.0.1:{listening.getsockname()[1]}").answer(Call("GET", "/x", seconds=0.05))


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("http://127.0.0.1:1", "Connection refused"),  # nobody serves tcpmux; a random port is another test each time
        ("127.0.0.1:8470", "does not start with http:// or https://"),
        ("ftp://127.0.0.1", "does not start with http:// or https://"),
        ("http://", "does not start with http:// or https://"),
        ("http://127.0.0.1:99999", "Port out of range"),
        ("http://[::1", "Invalid IPv6 URL"),
    ],
)
def test_an_address_that_nothing_answers_at(url: str, reason: str) -> None:
    with pytest.raises(UnreachableError, match=reason):
        _connection(url).answer(Call("GET", "/x"))


@pytest.mark.parametrize("credential", ["secret\r\nX-Other: 1", "secr\u00e9t"])
def test_a_credential_that_no_header_can_have_is_not_sent_and_not_shown(credential: str) -> None:
    with pytest.raises(UnreachableError, match="authorization has characters") as caught:
        _connection(f"http://127.0.0.1:{free_port()}", credential).answer(Call("GET", "/x"))
    assert "secr" not in str(caught.value)


def test_a_certificate_of_no_public_root_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root, certificate = write_service_certificate(tmp_path, "127.0.0.1")
    with any_server(lambda method, path, body: (200, "application/json", b"{}"), certificate=certificate) as url:
        with pytest.raises(UnreachableError, match="CERTIFICATE_VERIFY_FAILED"):
            _connection(url).answer(Call("GET", "/x"))
        monkeypatch.setattr(certifi, "where", lambda: str(root))
        assert _connection(url).answer(Call("GET", "/x")).json() == {}
