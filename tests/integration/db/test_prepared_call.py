"""The one prepared call, against a server that ends its connection, or is not there."""

import asyncio
from typing import Any

import psycopg
import pytest

from headgate.db.prepared_call import PreparedCall, StatementRefusedError
from headgate.kernel.errors import UnavailableError
from headgate.kernel.secrets import Secret


def answer_of(call: PreparedCall) -> "asyncio.Future[Any]":
    """One call without parameters, as something to wait for."""
    future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

    def answered(answer: Any) -> None:
        if isinstance(answer, UnavailableError):
            future.set_exception(answer)
        else:
            future.set_result(answer)

    call.call([], answered)
    return future


async def test_a_connection_that_the_server_ends_is_made_anew(database_urls) -> None:
    call = PreparedCall(Secret(database_urls.proxy), "SELECT pg_backend_pid()", [], deadline_seconds=5)
    await call.open()
    try:
        pid = await _backend(call)
        with psycopg.connect(database_urls.administrator, autocommit=True) as connection:
            connection.execute("SELECT pg_terminate_backend(%s)", [pid])
        async with asyncio.timeout(10):
            while await _backend(call) in (pid, None):
                await asyncio.sleep(0.01)
    finally:
        await call.close()


async def test_ended_in_the_middle_of_a_call(database_urls) -> None:
    """Lost, not refused: what the rows are worth is unknown. And the loop forgets the connection's descriptor: the
    next connection, an agent's perhaps, gets its number, would be taken for watched, and never be heard."""
    call = PreparedCall(Secret(database_urls.proxy), "SELECT pg_sleep(30)", [], deadline_seconds=30)
    await call.open()
    loop, still_watched = asyncio.get_running_loop(), []
    try:
        descriptor = call._connection.pgconn.socket
        answers: list[Any] = []

        def answered(answer: Any) -> None:
            # Told before the connection is made anew, which may take the same number.
            still_watched.append(loop.remove_reader(descriptor))
            answers.append(answer)

        call.call([], answered)
        with psycopg.connect(database_urls.administrator, autocommit=True) as connection:
            connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '%(30)'")
        async with asyncio.timeout(10):
            while not answers:
                await asyncio.sleep(0.01)
        assert type(answers[0]) is UnavailableError
        assert still_watched == [False]
    finally:
        await call.close()


@pytest.mark.parametrize(
    ("sql", "refused"),
    [
        ("SELECT 1/0 WHERE random() >= 0", True),
        ("SELECT error('55P03')", False),
        ("SELECT error('40P01')", False),
        ("SELECT error('53100')", False),
        ("SELECT error('57014')", False),
        ("SELECT error('23505')", True),
        ("SELECT error('P0001')", True),
    ],
)
async def test_whether_an_error_is_of_the_rows_or_of_the_server(database_urls, sql, refused) -> None:
    with psycopg.connect(database_urls.administrator, autocommit=True) as connection:
        connection.execute(
            "CREATE FUNCTION error(state text) RETURNS void LANGUAGE plpgsql AS"
            " $$ BEGIN RAISE EXCEPTION 'as asked' USING ERRCODE = state; END $$"
        )
    call = PreparedCall(Secret(database_urls.proxy), sql, [], deadline_seconds=5)
    await call.open()
    try:
        with pytest.raises(UnavailableError) as raised:
            await answer_of(call)
        assert isinstance(raised.value, StatementRefusedError) is refused
    finally:
        await call.close()


@pytest.mark.parametrize(("state", "refused"), [("23505", True), ("57014", False)])
async def test_rows_of_a_transaction_that_is_not_committed_are_no_answer(database_urls, state, refused) -> None:
    """The rows come first, the commit's own error after them: a record that was rolled back must admit nothing."""
    with psycopg.connect(database_urls.administrator, autocommit=True) as connection:
        connection.execute("CREATE TABLE written (state text)")
        connection.execute(
            "CREATE FUNCTION at_commit() RETURNS trigger LANGUAGE plpgsql AS"
            " $$ BEGIN RAISE EXCEPTION 'not committed' USING ERRCODE = NEW.state; END $$"
        )
        connection.execute(
            "CREATE CONSTRAINT TRIGGER late AFTER INSERT ON written DEFERRABLE INITIALLY DEFERRED"
            " FOR EACH ROW EXECUTE FUNCTION at_commit()"
        )
        connection.execute(
            "CREATE FUNCTION write_down(state text) RETURNS text LANGUAGE sql SECURITY DEFINER AS"
            " $$ INSERT INTO written VALUES (state); SELECT 'recorded' $$"
        )
    call = PreparedCall(Secret(database_urls.proxy), f"SELECT write_down('{state}')", [], deadline_seconds=5)
    await call.open()
    try:
        with pytest.raises(UnavailableError) as raised:
            await answer_of(call)
        assert isinstance(raised.value, StatementRefusedError) is refused
        with psycopg.connect(database_urls.administrator) as connection:
            assert connection.execute("SELECT count(*) FROM written").fetchone() == (0,)
    finally:
        await call.close()


async def test_a_later_call_that_is_not_answered_in_time_is_lost(database_urls) -> None:
    """The first call sets the timer, the second is under way when it fires, and is given its own time."""
    with psycopg.connect(database_urls.administrator, autocommit=True) as connection:
        connection.execute("CREATE SEQUENCE calls")
        connection.execute(
            "CREATE FUNCTION hang_from_the_second() RETURNS void LANGUAGE sql SECURITY DEFINER AS"
            " $$ SELECT pg_sleep(CASE nextval('calls') WHEN 1 THEN 0 ELSE 60 END) $$"
        )
    call = PreparedCall(Secret(database_urls.proxy), "SELECT hang_from_the_second()", [], deadline_seconds=4)
    await call.open()
    loop = asyncio.get_running_loop()
    try:
        await answer_of(call)
        began = loop.time()
        with pytest.raises(UnavailableError, match="in time"):
            await asyncio.wait_for(answer_of(call), timeout=50)
        assert loop.time() - began >= 4
    finally:
        await call.close()


async def test_without_a_server_a_call_fails_at_once(database_urls) -> None:
    call = PreparedCall(Secret(database_urls.proxy + "&port=1"), "SELECT 1", [], deadline_seconds=5)
    try:
        with pytest.raises(UnavailableError):
            await call.open()
        with pytest.raises(UnavailableError) as raised:
            await asyncio.wait_for(answer_of(call), timeout=1)
        assert raised.value.retry_after_seconds == 1
    finally:
        await call.close()


async def _backend(call: PreparedCall) -> int | None:
    try:
        return int.from_bytes((await answer_of(call)).get_value(0, 0))
    except UnavailableError:
        return None
