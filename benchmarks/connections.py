"""What a connection adds to a call (100 µs at most), and what it costs calls that have none.

``python -m benchmarks.connections``: microseconds of processor time, the least of repeated runs.
"""

import os
import time
import timeit
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

from msgspec.structs import replace

from headgate.agents.model import KeyIdentity
from headgate.agents.scopes import KeyKind
from headgate.connections.carried import Carried, carried_of
from headgate.connections.choose import NO_CONNECTIONS, ConnectionBook, book_of
from headgate.connections.credential import KeptSecrets
from headgate.connections.model import ANY, AUTHORIZATION, Connection, ConnectionKind, ConnectionStatus, Host
from headgate.connections.placeholders import mentions_placeholder
from headgate.gate.candidate import Candidate, candidate_for, with_connection
from headgate.protocols.http_call import HttpCall
from headgate.tools.interpret import interpret
from headgate.tools.load import load_catalogues

_ORG: Final = "org_01932c07-209c-7000-8000-000000000000"
_AGENT: Final = "agt_01932c07-209c-7000-8000-000000000000"
_ROUNDS, _CALLS = 7, 2_000
_HEADERS: Final = (
    (b"Host", b"api.github.com"),
    (b"User-Agent", b"agent/1.0"),
    (b"Accept", b"application/vnd.github+json"),
    (b"Accept-Encoding", b"gzip, deflate, br"),
    (b"Authorization", b"Bearer hg_placeholder_c7"),
)


def connection(number: int, kind: ConnectionKind = ConnectionKind.BEARER) -> Connection:
    now = datetime.now(UTC)
    return Connection(
        org_id=_ORG,
        connection_id=f"con_01932c07-209c-7000-8000-{number:012x}",
        name=f"c{number}",
        platform="generic",
        kind=kind,
        status=ConnectionStatus.ACTIVE,
        status_reason=None,
        hosts=(Host("api.github.com" if number == 7 else f"api{number}.example.com", 443),),
        place=AUTHORIZATION,
        agents=frozenset({_AGENT}),
        tools=frozenset({ANY}),
        needs_placeholder=False,
        account=None,
        scopes=(),
        settings={"region": "eu-west-1", "service": "sqs"} if kind is ConnectionKind.AWS_SIGV4 else {},
        revision=1,
        secret_version=1,
        expires_at=None,
        refresh_at=None,
        check_at=None,
        checked_at=None,
        failures=0,
        owner_id=None,
        created_at=now,
        updated_at=now,
    )


def _microseconds(run: Callable[[], object]) -> float:
    return min(timeit.repeat(run, timer=time.process_time, number=_CALLS, repeat=_ROUNDS)) / _CALLS * 1e6


def _candidate(headers: tuple[tuple[bytes, bytes], ...]) -> Candidate:
    call = HttpCall("GET", "https", "api.github.com", 443, "/repos/acme/app/issues/5", "", headers, b"")
    identity = KeyIdentity(_ORG, "key_1", KeyKind.AGENT, _AGENT, "b", None, frozenset(), None, 1)
    return candidate_for(identity, interpret(call, load_catalogues()))


def _written(candidate: Candidate, carried: Carried) -> Callable[[], object]:
    call, now = candidate.draft.call, datetime.now(UTC)
    if call is None:
        raise ValueError("a call is needed")
    left = tuple(one for one in call.headers if one[0].lower() != b"accept-encoding")
    return lambda: carried.written(replace(call, headers=(*left, (b"accept-encoding", b"identity"))), now)


def report_microseconds() -> None:
    book: ConnectionBook = book_of(connection(number) for number in range(100))
    plain, asking = _candidate(_HEADERS[:4]), _candidate(_HEADERS)
    nothing = _microseconds(lambda: with_connection(plain, NO_CONNECTIONS, _ORG))
    other = HttpCall("GET", "https", "api.example.org", 443, "/", "", _HEADERS[:4], b"")
    elsewhere = replace(plain, draft=interpret(other, load_catalogues()))
    unserved = _microseconds(lambda: with_connection(elsewhere, book, _ORG))
    looked = _microseconds(lambda: mentions_placeholder(plain.draft))
    print(f"  {looked:6.1f} µs  looking for placeholders, in every call")
    print(f"  {nothing:6.1f} µs  an organization without connections")
    print(f"  {unserved:6.1f} µs  100 connections, none of which serves the call")
    bearer = carried_of(connection(7), KeptSecrets({"secret": "ghp_0123456789abcdefghij"}))
    amazon = connection(7, ConnectionKind.AWS_SIGV4)
    keys = KeptSecrets({"access_key_id": "AKIDEXAMPLE", "secret_access_key": "wJalrXUtnFEMI/K7MDENG"})
    for name, candidate, carried in (
        ("chosen by its host, bearer", plain, bearer),
        ("chosen by its placeholder, bearer", asking, bearer),
        ("chosen by its host, AWS SigV4", plain, carried_of(amazon, keys)),
    ):
        chosen = _microseconds(lambda candidate=candidate: with_connection(candidate, book, _ORG))  # type: ignore[misc] # bound now
        written = _microseconds(_written(candidate, carried))
        print(f"  {chosen + written:6.1f} µs  {name}: choosing {chosen:.1f}, writing {written:.1f}")
    answer = b'{"items": [' + b'{"id": 1, "name": "some text that is no secret"},' * 200 + b"]}"
    stream = bearer.mask.stream()
    masked = _microseconds(lambda: stream.feed(answer))
    print(f"  {masked:6.1f} µs  looking for echoes in {len(answer)} bytes of an answer")


def main() -> None:
    print(f"{datetime.now(UTC):%Y-%m-%d}, {os.cpu_count()} cores for everything, load {os.getloadavg()[0]:.1f}")
    report_microseconds()


if __name__ == "__main__":
    main()
