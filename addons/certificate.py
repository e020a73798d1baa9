"""The authority's certificate at a plain address: ``http://<the proxy's host and port>/ca.pem``.

Only for requests that are addressed to the proxy itself; a request sent through it is none of this addon's.
Nothing here is secret, so no key is asked for. Whoever fetches it over an open network compares fingerprints.
"""

from collections.abc import Callable

from mitmproxy.http import HTTPFlow, Response

from addons.refuse import close_after, refuse_and_close
from addons.verdict import answer, flow_state, is_open
from headgate.kernel.clock import Clock, system_clock
from headgate.kernel.errors import NotFoundError

_PATH = b"/ca.pem"


class Certificate:
    """``read_pem`` gives what clients should trust, read when asked, so that a rotation shows."""

    def __init__(self, read_pem: Callable[[], bytes], clock: Clock = system_clock) -> None:
        self._read_pem = read_pem
        self._clock = clock

    def requestheaders(self, flow: HTTPFlow) -> None:
        if not is_open(flow) or not flow_state(flow).origin_form:
            return
        data = flow.request.data
        if data.path == _PATH and data.method in (b"GET", b"HEAD"):
            pem = self._read_pem()
            response = Response.make(
                200, b"" if data.method == b"HEAD" else pem, {"content-type": "application/x-pem-file"}
            )
            answer(flow, response)
            close_after(flow)
        else:
            refuse_and_close(
                flow,
                NotFoundError("this is a proxy: send requests through it, with an absolute URL or CONNECT"),
                clock=self._clock,
            )
