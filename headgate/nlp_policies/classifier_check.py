"""Whether the local classifier that a policy names can be asked: tried when the policy is saved."""

import asyncio
from typing import Final

from headgate.classifiers.classifiers import Classifiers
from headgate.classifiers.folder import CLASSIFIER_NAME
from headgate.judges.model import JudgeError
from headgate.kernel.errors import UnavailableError, ValidationError
from headgate.nlp_policies.model import ONNX, NlpDraft

LOAD_SECONDS: Final = 20.0


async def require_classifier(classifiers: Classifiers, draft: NlpDraft, before: NlpDraft | None = None) -> None:
    """A policy whose classifier is gone can still be disabled. Raises ValidationError for the field ``model``, and
    UnavailableError while the model is being loaded."""
    names_another = before is None or (draft.provider, draft.model) != (before.provider, before.model)
    if draft.provider != ONNX or not (draft.enabled or names_another):
        return
    if CLASSIFIER_NAME.fullmatch(draft.model or "") is None:
        return  # ``check.checked_draft`` says so
    try:
        async with asyncio.timeout(LOAD_SECONDS):
            await classifiers.session(draft.model or "")
    except JudgeError as error:
        raise ValidationError(f"model: {error.message}", details={"field": "model", "reason": error.message}) from error
    except TimeoutError as error:
        raise UnavailableError(
            f"the classifier is still loading after {LOAD_SECONDS:g} s. Send the request again", retry_after_seconds=5
        ) from error
