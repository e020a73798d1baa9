"""Build hooks of the client's wheel: its version is the program's, its code that of headgate/client under a name of its
own. Both wheels can be installed side by side, because no file is in both."""

import tempfile
import tomllib
from pathlib import Path
from typing import Any, Final

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

_ROOT: Final = Path(__file__).resolve().parents[2]
_SOURCE: Final = _ROOT / "headgate" / "client"
_PACKAGE: Final = "headgate_client"
_ONLY_HERE: Final = {"generate.py"}
"""What makes the client, and is no part of it."""


class VersionOfTheProgram(MetadataHookInterface):
    def update(self, metadata: dict[str, object]) -> None:
        project = tomllib.loads((_ROOT / "pyproject.toml").read_text("utf-8"))["project"]
        metadata["version"] = project["version"]


class CodeUnderItsOwnName(BuildHookInterface[Any]):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        self._folder = tempfile.TemporaryDirectory()
        folder = Path(self._folder.name)
        for source in _SOURCE.glob("*.py"):
            if source.name not in _ONLY_HERE:
                text = source.read_text("utf-8").replace("headgate.client", _PACKAGE)
                (folder / source.name).write_text(text, "utf-8")
        (folder / "py.typed").touch()
        for file in folder.iterdir():
            build_data["force_include"][str(file)] = f"{_PACKAGE}/{file.name}"
        build_data["force_include"][str(_ROOT / "LICENSE")] = f"{_PACKAGE}/LICENSE"
