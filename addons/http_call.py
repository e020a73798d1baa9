"""The intercepted request as the domain sees it: bytes as they arrived, checked by ``addons.limits`` before."""

from mitmproxy.http import HTTPFlow

from headgate.protocols.http_call import HttpCall


def http_call(flow: HTTPFlow) -> HttpCall:
    """Reads mitmproxy's raw data: its decoding properties cost more than the rest of the mapping together."""
    data = flow.request.data
    path, _, query = data.path.partition(b"?")
    return HttpCall(
        method=data.method.decode("ascii"),
        scheme=data.scheme.decode("ascii"),
        host=data.host,
        port=data.port,
        path=path.decode("ascii"),
        query=query.decode("ascii"),
        headers=data.headers.fields,
        body=data.content or b"",
    )
