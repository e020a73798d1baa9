"""Alert rules and dashboard: what they ask for exists, and each alert fires on what it is for."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

ROOT: Final = Path(__file__).resolve().parents[3]
RULES: Final = ROOT / "deploy" / "prometheus" / "alerts.yaml"
DASHBOARD: Final = ROOT / "deploy" / "grafana" / "dashboard.json"
_ROW: Final = re.compile(r"^\| `(headgate_\w+)` \| (\w+) \| (.*?) \| .* \|$", re.MULTILINE)
_SELECTED: Final = re.compile(r"(headgate_\w+)(?:\{([^}]*)\})?")
_LABEL: Final = re.compile(r"(\w+)\s*(?:=~|!=|!~|=)")
_OF_PROMETHEUS: Final = {"le", "instance", "job"}


def promtool(*words: str | Path) -> str:
    """Fails with what promtool printed."""
    program = shutil.which("promtool")
    assert program is not None, "promtool is needed to test the alerts (Debian: apt-get install prometheus)"
    done = subprocess.run([program, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def documented() -> dict[str, set[str]]:
    """The labels of each series, by name, as docs/reference/metrics.md lists them."""
    found: dict[str, set[str]] = {}
    for name, kind, labels in _ROW.findall((ROOT / "docs" / "reference" / "metrics.md").read_text("utf-8")):
        endings = ("_bucket", "_count", "_sum") if kind == "histogram" else ("",)
        for ending in endings:
            found[name + ending] = set(re.findall(r"`(\w+)`", labels))
    return found


def rules() -> list[dict[str, Any]]:
    return rules_of(RULES.read_text("utf-8"))


def rules_of(text: str) -> list[dict[str, Any]]:
    [group] = yaml.safe_load(text)["groups"]
    return group["rules"]


def panels() -> list[dict[str, Any]]:
    return [one for one in json.loads(DASHBOARD.read_text("utf-8"))["panels"] if one["type"] != "row"]


def expressions() -> Iterator[str]:
    yield from (one["expr"] for one in rules())
    yield from (target["expr"] for panel in panels() for target in panel["targets"])


def test_every_series_and_label_is_documented() -> None:
    known = documented()
    for expression in expressions():
        selected = _SELECTED.findall(expression)
        assert selected or "up{" in expression, expression
        allowed = set(_OF_PROMETHEUS)
        for name, matchers in selected:
            assert name in known, f"{name} is not in docs/reference/metrics.md: {expression}"
            assert set(_LABEL.findall(matchers)) <= known[name] | _OF_PROMETHEUS, expression
            allowed |= known[name]
        for grouped in re.findall(r"by \(([^)]*)\)", expression):
            assert {one.strip() for one in grouped.split(",")} <= allowed, expression


def test_promtool_accepts_the_rules_and_they_fire_on_what_they_are_for() -> None:
    promtool("check", "rules", RULES)
    promtool("test", "rules", RULES.parent / "alerts-test.yaml")


def test_prometheus_accepts_the_configuration_of_compose(tmp_path: Path) -> None:
    shutil.copy(ROOT / "deploy" / "compose" / "prometheus.yaml", tmp_path)
    shutil.copy(RULES, tmp_path)  # as the Compose file mounts them, side by side
    promtool("check", "config", tmp_path / "prometheus.yaml")


def test_every_alert_is_tested_and_explained() -> None:
    tested = (RULES.parent / "alerts-test.yaml").read_text("utf-8")
    explained = (ROOT / "docs" / "guides" / "production.md").read_text("utf-8")
    for rule in rules():
        assert rule["alert"] in tested
        assert f"`{rule['alert']}`" in explained
        assert rule["labels"]["severity"] in {"critical", "warning"}
        assert set(rule["annotations"]) == {"summary", "description"}


def test_prometheus_parses_every_expression_of_the_dashboard(tmp_path: Path) -> None:
    recorded = [
        {"record": f"panel:{panel['id']}:{target['refId']}", "expr": target["expr"].replace("$__rate_interval", "5m")}
        for panel in panels()
        for target in panel["targets"]
    ]
    (tmp_path / "panels.yaml").write_text(json.dumps({"groups": [{"name": "panels", "rules": recorded}]}))
    assert f"SUCCESS: {len(recorded)} rules found" in promtool("check", "rules", tmp_path / "panels.yaml")


def test_panels_are_numbered_explained_and_do_not_overlap() -> None:
    document = json.loads(DASHBOARD.read_text("utf-8"))
    numbers = [one["id"] for one in document["panels"]]
    assert len(set(numbers)) == len(numbers)
    taken: set[tuple[int, int]] = set()
    for panel in document["panels"]:
        place = panel["gridPos"]
        cells = {(place["x"] + x, place["y"] + y) for x in range(place["w"]) for y in range(place["h"])}
        assert not cells & taken, panel["title"]
        assert max(x for x, _ in cells) < 24
        taken |= cells
    for panel in panels():
        assert panel["description"]
        assert panel["fieldConfig"]["defaults"]["unit"]
        assert panel["datasource"]["uid"] == "${source}"  # chosen by whoever imports it


@pytest.mark.parametrize(("broken", "mended"), [("> 600", "> 60000"), ("for: 24h", "for: 1h"), ("14.4", "0.4")])
def test_the_tests_of_the_alerts_notice_a_changed_rule(tmp_path: Path, broken: str, mended: str) -> None:
    text = RULES.read_text("utf-8").replace(broken, mended)
    changed = {old["alert"] for old, new in zip(rules(), rules_of(text), strict=True) if old != new}
    assert changed
    (tmp_path / "alerts.yaml").write_text(text)
    document = yaml.safe_load((RULES.parent / "alerts-test.yaml").read_text("utf-8"))
    # Those of other alerts pass, as above: each evaluates all rules, and one of them those of a day.
    document["tests"] = [one for one in document["tests"] if any(alert in str(one) for alert in changed)]
    (tmp_path / "alerts-test.yaml").write_text(json.dumps(document))
    with pytest.raises(AssertionError, match="FAILED"):
        promtool("test", "rules", tmp_path / "alerts-test.yaml")
