"""What an agent's container is given: the variables of ``headgate env`` and the files that they name."""

import json
from base64 import b64encode
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from headgate.kernel.errors import UnavailableError

FILES_AT: Final = Path("/etc/headgate")
_SECRET: Final = "headgate-agent"  # noqa: S105 - the name of a Kubernetes object
_CONFIG_MAP: Final = "headgate-trust"


def docker(variables: Mapping[str, str], files: Path) -> str:
    """``docker run --env-file``: everything after the first = is the value, quotes included."""
    lines = [f"# docker run --env-file THIS_FILE -v {files}:{FILES_AT}:ro …"]
    return _lines(lines + [f"{name}={value}" for name, value in variables.items()])


def compose(variables: Mapping[str, str], files: Path) -> str:
    """Members of a service. A dollar sign is doubled (Compose specification, "Interpolation"); a JSON string is one of
    YAML, too."""
    lines = [f"  {name}: {_text(value.replace('$', '$$'))}" for name, value in variables.items()]
    mount = _text(f"{files}:{FILES_AT}:ro".replace("$", "$$"))
    return _lines(["# Members of the agent's service", "environment:", *lines, "volumes:", f"  - {mount}"])


def k8s(variables: Mapping[str, str], files: Path) -> str:
    """A Secret with the variables, and a ConfigMap with the files. Raises UnavailableError."""
    try:
        content = {file.name: b64encode(file.read_bytes()).decode() for file in sorted(files.iterdir())}
    except OSError as error:
        raise UnavailableError(f"{files} cannot be read ({error.strerror})") from error
    return _lines(
        [
            # The last-applied annotation of a client-side apply is too small for the public roots.
            "# kubectl apply --server-side -f THIS_FILE; then, in the pod's template:",
            f"#   containers: [{{envFrom: [{{secretRef: {{name: {_SECRET}}}}}],",
            f"#                 volumeMounts: [{{name: {_CONFIG_MAP}, mountPath: {FILES_AT}, readOnly: true}}]}}]",
            f"#   volumes: [{{name: {_CONFIG_MAP}, configMap: {{name: {_CONFIG_MAP}}}}}]",
            "apiVersion: v1",
            "kind: Secret",
            f"metadata: {{name: {_SECRET}}}",
            "stringData:",
            *(f"  {name}: {_text(value)}" for name, value in variables.items()),
            "---",
            "apiVersion: v1",
            "kind: ConfigMap",
            f"metadata: {{name: {_CONFIG_MAP}}}",
            "binaryData:",
            *(f"  {name}: {text}" for name, text in content.items()),
        ]
    )


CONTAINER_FORMATS: Final = {"docker": docker, "compose": compose, "k8s": k8s}


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)


def _lines(lines: list[str]) -> str:
    return "\n".join(lines) + "\n"
