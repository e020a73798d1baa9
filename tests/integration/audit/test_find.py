"""What the index of blocks finds is what looking at every event finds: filters, pages, totals, cursors."""

import random
from datetime import UTC, datetime, timedelta

import psycopg
import pytest
from msgspec.structs import replace

from headgate.audit.blocks import BLOCK_EVENTS
from headgate.audit.feed_store import newest_seq
from headgate.audit.find import Finder, finder
from headgate.audit.indexer import index_due
from headgate.audit.model import SYSTEM, EventFilter, payload_text
from headgate.audit.store import list_events
from headgate.db.database import Database
from headgate.journal.apply import apply_before_reading

_START = datetime(2024, 5, 1, tzinfo=UTC)
_EVENTS = 3 * BLOCK_EVENTS + 300
_TOOLS = ("mail", "mail", "mail", "files", "billing")
_RARE = 1_500


@pytest.fixture
async def filled(
    api_database: Database, worker_database: Database, organization, superuser: psycopg.Connection[tuple[object, ...]]
) -> str:
    """Three indexed blocks and some: actions of several tools, times that are not quite in order, one rare agent."""
    dice, org_id = random.Random(7), organization.org_id  # noqa: S311 - a fixed series, nothing secret
    actions, rows = [], []
    for number in range(_EVENTS):
        action_id, agent_id, event_type = None, f"agt_{number % 3}", "key.created"
        if number % 5:
            action_id = f"act_{number // 5}"
            event_type = ("action.submitted", "decision.made", "execution.started")[number % 3]
        if number == _RARE:
            agent_id = "agt_rare"
        at = _START + timedelta(seconds=number + dice.randint(-40, 40))
        payload = payload_text(SYSTEM, {"n": number, "note": '50%_ "Straße"' if number % 700 == 3 else "plain"})
        rows.append((org_id, event_type, action_id, agent_id, at, payload))
        if number % 5 == 1:
            verdict = dice.choice(("allow", "deny", "require_approval"))
            actions.append((org_id, action_id, dice.choice(_TOOLS), dice.choice(("read", "send")), verdict))
    with superuser.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO actions (org_id, action_id, agent_id, source, tool, operation, status, digest, request,"
            " decision, risk_level, created_at, updated_at) VALUES (%s, %s, 'agt_0', 'api', %s, %s, 'denied',"
            ' sha256(\'\'), \'{}\', format(\'{"decision":"%%s","reason":"\\u0000"}\', %s::text),'
            " 'low', now(), now())",
            actions,
        )
        cursor.executemany(
            "INSERT INTO journal (org_id, event_type, action_id, agent_id, created_at, payload)"
            " VALUES (%s, %s, %s, %s, %s, %s)",
            rows,
        )
    await apply_before_reading(api_database, org_id)
    while await index_due(worker_database):
        pass
    return str(org_id)


_FILTERS = [
    EventFilter(),
    EventFilter(event_type="key.created"),
    EventFilter(event_type="no.such"),
    EventFilter(agent_id="agt_rare"),
    EventFilter(agents=("agt_0", "agt_rare")),
    EventFilter(agents=()),
    EventFilter(agent_id="agt_1", agents=("agt_0",)),
    EventFilter(tool="files"),
    EventFilter(tool="billing", operation="send", decision="deny"),
    EventFilter(risk_level="low", event_type="decision.made"),
    EventFilter(decision="require_approval", agent_id="agt_2"),
    EventFilter(start=_START + timedelta(seconds=900)),
    EventFilter(end=_START + timedelta(seconds=1_000)),
    EventFilter(start=_START + timedelta(seconds=1_000), end=_START + timedelta(seconds=1_030)),
    EventFilter(start=_START + timedelta(seconds=500), end=_START + timedelta(seconds=3_200), tool="mail"),
    EventFilter(start=_START + timedelta(days=400)),
]


@pytest.mark.parametrize("most_unindexed", [5_000, 50])
async def test_the_index_finds_what_looking_finds(
    api_database: Database, filled: str, monkeypatch: pytest.MonkeyPatch, most_unindexed: int
) -> None:
    """With 50, as where the indexer is far behind: what is not indexed is too much to hold."""
    monkeypatch.setattr("headgate.audit.find._MOST_UNINDEXED", most_unindexed)
    async with api_database.transaction(filled) as connection:
        for wanted in _FILTERS:
            indexed = await finder(connection, filled, wanted)
            assert indexed.blocks == 3
            looking = Finder(connection, filled, wanted, 0, await newest_seq(connection, filled))
            everything = await looking.seqs(_EVENTS + 1, 0, None)
            assert await indexed.seqs(_EVENTS + 1, 0, None) == everything
            assert await indexed.count(exact=False) == (len(everything), False)
            assert await indexed.count(exact=True) == (len(everything), False)
            for limit, offset in ((1, 0), (50, 0), (50, 290), (7, 1_100), (200, 3_300)):
                assert await indexed.seqs(limit, offset, None) == everything[offset : offset + limit]
            for cursor in (1, BLOCK_EVENTS, BLOCK_EVENTS + 1, 2_000, 3 * BLOCK_EVENTS + 10, 10**9):
                below = [seq for seq in everything if seq < cursor]
                assert await indexed.seqs(60, 0, cursor) == below[:60]


async def test_totals_are_exact_up_to_a_limit(
    api_database: Database, filled: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headgate.db.bounded_count.EXACT_TOTAL_LIMIT", 1_000)
    async with api_database.transaction(filled) as connection:
        page = await list_events(connection, filled, EventFilter())
        exact = await list_events(connection, filled, EventFilter(), exact_total=True)
        rare = await list_events(connection, filled, EventFilter(agent_id="agt_rare"))
    assert (page.total, page.total_is_minimum) == (1_000, True)
    assert (exact.total, exact.total_is_minimum) == (_EVENTS, False)
    assert (rare.total, rare.total_is_minimum, rare.events[0].data["n"]) == (1, False, _RARE)


async def test_a_search_goes_on_by_cursor_until_the_record_ends(
    api_database: Database, filled: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headgate.audit.store.SEARCHED_EVENTS", 500)
    marked = [number for number in reversed(range(_EVENTS)) if number % 700 == 3]
    for text in ("STRASSE", '50%_ "Straße"', "50%_"):
        found, cursor, pages = [], None, 0
        async with api_database.transaction(filled) as connection:
            while pages == 0 or cursor is not None:
                page = await list_events(connection, filled, EventFilter(text=text), limit=1, cursor=cursor)
                found += [event.data["n"] for event in page.events]
                cursor, pages = page.next_cursor, pages + 1
        assert found == ([] if text == "STRASSE" else marked)
        assert pages >= _EVENTS // 500


async def test_a_search_within_a_filter(api_database: Database, filled: str) -> None:
    wanted = EventFilter(text="straße", start=_START - timedelta(minutes=1), end=_START + timedelta(seconds=1_000))
    async with api_database.transaction(filled) as connection:
        page = await list_events(connection, filled, wanted)
        elsewhere = await list_events(connection, filled, replace(wanted, tool="no_such"))
    assert [event.data["n"] for event in page.events] == [703, 3]
    assert (page.total, page.total_is_minimum, page.next_cursor) == (2, False, None)
    assert elsewhere.events == []


async def test_an_event_by_its_number(api_database: Database, filled: str) -> None:
    async with api_database.transaction(filled) as connection:
        for number in (1, _RARE + 1, _EVENTS):
            page = await list_events(connection, filled, EventFilter(seq=number))
            assert [(one.seq, page.total) for one in page.events] == [(number, 1)]
        assert (await list_events(connection, filled, EventFilter(seq=_RARE + 1, agent_id="agt_rare"))).total == 1
        for other in (EventFilter(seq=_EVENTS + 1), EventFilter(seq=10**18 - 1), EventFilter(seq=1, event_type="x.y")):
            assert (await list_events(connection, filled, other)).events == []


async def test_a_search_by_hash_and_by_actor(
    api_database: Database, filled: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the actor only: each event's data says ``plain`` or ``Straße``, and each event's actor is Headgate."""
    monkeypatch.setattr("headgate.audit.store.SEARCHED_EVENTS", 500)
    async with api_database.transaction(filled) as connection:
        rare = (await list_events(connection, filled, EventFilter(agent_id="agt_rare"))).events[0]
        for wanted, expected in (
            (EventFilter(hash=rare.hash), [rare.seq]),
            (EventFilter(hash=rare.hash, actor="HEADGATE"), [rare.seq]),
            (EventFilter(hash=rare.hash, actor="plain"), []),
            (EventFilter(hash=b"\0" * 32), []),
            (EventFilter(actor="Straße"), []),
        ):
            found, cursor, pages = [], None, 0
            while pages == 0 or cursor is not None:
                page = await list_events(connection, filled, wanted, limit=5, cursor=cursor)
                found += [event.seq for event in page.events]
                cursor, pages = page.next_cursor, pages + 1
            assert found == expected
            assert pages >= _EVENTS // 500
        assert len((await list_events(connection, filled, EventFilter(actor="headgate"), limit=5)).events) == 5


async def test_indexing_again_changes_nothing(api_database: Database, worker_database: Database, filled: str) -> None:
    assert await index_due(worker_database) == 0
    async with api_database.transaction(filled) as connection:
        row = await (await connection.execute("SELECT count(*) AS n FROM audit_blocks")).fetchone()
    assert row is not None
    assert row["n"] == 3
