"""What mitmproxy makes of captured exchanges, in a process that can be killed: its views parse whatever an agent or a
destination sent.

``python -m headgate.kernel.import_path admin_api.traffic.review_child`` reads frames (four bytes of length, big-endian,
then JSON) and answers each with one: ``{"answer": …}`` or ``{"refused": why}``.
"""

import base64
import io
import json
import resource
import sys
from collections.abc import Callable
from typing import IO, Any, Final

from mitmproxy import ctx
from mitmproxy.contentviews import prettify_message
from mitmproxy.http import HTTPFlow
from mitmproxy.io import FlowWriter

from admin_api.traffic.compare import compare
from admin_api.traffic.filter_expression import parse_filter
from admin_api.traffic.flows import flow_of

_ADDRESS_SPACE_BYTES: Final = 2 << 30
_PRETTY_MAX: Final = 1 << 20
_EXPRESSION_DEPTH_MAX: Final = 400


def matching(given: dict[str, Any]) -> list[str]:
    """Ids of those that the filter expression fits. Raises ValueError for one that is none."""
    fits = parse_filter(given["expression"])
    return [flow.id for flow in _flows(given) if fits(flow)]


def check(given: dict[str, Any]) -> None:
    """Raises ValueError."""
    parse_filter(given["expression"])


def pretty(given: dict[str, Any]) -> dict[str, Any]:
    """Both bodies as a view shows them."""
    (flow,) = _flows(given)
    shown: dict[str, Any] = {"request": _pretty(flow, flow.request, given["view"])}
    if flow.response is not None:
        shown["response"] = _pretty(flow, flow.response, given["view"])
    return shown


def har(given: dict[str, Any]) -> dict[str, Any]:
    """HTTP Archive 1.2."""
    from admin_api.traffic.archive import archive_of  # noqa: PLC0415 - with it comes every addon: seconds

    return archive_of(given["exchanges"])


def flow_file(given: dict[str, Any]) -> str:
    """mitmproxy's flow file, in base64."""
    written = io.BytesIO()
    writer = FlowWriter(written)
    for flow in _flows(given):
        writer.add(flow)
    return base64.b64encode(written.getvalue()).decode()


_WORKS: Final[dict[str, Callable[[dict[str, Any]], object]]] = {
    "check": check,
    "matching": matching,
    "pretty": pretty,
    "har": har,
    "flow": flow_file,
    "difference": lambda given: compare(given["left"], given["right"]),
}


def _flows(given: dict[str, Any]) -> list[HTTPFlow]:
    return [flow_of(one) for one in given["exchanges"]]


def _pretty(flow: HTTPFlow, message: Any, view: str) -> dict[str, str]:
    result = prettify_message(message, flow, view)
    return {"text": result.text[:_PRETTY_MAX], "view": result.view_name or ""}


def serve(source: IO[bytes], sink: IO[bytes]) -> None:
    """Until the other end closes."""
    while len(size := source.read(4)) == 4:
        asked = json.loads(source.read(int.from_bytes(size)))
        try:
            answer = {"answer": _WORKS[asked["work"]](asked)}
        # Whatever the bytes of strangers make of a parser, it is this question that failed.
        except Exception as error:  # noqa: BLE001
            answer = {"refused": str(error) or type(error).__name__}
        content = json.dumps(answer).encode()
        sink.write(len(content).to_bytes(4) + content)
        sink.flush()


class _Options:
    """What content views ask of the options of a running mitmproxy."""

    protobuf_definitions = None


if __name__ == "__main__":
    ctx.options = _Options()  # type: ignore[assignment] # there is no master here, and no other option is asked for
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (_ADDRESS_SPACE_BYTES, _ADDRESS_SPACE_BYTES))
    sys.setrecursionlimit(_EXPRESSION_DEPTH_MAX * 10)
    serve(sys.stdin.buffer, sys.stdout.buffer)
