"""Every variable that ``headgate env`` prints is on the page that says who reads it."""

from pathlib import Path

import pytest

from headgate.cli.client_environment import TrustFiles, client_environment
from headgate.kernel.secrets import Secret
from headgate.runtime.agent_access import AgentAccess

PAGE = (Path(__file__).parents[3] / "docs" / "guides" / "clients.md").read_text("utf-8")
VARIABLES = client_environment(
    AgentAccess("http://127.0.0.1:8470", "http://127.0.0.1:8471", "/p/ca.pem", "agt_1", Secret("hg_key")),
    TrustFiles(Path("/p/ca.pem"), Path("/p/bundle.pem"), Path("/p/trust.p12"), "changeit", Path("/p/wgetrc")),
)


@pytest.mark.parametrize("name", VARIABLES)
def test_a_variable_is_explained(name: str) -> None:
    assert f"`{name}" in PAGE or f"${name}" in PAGE
