"""An addon of mitmdump: a forward proxy that answers for every host, without a network.

``HEADGATE_PRETENDED_ANSWERS`` names a JSON file: ``{key_of(…): {"status", "headers", "body"}}``, and ``"*"`` for all
others.
"""

import hashlib
import json
import os
from pathlib import Path

from mitmproxy import http


def key_of(method: str, host: str, path: str, body: bytes) -> str:
    """Of a request; ``path`` with its query, as it is sent."""
    return hashlib.sha256("\n".join((method, host.lower(), path)).encode() + b"\n" + body).hexdigest()


class PretendedInternet:
    def __init__(self, answers: Path) -> None:
        self._answers = json.loads(answers.read_text())

    def request(self, flow: http.HTTPFlow) -> None:
        """mitmproxy's hook: a flow that has an answer is not sent."""
        asked = flow.request
        key = key_of(asked.method, asked.pretty_host, asked.path, asked.raw_content or b"")
        answer = self._answers.get(key) or self._answers["*"]
        flow.response = http.Response.make(answer["status"], answer["body"].encode(), answer["headers"])


if "HEADGATE_PRETENDED_ANSWERS" in os.environ:
    addons = [PretendedInternet(Path(os.environ["HEADGATE_PRETENDED_ANSWERS"]))]
