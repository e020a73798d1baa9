"""Every metric is documented, and every documented metric is there."""

import re
from pathlib import Path

from prometheus_client import REGISTRY

# Each process registers the metrics of what it imports.
import admin_api.server  # noqa: F401
import headgate.telemetry.batches
import headgate.worker.main  # noqa: F401
import proxy.server  # noqa: F401

DOCUMENT = Path(__file__).parents[2] / "docs" / "reference" / "metrics.md"
ROW = re.compile(r"^\| `(headgate_\w+)` \| (\w+) \| (.*?) \| (.*) \|$", re.MULTILINE)


def registered() -> dict[str, tuple[str, str, str]]:
    found = {}
    for collector in list(REGISTRY._names_to_collectors.values()):
        name = getattr(collector, "_name", "")
        if name.startswith("headgate_"):
            kind = collector._type
            shown = f"{name}_total" if kind == "counter" else name
            labels = ", ".join(f"`{label}`" for label in collector._labelnames)
            found[shown] = (kind, labels, collector._documentation)
    return found


def test_the_reference_is_complete() -> None:
    documented = {
        name: (kind, labels, meaning) for name, kind, labels, meaning in ROW.findall(DOCUMENT.read_text("utf-8"))
    }
    expected = registered()
    rows = "\n".join(f"| `{name}` | {' | '.join(expected[name])} |" for name in sorted(expected))
    assert documented == expected, f"docs/reference/metrics.md should have these rows:\n{rows}"
