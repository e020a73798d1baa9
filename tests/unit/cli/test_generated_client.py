"""Commands call the API through the operations of the generated client only."""

import ast
from pathlib import Path

import pytest

from headgate.cli import api_client
from headgate.cli.integrations import operation
from headgate.integrations.model import Integration

COMMANDS = sorted(Path(api_client.__file__).parent.glob("*.py"))
ROOTS = ("/v1", "/admin", "/health", "/.well-known")


def _texts(tree: ast.AST) -> set[str]:
    """Every literal that is used: a docstring stands alone as an expression."""
    alone = {id(one.value) for one in ast.walk(tree) if isinstance(one, ast.Expr)}
    found = (one for one in ast.walk(tree) if isinstance(one, ast.Constant) and id(one) not in alone)
    return {one.value for one in found if isinstance(one.value, str)}


@pytest.mark.parametrize("path", COMMANDS, ids=lambda path: path.stem)
def test_no_command_names_a_path_of_the_api(path: Path) -> None:
    assert not {text for text in _texts(ast.parse(path.read_text("utf-8"))) if text.startswith(ROOTS)}


def test_a_path_would_be_found() -> None:
    assert _texts(ast.parse('"""GET /v1/a"""\nclient.get(f"/v1/b/{name}")')) == {"/v1/b/"}


@pytest.mark.parametrize("name", [one.value for one in Integration])
def test_each_integration_has_its_operations(name: str) -> None:
    for call, ending in (
        (operation("get", name)(), ""),
        (operation("put", name)({}), ""),
        (operation("test", name)(), "/test"),
        (operation("get", name, "_receipts")(), "/receipts"),
    ):
        assert call.path == f"/admin/settings/{name}{ending}"
