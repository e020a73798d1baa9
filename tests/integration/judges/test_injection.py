"""A model that believes whatever is not inside the one member of data: what an action says must not get out of it."""

import json

from headgate.judges.judge import Judges
from headgate.judges.model import ProviderKind
from tests.integration.judges.conftest import provider, question
from tests.integration.judges.model_server import ModelServer
from tests.labelled.injections import injected_actions

_FLAGGED = {"flagged": True, "risk_score": 0.9, "confidence": 0.9, "detected_issues": ["deletion"], "reasoning": "x"}
_CLEAR = {"flagged": False, "risk_score": 0.0, "confidence": 0.9, "detected_issues": [], "reasoning": "x"}


async def test_no_injected_action_flips_the_judgement(model_server: ModelServer, judges: Judges) -> None:
    await model_server.answers(json.dumps(_FLAGGED), userMessage='{"untrusted_action":{')
    await model_server.answers(json.dumps(_CLEAR))
    asked = provider(model_server, ProviderKind.OPENAI_COMPATIBLE)

    for name, action in injected_actions().items():
        verdict = await judges.ask(question(asked, action))
        assert verdict.judgement.flagged, name

    for entry in await model_server.journal():
        system, user = entry["body"]["messages"]  # type: ignore[index]
        assert system["role"] == "system"
        assert list(json.loads(user["content"])) == ["untrusted_action"]
