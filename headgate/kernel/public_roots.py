"""The public certificate authorities, read once a process for every client in it.

httpx reads them anew for each client, also for one that never speaks TLS: each time some 20 ms of a processor and
1.5 MB.
"""

import ssl
from functools import cache

import certifi


def default_context() -> ssl.SSLContext:
    """One of its own, with the same roots. The minimum is set here: some systems build Python with their own."""
    context = ssl.create_default_context(cafile=certifi.where())
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


@cache
def public_roots() -> ssl.SSLContext:
    """As httpx makes it (httpx documentation, "SSL"): verifies names and chains against certifi's roots; TLS 1.2 or
    later (Python documentation, "ssl.create_default_context").

    Shared: add no roots and no certificate to it. httpcore sets the protocols of ALPN in it at each connection, so that
    every client that has it speaks HTTP/1.1.
    """
    return default_context()
