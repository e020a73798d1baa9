"""The variables that bring a client to the gate."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from headgate.cli.client_environment import TrustFiles, client_environment, program_environment
from headgate.kernel.secrets import Secret
from headgate.runtime.agent_access import AgentAccess

FILES = TrustFiles(Path("/p/ca.pem"), Path("/p/bundle.pem"), Path("/p/trust.p12"), "changeit", Path("/p/wgetrc"))
ACCESS = AgentAccess("http://127.0.0.1:8470", "http://127.0.0.1:8471", "/p/ca.pem", "agt_1", Secret("hg_abc/d@e"))
VARIABLES = client_environment(ACCESS, FILES)


@pytest.mark.parametrize("name", ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"])
def test_the_proxy_carries_the_key_as_a_password(name: str) -> None:
    assert VARIABLES[name] == "http://agent:hg_abc%2Fd%40e@127.0.0.1:8471"


@pytest.mark.parametrize(
    "name",
    [
        "SSL_CERT_FILE",
        "REQUESTS_CA_BUNDLE",
        "CURL_CA_BUNDLE",
        "GIT_SSL_CAINFO",
        "PIP_CERT",
        "CARGO_HTTP_CAINFO",
        "AWS_CA_BUNDLE",
        "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH",
    ],
)
def test_variables_that_replace_the_roots_keep_the_public_ones(name: str) -> None:
    assert VARIABLES[name] == "/p/bundle.pem"


@pytest.mark.parametrize("name", ["NODE_EXTRA_CA_CERTS", "DENO_CERT"])
def test_variables_that_add_roots_add_ours_alone(name: str) -> None:
    assert VARIABLES[name] == "/p/ca.pem"


def test_only_the_api_itself_is_reached_directly() -> None:
    """Without its port the entry would let every service of this host pass the gate by."""
    assert VARIABLES["NO_PROXY"] == VARIABLES["no_proxy"] == "127.0.0.1:8470"


def test_no_credential_but_the_agents() -> None:
    assert not [name for name, value in VARIABLES.items() if "admin-token" in value or "postgresql" in value]


@pytest.mark.parametrize(
    "name",
    [
        "HEADGATE_TOKEN",
        "HEADGATE_OWNER_DATABASE_URL",
        "HEADGATE_DATABASE_URL",
        "HEADGATE_REDIS_URL",
        "HEADGATE_BACKUP_PASSPHRASE",
        "HEADGATE_AGENT_KEY",
    ],
)
def test_a_program_inherits_no_other_credential(name: str) -> None:
    """With a token of an approver it could approve its own calls."""
    given = {
        name: "of-somebody-else",
        "PATH": "/bin",
        "HEADGATE_RUNTIME_FILE": "/r.json",
        "HTTPS_PROXY": "http://other",
    }
    told = program_environment(given, VARIABLES)
    assert "of-somebody-else" not in told.values()
    assert told == {**VARIABLES, "PATH": "/bin", "HEADGATE_RUNTIME_FILE": "/r.json"}


def test_java_gets_proxy_and_trust_store() -> None:
    options = VARIABLES["JAVA_TOOL_OPTIONS"].split()
    assert "-Dhttps.proxyHost=127.0.0.1" in options
    assert "-Dhttps.proxyPort=8471" in options
    assert "-Djavax.net.ssl.trustStore=/p/trust.p12" in options


def test_java_options_with_a_space_are_quoted() -> None:
    files = replace(FILES, java_store=Path("/my data/trust.p12"))
    options = client_environment(ACCESS, files)["JAVA_TOOL_OPTIONS"]
    assert '"-Djavax.net.ssl.trustStore=/my data/trust.p12"' in options
