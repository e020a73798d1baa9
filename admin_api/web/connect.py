"""Snippets that route an agent's program through Headgate, with its key if it is known.

docs/guides/clients.md says which client reads what, and how it was tried.
"""

from collections.abc import Sequence
from typing import Final
from urllib.parse import urlsplit

from msgspec import Struct

_KEY: Final = "YOUR_KEY"
_BUNDLE: Final = "headgate-bundle.pem"
_CA: Final = "headgate-ca.pem"


class Snippet(Struct, frozen=True):
    """``name`` is the client's; ``where`` is the file or place that the text belongs in."""

    name: str
    where: str
    text: str


def snippets(*, proxy_url: str, api_url: str, key: str | None) -> Sequence[Snippet]:
    """``key`` None: it was shown once, at another time, and stands as a placeholder."""
    parts = urlsplit(proxy_url)
    proxy = f"{parts.scheme}://agent:{key or _KEY}@{parts.netloc}"
    own = urlsplit(api_url).netloc
    certificate = f"curl -fsS {api_url}/ca.pem -o {_CA}\ncat /etc/ssl/certs/ca-certificates.crt {_CA} > {_BUNDLE}\n"
    variables = (
        f"export HTTPS_PROXY='{proxy}' HTTP_PROXY='{proxy}' NO_PROXY='{own}'\n"
        f'export https_proxy="$HTTPS_PROXY" http_proxy="$HTTP_PROXY"\n'
        f'export SSL_CERT_FILE="$PWD/{_BUNDLE}" REQUESTS_CA_BUNDLE="$PWD/{_BUNDLE}" CURL_CA_BUNDLE="$PWD/{_BUNDLE}"\n'
        f'export NODE_EXTRA_CA_CERTS="$PWD/{_CA}" NODE_USE_ENV_PROXY=1\n'
    )
    return (
        Snippet("Shell", "In the shell of the agent", certificate + variables + "curl https://api.github.com/zen"),
        Snippet(
            "Docker",
            "Start the agent's container with these options",
            certificate
            + "docker run --rm \\\n"
            + f"  -e HTTPS_PROXY='{proxy}' -e HTTP_PROXY='{proxy}' -e NO_PROXY='{own}' \\\n"
            + f'  -v "$PWD/{_BUNDLE}:/etc/headgate/bundle.pem:ro" -v "$PWD/{_CA}:/etc/headgate/ca.pem:ro" \\\n'
            + "  -e SSL_CERT_FILE=/etc/headgate/bundle.pem -e REQUESTS_CA_BUNDLE=/etc/headgate/bundle.pem \\\n"
            + "  -e NODE_EXTRA_CA_CERTS=/etc/headgate/ca.pem -e NODE_USE_ENV_PROXY=1 \\\n"
            + "  YOUR_IMAGE",
        ),
        Snippet(
            "Python",
            "requests and httpx read the shell variables. To set the proxy in code:",
            f'import httpx, ssl\n\nclient = httpx.Client(\n    proxy="{proxy}",\n'
            f'    verify=ssl.create_default_context(cafile="{_BUNDLE}"),\n)\nprint(client.get("https://api.github.com/zen").text)',
        ),
        Snippet(
            "Node",
            "Node 22.21 or later reads the variables",
            certificate
            + variables
            + "node -e 'fetch(\"https://api.github.com/zen\").then(r => r.text()).then(console.log)'",
        ),
        Snippet(
            "Claude Code",
            "~/.claude/settings.json",
            '{\n  "env": {\n'
            f'    "HTTPS_PROXY": "{proxy}",\n    "HTTP_PROXY": "{proxy}",\n    "NO_PROXY": "{own}",\n'
            f'    "NODE_EXTRA_CA_CERTS": "/path/to/{_CA}",\n    "SSL_CERT_FILE": "/path/to/{_BUNDLE}"\n  }}\n}}',
        ),
        Snippet("Codex", "Start Codex from a shell with the variables", certificate + variables + "codex"),
        Snippet(
            "Cursor",
            "Settings (JSON). Add headgate-ca.pem to the trusted certificates of the system.",
            f'{{\n  "http.proxy": "{proxy}",\n  "http.proxyStrictSSL": true\n}}',
        ),
    )
