"""An addon of mitmdump: a forward proxy that answers for every host, without a network.

``HEADGATE_PRETENDED_ANSWERS`` names a JSON file: by the request's ``X-Call-Number``, ``{"status", "headers", "body"}``.
"""

import json
import os
from pathlib import Path

from mitmproxy import http


class PretendedInternet:
    def __init__(self, answers: Path) -> None:
        self._answers = json.loads(answers.read_text())

    def request(self, flow: http.HTTPFlow) -> None:
        """mitmproxy's hook: a flow that has an answer is not sent."""
        answer = self._answers[flow.request.headers["x-call-number"]]
        flow.response = http.Response.make(answer["status"], answer["body"].encode(), answer["headers"])


addons = [PretendedInternet(Path(os.environ["HEADGATE_PRETENDED_ANSWERS"]))]
