"""The public certificate authorities, read once a process for every client in it.

httpx reads them anew for each client, also for one that never speaks TLS: each time some 20 ms of a processor and
1.5 MB.
"""

import ssl
from functools import cache

import certifi


@cache
def public_roots() -> ssl.SSLContext:
    """As httpx makes it (httpx documentation, "SSL"): verifies names and chains against certifi's roots; TLS 1.2 or
    later (Python documentation, "ssl.create_default_context").

    Shared, so that nobody adds roots or a certificate to it.
    """
    return ssl.create_default_context(cafile=certifi.where())
