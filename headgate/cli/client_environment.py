"""Which variables send a program's HTTP through the gate, and make it trust the gate's certificates.

There is no standard for either: each library has names of its own (docs/guides/clients.md lists what each one
reads). Variables that *replace* a client's roots get the public roots and the gate's; those that *add* get the
gate's alone.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final
from urllib.parse import quote, urlsplit

from msgspec import Struct

from headgate.runtime.agent_access import AgentAccess

_OURS: Final = "HEADGATE_"
_NAME_A_GATE: Final = frozenset(
    {
        "HEADGATE_RUNTIME_FILE",
        "HEADGATE_DATA_DIR",
        "HEADGATE_SETTINGS_FILE",
        "HEADGATE_CA_SHA256",
        "HEADGATE_COMMAND_NAME",
    }
)


class TrustFiles(Struct, frozen=True):
    """Files that clients are pointed to; made by ``headgate.cli.trust_files``.

    ``bundle``: public roots and the gate's, PEM; ``java_store``: the same as PKCS #12; ``wgetrc``: names the bundle.
    """

    certificate: Path
    bundle: Path
    java_store: Path
    java_store_password: str
    wgetrc: Path


def client_environment(access: AgentAccess, files: TrustFiles) -> dict[str, str]:
    """Variable → value, in the order in which they are shown."""
    proxy = urlsplit(access.proxy_url)
    # The user name means nothing; the key is the password (Proxy-Authorization: Basic, RFC 7617).
    key = quote(access.agent_key.reveal(), safe="")
    proxy_url = f"{proxy.scheme}://agent:{key}@{proxy.netloc}"
    # With its port: other services of the same host must not pass the gate by. A client that knows names only sends
    # these calls through the proxy too, whose guard lets exactly this origin through.
    api = urlsplit(access.api_url).netloc
    bundle = str(files.bundle)
    return {
        "HTTPS_PROXY": proxy_url,
        "https_proxy": proxy_url,
        "HTTP_PROXY": proxy_url,
        "http_proxy": proxy_url,
        "NO_PROXY": api,
        "no_proxy": api,
        "SSL_CERT_FILE": bundle,
        "REQUESTS_CA_BUNDLE": bundle,
        "CURL_CA_BUNDLE": bundle,
        "GIT_SSL_CAINFO": bundle,
        "PIP_CERT": bundle,
        "CARGO_HTTP_CAINFO": bundle,
        "CARGO_HTTP_PROXY": proxy_url,
        "AWS_CA_BUNDLE": bundle,
        "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH": bundle,
        "NODE_EXTRA_CA_CERTS": str(files.certificate),
        "NODE_USE_ENV_PROXY": "1",
        "NPM_CONFIG_CAFILE": bundle,
        "DENO_CERT": str(files.certificate),
        "WGETRC": str(files.wgetrc),
        "JAVA_TOOL_OPTIONS": _java_options(proxy.hostname or "", proxy.port or 80, files),
        "HEADGATE_API_URL": access.api_url,
        "HEADGATE_AGENT_KEY": access.agent_key.reveal(),
    }


def program_environment(environment: Mapping[str, str], variables: Mapping[str, str]) -> dict[str, str]:
    """That of a program behind the gate: ours with ``variables``, and without Headgate's own settings, but for those
    that name the gate. With the HEADGATE_TOKEN of an approver, an agent could approve its own calls."""
    kept = {name: value for name, value in environment.items() if not name.startswith(_OURS) or name in _NAME_A_GATE}
    return kept | dict(variables)


def _java_options(host: str, port: int, files: TrustFiles) -> str:
    """Java reads no proxy variables. The key it takes from the program's Authenticator; Basic is off by default for
    tunnels (the networking properties' ``jdk.http.auth.tunneling.disabledSchemes``). The key is not among these
    options: every JVM prints them when it starts."""
    properties = {
        "https.proxyHost": host,
        "https.proxyPort": str(port),
        "http.proxyHost": host,
        "http.proxyPort": str(port),
        "jdk.http.auth.tunneling.disabledSchemes": "",
        "javax.net.ssl.trustStore": str(files.java_store),
        "javax.net.ssl.trustStoreType": "PKCS12",
        "javax.net.ssl.trustStorePassword": files.java_store_password,
    }
    return " ".join(_java_word(f"-D{name}={value}") for name, value in properties.items())


def _java_word(word: str) -> str:
    """JAVA_TOOL_OPTIONS is split at white space outside of quotes (JVM Tool Interface, "Tool Options")."""
    return f'"{word}"' if any(character.isspace() for character in word) else word
