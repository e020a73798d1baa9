"""The last stage of the Dockerfile: no root, a health check that needs nothing that the image lacks, no database."""

import importlib.util
import json
import re
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[3]
TEXT: Final = (ROOT / "Dockerfile").read_text("utf-8")
LAST: Final = TEXT[TEXT.rindex("\nFROM ") :]


def test_it_runs_as_the_user_that_compose_and_the_chart_name() -> None:
    assert re.findall(r"^USER (\S+)$", LAST, re.MULTILINE) == ["10001"]
    assert "--uid 10001 " in LAST
    assert 'user: "10001:10001"' in (ROOT / "deploy" / "compose" / "compose.yaml").read_text("utf-8")
    assert "runAsUser: 10001" in (ROOT / "deploy/helm/headgate/templates/_helpers.tpl").read_text("utf-8")


def test_its_health_check_is_a_module_of_the_program() -> None:
    [command] = re.findall(r"^HEALTHCHECK .*CMD (\[.*\])$", LAST, re.MULTILINE)
    python, option, module = json.loads(command)
    assert (python, option) == ("python", "-m")
    assert importlib.util.find_spec(module) is not None


def test_it_has_no_database_unless_asked() -> None:
    [extras] = re.findall(r'^ARG EXTRAS="(.*)"$', TEXT, re.MULTILINE)
    assert "embedded" not in extras.split()
    assert all((ROOT / f"requirements-{one}.lock").is_file() for one in extras.split())
