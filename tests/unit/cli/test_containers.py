"""What a container is given is read back as what was meant."""

from base64 import b64decode
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml

from headgate.cli.containers import FILES_AT, compose, docker, k8s
from headgate.cli.trust_files import make_container_files
from headgate.kernel.errors import UnavailableError
from proxy.authority import Authority

VARIABLES = {"HTTPS_PROXY": "http://agent:hg_a%2Fb@gate:8471", "ODD": """it's "as" $x is: # {no} -tag"""}


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    authority = Authority(tmp_path / "ca", tmp_path / "public")
    authority.open(datetime.now(UTC))
    return authority.certificate_file


def test_docker_takes_what_follows_the_first_equals_sign() -> None:
    lines = docker(VARIABLES, Path("/data/container")).splitlines()
    assert lines[0].startswith("# docker run --env-file THIS_FILE -v /data/container:/etc/headgate:ro")
    assert dict(line.split("=", 1) for line in lines[1:]) == VARIABLES


def test_compose_interpolates_nothing() -> None:
    service = yaml.safe_load(compose(VARIABLES, Path("/da$ta/container")))
    assert {name: value.replace("$$", "$") for name, value in service["environment"].items()} == VARIABLES
    assert "$$x" in service["environment"]["ODD"]
    assert service["volumes"] == ["/da$$ta/container:/etc/headgate:ro"]


def test_kubernetes_gets_a_secret_and_the_files(certificate: Path) -> None:
    folder, shown = make_container_files(certificate, FILES_AT)
    secret, files = yaml.safe_load_all(k8s(VARIABLES, folder))
    assert (secret["kind"], secret["stringData"]) == ("Secret", VARIABLES)
    content = {name: b64decode(text) for name, text in files["binaryData"].items()}
    assert content == {file.name: file.read_bytes() for file in folder.iterdir()}
    assert content["ca.pem"] == certificate.read_bytes()
    assert content["wgetrc"] == b"ca_certificate = /etc/headgate/bundle.pem\n"
    assert {shown.certificate.name, shown.bundle.name, shown.java_store.name, shown.wgetrc.name} == set(content)
    # The API server takes no ConfigMap above 1 MiB (Kubernetes documentation, "ConfigMaps").
    assert sum(len(text) for text in files["binaryData"].values()) < 1_000_000
    with pytest.raises(UnavailableError, match="cannot be read"):
        k8s(VARIABLES, folder / "nowhere")
