"""How long the client of a request still reads an answer, where it says so (gRPC, Connect)."""

import time

from mitmproxy.http import HTTPFlow

from headgate.protocols.grpc_deadline import answer_within_seconds


def client_seconds(flow: HTTPFlow) -> float | None:
    """From now on; None where the request names no deadline. It runs since the head of the request arrived."""
    within = answer_within_seconds(flow.request.data.headers.fields)
    return None if within is None else within - (time.time() - flow.request.data.timestamp_start)
