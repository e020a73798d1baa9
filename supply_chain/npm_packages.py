"""The packages that the dashboard's editor is bundled from (admin_api/static/editor.js)."""

import json
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from supply_chain.component import Component, Ecosystem, reference
from supply_chain.floors import ROOT
from supply_chain.license_texts import texts_of

_FOLDER: Final = "node_modules/"


def npm_packages(root: Path = ROOT) -> Iterator[Component]:
    """Without the bundler. Raises FileNotFoundError where npm has not installed them (make web/node_modules/…)."""
    locked: dict[str, dict[str, Any]] = json.loads((root / "web" / "package-lock.json").read_text("utf-8"))["packages"]
    for place, one in locked.items():
        if not place or one.get("dev"):
            continue
        name = place.rpartition(_FOLDER)[2]
        algorithm, _, digest = one["integrity"].partition("-")
        yield Component(
            Ecosystem.NPM,
            name,
            one["version"],
            one["license"],
            digest=(algorithm.upper().replace("SHA", "SHA-"), b64decode(digest).hex()),
            requires=tuple(
                reference(Ecosystem.NPM, to, locked[_FOLDER + to]["version"])
                for to in sorted(one.get("dependencies", ()))
            ),
            texts=texts_of(root / "web" / place, one["license"], name, ""),
        )
