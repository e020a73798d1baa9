"""What a destination says before its answer, and heads of answers that readers understand in two ways."""

import pytest

FINAL = b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello"
HINTS = b"HTTP/1.1 103 Early Hints\r\nlink: </a.css>; rel=preload\r\n\r\n"


@pytest.mark.parametrize(
    "pieces",
    [
        [b"HTTP/1.1 100 Continue\r\n\r\n" + FINAL],
        [HINTS, FINAL],
        [HINTS + b"HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 2", FINAL[len("HTTP/1.1 2") :]],
        [HINTS * 100 + FINAL],
    ],
)
async def test_interim_answers_are_left_out(start, pieces) -> None:
    running = await start()
    running.upstream.scripts[b"/it"] = pieces
    received = await running.secure(running.get("/it"))
    assert received.startswith(b"HTTP/1.1 200 OK\r\n")
    assert received.endswith(b"\r\n\r\nhello")
    assert [one.status for one in running.decide.completions] == [200]


@pytest.mark.parametrize(
    "head",
    [
        HINTS * 101,
        b"HTTP/1.1 200 OK\rset-cookie: a=b\r\ncontent-length: 5\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nx-name: a\rset-cookie: a=b\r\ncontent-length: 5\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nx-name: a\x00b\r\ncontent-length: 5\r\n\r\n",
    ],
)
async def test_heads_that_have_no_one_reading(start, answer, head) -> None:
    running = await start()
    running.upstream.scripts[b"/it"] = [head + b"hello"]
    received = await running.secure(running.get("/it"))
    assert answer(received).status == 502
    assert b"set-cookie" not in received
    assert b"UPSTREAM_FAILED" in received


async def test_a_connection_is_used_again_after_interim_answers(start, answer) -> None:
    running = await start()
    running.upstream.scripts[b"/it"] = [HINTS * 60, FINAL]
    reader, writer = await running.tunnel()
    host = f"127.0.0.1:{running.upstream.port}"
    for _ in range(3):
        writer.write(f"GET /it HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        received = await reader.readuntil(b"hello")
        assert answer(received).status == 200
    writer.close()
    await writer.wait_closed()
    assert running.upstream.connections == 1
