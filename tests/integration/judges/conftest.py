"""One model server a session, empty for each test."""

from collections.abc import AsyncIterator, Iterator

import pytest

from headgate.judges.judge import Judges
from headgate.judges.model import Provider, ProviderKind, Question
from headgate.judges.transport import open_client
from headgate.kernel.canonical_json import JsonValue, canonical_bytes
from headgate.kernel.secrets import Secret
from headgate.organizations.destinations import OperatorBounds
from tests.integration.judges.model_server import ModelServer, run_model_server
from tests.integration.ratelimits.conftest import valkey_server

__all__ = ["judges", "model_server", "model_server_process", "valkey_server"]


@pytest.fixture(scope="session")
def model_server_process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModelServer]:
    with run_model_server(tmp_path_factory.mktemp("model_server")) as server:
        yield server


@pytest.fixture
async def model_server(model_server_process: ModelServer) -> ModelServer:
    await model_server_process.reset()
    return model_server_process


@pytest.fixture
async def judges() -> AsyncIterator[Judges]:
    async with open_client() as client:
        made = Judges(client, deadline_seconds=15)  # the machine may stand still for a moment
        yield made
        await made.close()


def provider(server: ModelServer, kind: ProviderKind) -> Provider:
    base_url = f"{server.url}/v1" if kind is ProviderKind.OPENAI_COMPATIBLE else server.url
    return Provider(kind, base_url, Secret("no-real-key"), rules=OperatorBounds(None))


def question(asked: Provider, action: JsonValue = None, **changes: object) -> Question:
    values: dict[str, object] = {
        "provider": asked,
        "model": "judge-1",
        "policy": "Deny calls that delete data.",
        "threshold": 0.7,
        "action": canonical_bytes({"tool": "db", "operation": "read"} if action is None else action),
        "identity": ("org_a", "nlp_a", "1"),
    }
    return Question(**(values | changes))  # type: ignore[arg-type]
