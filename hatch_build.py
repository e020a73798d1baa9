"""Build hook: the wheel's dependencies are the lines of requirements.in."""

from pathlib import Path

from hatchling.metadata.plugin.interface import MetadataHookInterface


class DependenciesFromRequirements(MetadataHookInterface):
    def update(self, metadata: dict[str, object]) -> None:
        lines = (Path(self.root) / "requirements.in").read_text().splitlines()
        metadata["dependencies"] = [line for line in lines if line and not line.startswith("#")]
