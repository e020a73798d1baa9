"""A wheel's packages come first on the import path of the program, and a checkout has none of them."""

import sys
from pathlib import Path

import pytest

from headgate.kernel.import_path import extend_import_path


def test_the_packages_of_a_wheel_come_first_and_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", ["/elsewhere"])
    extend_import_path(tmp_path)
    extend_import_path(tmp_path)
    assert sys.path == [str(tmp_path), "/elsewhere"]


def test_a_checkout_finds_them_beside_headgate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", ["/elsewhere"])
    extend_import_path()
    assert sys.path == ["/elsewhere"]
