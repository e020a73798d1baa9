"""Data files are found in a checkout and in a wheel."""

from pathlib import Path

import pytest

from headgate.configuration import resources


def test_in_a_checkout() -> None:
    assert resources.resource_path("digest.yaml").is_file()
    assert resources.resource_path("catalogues", "github.yaml").is_file()


def test_in_a_wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resources, "_INSTALLED", tmp_path)
    assert resources.resource_path("a", "b.yaml") == tmp_path / "a" / "b.yaml"
