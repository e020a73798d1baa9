"""mitmproxy with nothing in it: the yardstick of what interception costs by itself.

``python -m benchmarks.load.bare_master PORT CONFDIR UPSTREAM_ROOTS``.
"""

import asyncio
import sys

from mitmproxy.addons import core, errorcheck, next_layer, proxyserver, tlsconfig
from mitmproxy.http import HTTPFlow
from mitmproxy.master import Master
from mitmproxy.options import Options


class Stream:
    """What any proxy in production sets: large answers pass through."""

    def responseheaders(self, flow: HTTPFlow) -> None:
        if flow.response is not None:
            flow.response.stream = True


async def main(port: int, confdir: str, roots: str) -> None:
    master = Master(Options())
    master.addons.add(
        core.Core(),
        proxyserver.Proxyserver(),
        next_layer.NextLayer(),
        tlsconfig.TlsConfig(),
        Stream(),
        errorcheck.ErrorCheck(),
    )
    master.options.update(
        listen_host="127.0.0.1",
        listen_port=port,
        confdir=confdir,
        ssl_verify_upstream_trusted_ca=roots,
        connection_strategy="lazy",
    )
    await master.run()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), sys.argv[2], sys.argv[3]))
