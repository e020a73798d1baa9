"""mitmproxy's options as the gate needs them: set once, checked at the start, refused when they change.

Several of them open the gate (``ignore_hosts`` tunnels without a look, ``ssl_insecure`` trusts anybody,
``onboarding`` answers for any URL), so each is asserted, those included that the gate never sets.
"""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from mitmproxy.exceptions import OptionsError
from mitmproxy.options import Options
from mitmproxy.optmanager import OptManager

FROZEN: Final[Mapping[str, object]] = MappingProxyType(
    {
        "mode": ["regular"],
        "server": False,  # proxy.listener listens
        "connection_strategy": "lazy",  # eager dials before any request is seen
        "rawtcp": False,
        "websocket": True,  # the handshake is decided, and each message (proxy.websocket)
        "http2": True,
        "http3": False,
        "validate_inbound_headers": True,
        "normalize_outbound_headers": True,
        "keep_host_header": False,
        "ssl_insecure": False,
        "upstream_cert": True,
        "add_upstream_certs_to_client_chain": False,
        "ignore_hosts": [],
        "allow_hosts": [],
        "tcp_hosts": [],
        "udp_hosts": [],
        "stream_large_bodies": None,  # a streamed request is decided after it was sent
        "store_streamed_bodies": False,
        "body_size_limit": None,  # ours: proxy.stream for requests; responses stream
        "client_certs": None,
        "request_client_cert": False,
        "certs": [],
        "cert_passphrase": None,
        "upstream_auth": None,
        "proxyauth": None,
        "connect_addr": None,
        "proxy_debug": False,
        "onboarding": False,
        "scripts": [],
        "tcp_timeout": 600,
        "tls_version_client_min": "TLS1_2",
        "tls_version_server_min": "TLS1_2",
    }
)
"""What every listed option must be. Options that no loaded addon defines are absent, which is as good as off."""

_FORBIDDEN_PREFIXES: Final = ("emudhra",)  # 12.3 signs with an intermediate whose key is public


class OptionsSnapshot:
    """The options as a connection sees them: plain attributes that nobody changes under it.

    mitmproxy copies an option deeply at each access, many times in a request.
    """

    def __init__(self, options: OptManager) -> None:
        vars(self).update({name: getattr(options, name) for name in options.keys()})  # noqa: SIM118 - not a dict

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"options are frozen: {name}")

    def __getattr__(self, name: str) -> Any:  # only for names that are not there; the type of each differs
        raise AttributeError(f"no such option: {name}")


class FrozenOptions:
    """Sets the options and refuses every other value, at the start and afterwards.

    ``authority_dir`` holds the certificate authority, ``upstream_roots`` the roots that upstream servers are
    verified against. The addon comes after those that define options.
    """

    def __init__(self, *, authority_dir: Path, upstream_roots: Path) -> None:
        self.required: Mapping[str, object] = {
            **FROZEN,
            "confdir": str(authority_dir),
            "ssl_verify_upstream_trusted_ca": str(upstream_roots),
            "ssl_verify_upstream_trusted_confdir": None,
        }
        self._options: OptManager | None = None
        self._sealed = False

    def apply(self, options: Options) -> None:
        """Set what is required, where it is defined, and watch it from now on."""
        # Only what differs: mitmproxy reacts to every option that is set, to its default value too.
        wanted = {name: value for name, value in self.required.items() if name in options}
        options.update(**{name: value for name, value in wanted.items() if getattr(options, name) != value})
        self._options = options
        self.check()

    def seal(self) -> None:
        """From now on no option changes at all."""
        self._sealed = True

    def configure(self, updated: set[str]) -> None:
        if self._sealed:
            raise OptionsError(f"the gate's options are frozen: {', '.join(sorted(updated))}")
        if self._options is not None:
            self.check()

    def check(self) -> None:
        """Raises OptionsError, which names the option."""
        options = self._options
        if options is None:
            raise OptionsError("the gate's options were never applied")
        for name, value in self.required.items():
            if name in options and getattr(options, name) != value:
                raise OptionsError(f"{name} must be {value!r}")
        for name in options.keys():  # noqa: SIM118 - not a dict
            if name.startswith(_FORBIDDEN_PREFIXES) and getattr(options, name):
                raise OptionsError(f"{name} must not be set")
