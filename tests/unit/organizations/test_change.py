"""An organization's state changes in ``begin_change`` only: a change elsewhere would leave a revoked key in a cache."""

import re
from pathlib import Path
from typing import Final

_ROOT: Final = Path(__file__).parents[3]
_CHANGES: Final = re.compile(
    r"bump_generation\(|(?<!class )\bOrganizationChange\(|\bgeneration_listeners\b(?!\.append)"
)


def test_only_a_change_raises_the_generation() -> None:
    declaring = {"headgate/db/database.py", "headgate/organizations/change.py", "headgate/organizations/store.py"}
    found = {
        str(path.relative_to(_ROOT))
        for part in ("headgate", "admin_api", "addons", "proxy")
        for path in (_ROOT / part).rglob("*.py")
        if _CHANGES.search(path.read_text())
    }
    assert found == declaring
