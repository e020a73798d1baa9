"""Directories for what the proxy keeps."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from proxy.authority import Authority

NOW = datetime(2026, 11, 21, 8, 0, tzinfo=UTC)


@pytest.fixture
def now() -> datetime:
    return NOW


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    made = Authority(tmp_path / "private", tmp_path / "public")
    made.open(NOW)
    return made
