"""Build hooks: the wheel's dependencies are the policy engine of the same version and the lines of requirements.in and
requirements-embedded.in, those of its extra ``NAME`` the lines of requirements-NAME.in; it carries its commit and date
of build.

SOURCE_COMMIT names the commit where there is no git beside (an image's build); SOURCE_DATE_EPOCH the date, where the
build is to be reproducible (reproducible-builds.org/specs/source-date-epoch).
"""

import json
import os
import subprocess
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

_EXTRAS = ("awskms", "classifier", "notifications", "opentelemetry", "reports")


class DependenciesFromRequirements(MetadataHookInterface):
    def update(self, metadata: dict[str, object]) -> None:
        # The engine's wheel is built from the same commit: no other version fits.
        engine = f"headgate-regorus=={metadata['version']}"
        ours = (*self._requirements("requirements.in"), *self._requirements("requirements-embedded.in"))
        metadata["dependencies"] = [engine, *ours]
        metadata["optional-dependencies"] = {one: self._requirements(f"requirements-{one}.in") for one in _EXTRAS}

    def _requirements(self, name: str) -> list[str]:
        lines = (Path(self.root) / name).read_text().splitlines()
        return [line for line in lines if line and not line.startswith(("#", "-c "))]


class BuildInformation(BuildHookInterface):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return  # a checkout asks git
        epoch = os.environ.get("SOURCE_DATE_EPOCH")
        built_at = datetime.now(UTC) if not epoch else datetime.fromtimestamp(int(epoch), UTC)
        document = {"commit": self._commit(), "built_at": built_at.strftime("%Y-%m-%dT%H:%M:%SZ")}
        self._folder = tempfile.TemporaryDirectory()
        file = Path(self._folder.name) / "_build.json"
        file.write_text(json.dumps(document))
        build_data["force_include"][str(file)] = "headgate/_build.json"

    def _commit(self) -> str | None:
        if named := os.environ.get("SOURCE_COMMIT"):
            return named
        try:
            asked = subprocess.run(
                ["git", "rev-parse", "HEAD"],  # noqa: S607 - whichever git the builder has
                cwd=self.root,
                capture_output=True,
                text=True,
                check=True,
            )
        except (OSError, subprocess.CalledProcessError):
            return None
        return asked.stdout.strip() or None
