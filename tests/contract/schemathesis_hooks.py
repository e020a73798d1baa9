"""Credentials for ``schemathesis run`` against a running instance (docs/reference/contract.md has the command).

``HEADGATE_RUNTIME_FILE``: what ``headgate up --runtime-file`` wrote. ``HEADGATE_DATA_DIR``: the instance's folder.
"""

import json
import os
from pathlib import Path

import schemathesis

from headgate.configuration.data_directory import DataDirectory
from headgate.organizations.local_issuer import open_local_issuer
from tests.contract.credentials import Credentials, with_new_agent


def _of_the_instance() -> Credentials:
    runtime = json.loads(Path(os.environ["HEADGATE_RUNTIME_FILE"]).read_text("utf-8"))
    issuer = open_local_issuer(DataDirectory(Path(os.environ["HEADGATE_DATA_DIR"])).issuer)
    return with_new_agent(runtime["api_url"], issuer)


_CREDENTIALS = _of_the_instance()


@schemathesis.auth(refresh_interval=None)
class FreshCredential:
    def get(self, case: schemathesis.Case, _: schemathesis.AuthContext) -> dict[str, str]:
        return _CREDENTIALS.headers(case.operation.method, case.operation.path)

    def set(self, case: schemathesis.Case, data: dict[str, str], _: schemathesis.AuthContext) -> None:
        case.headers.update(data)
