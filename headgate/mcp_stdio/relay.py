"""Passes messages between an MCP client and a server, each only after it was decided.

Messages of one side are decided in the order in which they come; one that is held lets those behind it pass, as
requests of JSON-RPC may be answered in any order. What the server answers, and its notifications, pass undecided: they
belong to requests that were decided.
"""

import asyncio
import contextlib
import json
import uuid
from collections.abc import Callable
from typing import Final

from msgspec import Struct

from headgate.kernel.canonical_json import JsonObject, JsonValue, canonical_bytes, sha256_hex
from headgate.kernel.clock import system_clock
from headgate.kernel.error_body import error_body
from headgate.kernel.errors import AmbiguousRequestError, HeadgateError
from headgate.kernel.tasks import TaskSet
from headgate.mcp_stdio.decide import Decisions, Passed, Waiting
from headgate.mcp_stdio.lines import Lines, next_line
from headgate.mcp_stdio.message import (
    INVALID_REQUEST,
    SERVER_ERROR,
    Kind,
    Message,
    NotDecidedError,
    WithheldError,
    parse_message,
)
from headgate.mcp_stdio.proposal import Proposal, proposal
from headgate.protocols.mcp_answer import failure_in_message
from headgate.protocols.mcp_exchange import CALL, CANCELLED, LIST, McpId, is_mcp_id
from headgate.protocols.mcp_tool_list import list_record, read_tool_list

PROGRESS_SECONDS: Final = 10.0
_REPORT_SECONDS: Final = 10.0
_NO_ANSWER: Final = "outcome unknown: the server ended, and had not answered"
_SAME_ID: Final = AmbiguousRequestError("another request with this id has no answer yet")
_WARNED_CHARACTERS_MAX: Final = 200


class Forwarded(Struct, frozen=True):
    """A request that the server was sent. ``action_id``: of a call of a tool, a list of tools or an approved request,
    whose end is reported; None: of another."""

    action_id: str | None
    lists_tools: bool = False


class Held(Struct, frozen=True):
    """A request that waits for its approval."""

    task: asyncio.Task[object]
    action_id: str
    proposed: Proposal


class Relay:
    """Of one client and one server. ``warn`` tells a person what no message can tell."""

    def __init__(
        self,
        server: str,
        decisions: Decisions,
        *,
        to_client: Lines,
        to_server: Lines,
        warn: Callable[[str], None],
        progress_seconds: float = PROGRESS_SECONDS,
    ) -> None:
        self._server = server
        self._decisions = decisions
        self._to_client = to_client
        self._to_server = to_server
        self._warn = warn
        self._progress_seconds = progress_seconds
        self._forwarded: dict[McpId, Forwarded] = {}
        self._asked_client: set[McpId] = set()
        self._held: dict[McpId, Held] = {}
        self._tasks = TaskSet(self._failed)

    async def from_client(self, reader: asyncio.StreamReader) -> None:
        """Until the client ends. Raises PayloadTooLargeError, BrokenPipeError, ConnectionResetError."""
        while (line := await next_line(reader)) is not None:
            try:
                message = parse_message(line)
            except AmbiguousRequestError as error:
                await self._to_client.write(_error(None, error, code=INVALID_REQUEST))
                continue
            if message.kind is Kind.NOTIFICATION and message.method == CANCELLED and self._cancels_held(message):
                continue
            if message.kind is Kind.REQUEST and (message.id in self._forwarded or message.id in self._held):
                await self._to_client.write(_error(message.id, _SAME_ID, code=INVALID_REQUEST))
                continue
            if message.kind is Kind.RESPONSE and (message.id is None or message.id not in self._asked_client):
                self._warn("the client answered a request that the server did not make: not passed on")
                continue
            await self._consider(message, from_server=False)

    async def from_server(self, reader: asyncio.StreamReader) -> None:
        """Until the server ends. Raises PayloadTooLargeError, BrokenPipeError."""
        while (line := await next_line(reader)) is not None:
            try:
                message = parse_message(line)
            except AmbiguousRequestError as error:
                shown = line[:_WARNED_CHARACTERS_MAX].decode("utf-8", "backslashreplace")
                self._warn(f"the server wrote what is no message, which is not passed on ({error.message}): {shown!r}")
                continue
            match message.kind:
                case Kind.NOTIFICATION:
                    await self._to_client.write(line)
                case Kind.RESPONSE:
                    await self._answered(message)
                case Kind.REQUEST if message.id in self._asked_client:
                    await self._to_server.write(_error(message.id, _SAME_ID, code=INVALID_REQUEST))
                case Kind.REQUEST:
                    await self._consider(message, from_server=True)

    async def end(self, *, client_listens: bool) -> None:
        """One of the two has ended. ``client_listens``: it is the server, and the client is told for what it waits in
        vain."""
        unanswered = [*self._forwarded.items(), *((message_id, Forwarded(None)) for message_id in self._held)]
        for message_id in list(self._held):
            self._give_up(message_id)
        for message_id, forwarded in unanswered:
            if client_listens:
                with contextlib.suppress(OSError):  # it has gone in this moment
                    await self._to_client.write(_error(message_id, NotDecidedError("the MCP server has ended")))
            if forwarded.action_id is not None:
                self._tasks.start(self._report(forwarded.action_id, {}, _NO_ANSWER), name="report")
        self._forwarded.clear()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_REPORT_SECONDS):
                await self._tasks.wait()
        await self._tasks.close()

    async def _consider(self, message: Message, *, from_server: bool) -> None:
        try:
            proposed = proposal(self._server, message, from_server=from_server)
            decided = await self._decisions.decide(proposed)
        except HeadgateError as error:
            await self._refuse(message, error, from_server=from_server)
            return
        if isinstance(decided, Passed):
            await self._pass_on(message, decided, from_server=from_server)
            return
        task = self._tasks.start(self._hold(message, proposed, decided, from_server=from_server), name="hold")
        if message.kind is Kind.REQUEST and message.id is not None and not from_server:
            self._held[message.id] = Held(task, decided.action_id, proposed)

    async def _hold(self, message: Message, proposed: Proposal, waiting: Waiting, *, from_server: bool) -> None:
        progress = None if from_server else self._tasks.start(self._tell_progress(message), name="progress")
        is_clients = message.kind is Kind.REQUEST and not from_server
        try:
            passed = await self._decisions.settle(proposed, waiting)
        except Exception as error:  # noqa: BLE001 - whatever it is, the call did not pass, and its client is told
            self._no_longer_held(message.id if is_clients else None)
            told = error if isinstance(error, HeadgateError) else NotDecidedError(f"nothing was passed on: {error!r}")
            await self._refuse(message, told, from_server=from_server)
        else:
            # From here on the server knows of it, and is to hear of its cancellation.
            self._no_longer_held(message.id if is_clients else None)
            await self._pass_on(message, passed, from_server=from_server)
        finally:
            if progress is not None:
                progress.cancel()

    def _no_longer_held(self, message_id: McpId | None) -> None:
        if message_id is not None:
            self._held.pop(message_id, None)

    def _give_up(self, message_id: McpId) -> None:
        """Nobody wants it any more. A task that has not begun sees no cancellation, so the API is told by another."""
        held = self._held.pop(message_id)
        held.task.cancel()
        self._tasks.start(self._decisions.cancel(held.action_id, held.proposed), name="cancel")

    async def _tell_progress(self, message: Message) -> None:
        meta = message.params.get("_meta")
        token = meta.get("progressToken") if isinstance(meta, dict) else None
        if message.kind is not Kind.REQUEST or not is_mcp_id(token):
            return
        told = 0
        while True:
            told += 1
            params: JsonObject = {"progressToken": token, "progress": told, "message": "waiting for a decision"}
            await self._to_client.write(_text({"jsonrpc": "2.0", "method": "notifications/progress", "params": params}))
            await asyncio.sleep(self._progress_seconds)

    async def _pass_on(self, message: Message, passed: Passed, *, from_server: bool) -> None:
        line = message.line
        if passed.edited is not None:
            if message.method != CALL:
                error = NotDecidedError("a reviewer edited this message, and only calls of tools can be edited")
                self._report_taken(passed, f"not sent: {error.message}")
                await self._refuse(message, error, from_server=from_server)
                return
            line = _edited(message, passed.edited)
        is_clients_request = message.kind is Kind.REQUEST and message.id is not None and not from_server
        if is_clients_request and message.id is not None:
            # Before it is written: the answer may come at once, and tells how the call ended.
            is_reported = message.method in (CALL, LIST) or passed.taken
            self._forwarded[message.id] = Forwarded(
                passed.action_id if is_reported else None, lists_tools=message.method == LIST
            )
        elif message.id is not None and from_server:
            self._asked_client.add(message.id)
        elif message.id is not None:
            self._asked_client.discard(message.id)
        try:
            await (self._to_client if from_server else self._to_server).write(line)
        except OSError:
            if not is_clients_request:
                self._report_taken(passed, "not sent: its reader has gone")
            raise
        if not is_clients_request:
            self._report_taken(passed, None)

    def _report_taken(self, passed: Passed, error: str | None) -> None:
        """Of a message whose approval was claimed, and which no answer ends."""
        if passed.taken:
            self._tasks.start(self._report(passed.action_id, {}, error), name="report")

    async def _refuse(self, message: Message, error: HeadgateError, *, from_server: bool) -> None:
        """Whoever waits for an answer gets an error in its place; of a notification nobody does."""
        match message.kind:
            case Kind.REQUEST:
                await (self._to_server if from_server else self._to_client).write(_error(message.id, error))
            case Kind.RESPONSE if message.id is not None:
                self._asked_client.discard(message.id)
                await self._to_server.write(_error(message.id, error))
            case _:
                self._warn(f"{message.method} was not passed on: {error.message}")

    async def _answered(self, message: Message) -> None:
        forwarded = None if message.id is None else self._forwarded.pop(message.id, None)
        if forwarded is None or message.id is None:
            self._warn("the server answered a request that it was not sent: not passed on")
            return
        line = message.line
        result: JsonObject = {"size_bytes": len(line), "sha256": sha256_hex(line)}
        failure = failure_in_message(line, message.id)
        if forwarded.lists_tools:
            try:
                line, result["inspection"] = await self._offered(line)
            except HeadgateError as error:
                line, failure = _error(message.id, error), error.message
        await self._to_client.write(line)
        if forwarded.action_id is not None:
            self._tasks.start(self._report(forwarded.action_id, result, failure), name="report")

    async def _offered(self, line: bytes) -> tuple[bytes, JsonObject]:
        """A list without the tools that the agent may not call, and what is kept of it. Raises HeadgateError: none of
        it may be shown."""
        try:
            answer = read_tool_list(line, is_stream=False)
        except AmbiguousRequestError as error:
            raise WithheldError(f"the list of tools could not be inspected: {error.message}") from error
        offer = await self._decisions.offered(self._server, answer.tools)
        if offer["withheld"] is not None:
            details: JsonObject = {"policies": offer["policies"]}
            raise WithheldError(f"the list of tools is withheld: {offer['withheld']}", details=details)
        names = {one["name"] for one in offer["left_out"]}
        left_out = [(one["name"], one["policy_id"], one["reason"]) for one in offer["left_out"]]
        tools = list_record(len(answer.tools), left_out, offer["changed"], first_seen=offer["first_seen"])
        return answer.without(names) if names else line, {"withheld": False, "tools": tools}

    async def _report(self, action_id: str, result: JsonObject, error: str | None) -> None:
        try:
            await self._decisions.report(action_id, result=result, error=error)
        except HeadgateError as failure:
            self._warn(f"the outcome of {action_id} is not on record: {failure.message}")

    def _cancels_held(self, message: Message) -> bool:
        """Whether it cancels a call that waits: the server has not heard of that one."""
        request_id = message.params.get("requestId")
        if not is_mcp_id(request_id) or request_id not in self._held:
            return False
        self._give_up(request_id)
        return True

    def _failed(self, name: str, error: BaseException) -> None:
        if not isinstance(error, OSError):  # the reader of a pipe has gone, which its own end tells
            self._warn(f"a message was not passed on ({name}): {error!r}")


def _error(message_id: McpId | None, error: HeadgateError, *, code: int = SERVER_ERROR) -> bytes:
    """The data is that of the proxy's refusals (docs/reference/errors.md)."""
    data = error_body(error.code, error.message, error.details, request_id=uuid.uuid4().hex, now=system_clock())
    shown = {"code": code, "message": f"{error.code.value}: {error.message}", "data": data}
    return json.dumps({"jsonrpc": "2.0", "id": message_id, "error": shown}, default=str).encode("ascii")


def _edited(message: Message, arguments: JsonObject) -> bytes:
    """The call with the arguments that a reviewer approved. A notification has no ``id`` member (JSON-RPC 2.0, 4.1)."""
    edited: JsonObject = {"jsonrpc": "2.0", "method": CALL, "params": {**message.params, "arguments": arguments}}
    if message.id is not None:
        edited["id"] = message.id
    return _text(edited)


def _text(message: dict[str, JsonValue]) -> bytes:
    return canonical_bytes(message)
