"""One key management service of each kind."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.key_management import Service, service_of


@pytest.fixture(params=["aws", "transit"])
def service(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    with service_of(request.param, tmp_path, monkeypatch) as made:
        yield made
