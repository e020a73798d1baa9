"""A wheel's packages come first on the import path of the program, and a checkout has none of them."""

import ast
import re
import sys
from pathlib import Path

import pytest

from headgate.kernel.import_path import extend_import_path

ROOT = Path(__file__).resolve().parents[3]
_MODULE = re.compile(r"(?:proxy|addons|admin_api)(?:\.[a-z_]+)+")


def test_the_packages_of_a_wheel_come_first_and_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", ["/elsewhere"])
    extend_import_path(tmp_path)
    extend_import_path(tmp_path)
    assert sys.path == [str(tmp_path), "/elsewhere"]


def test_a_checkout_finds_them_beside_headgate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", ["/elsewhere"])
    extend_import_path()
    assert sys.path == ["/elsewhere"]


def test_a_module_of_theirs_that_is_a_process_is_started_by_way_of_this_one() -> None:
    """``python -m admin_api.…`` works in a checkout, and finds nothing where a wheel is installed."""
    naming = {
        file.relative_to(ROOT)
        for package in ("headgate", "proxy", "addons", "admin_api")
        for file in (ROOT / package).rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and _MODULE.fullmatch(node.value)
    }
    assert naming == {Path("admin_api/services/traffic_review.py"), Path("headgate/cli/forked_parts.py")}
    texts = [(ROOT / file).read_text("utf-8") for file in naming]
    assert all('"-m", "headgate.kernel.import_path"' in text or "    extend_import_path()\n" in text for text in texts)
