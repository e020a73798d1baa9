"""Renders the page of one content policy, saved or not."""

from collections.abc import Sequence
from typing import Final

from starlette.responses import Response

from admin_api.nlp_policies.result_schemas import ResultAnswer
from admin_api.nlp_policies.schemas import NlpPolicyAnswer, TemplateAnswer
from admin_api.settings.nlp_provider_routes import get_nlp_providers
from admin_api.web.api import Api
from admin_api.web.content_draft import ContentDraft
from admin_api.web.shell import shell_page
from headgate.agents.scopes import Scope
from headgate.kernel.errors import HeadgateError
from headgate.nlp_policies.model import EMBEDDED, ONNX

_LOCAL: Final = ((EMBEDDED, "Headgate's detectors"), (ONNX, "Local classifier (ONNX)"))


async def content_page(
    api: Api,
    policy: NlpPolicyAnswer | None,
    draft: ContentDraft,
    *,
    content: str = "",
    result: ResultAnswer | None = None,
    error: HeadgateError | None = None,
    templates: Sequence[TemplateAnswer] = (),
) -> Response:
    context = {
        "policy": policy,
        "draft": draft,
        "providers": await _providers(api, draft.provider),
        "content": content,
        "result": result,
        "templates": templates,
        "may_write": api.may(Scope.POLICIES_WRITE),
    }
    return await shell_page(api, "content_policy.html", "/policies", context, error=error)


async def _providers(api: Api, chosen: str) -> Sequence[tuple[str, str]]:
    """The configured providers, if the person may see them, and the provider of the policy."""
    names = []
    if api.may(Scope.ADMIN):
        names = list(await api.call(get_nlp_providers, Response(), api.principal, api.dependencies))
    known = [*_LOCAL, *((name, name) for name in names)]
    return known if any(value == chosen for value, _ in known) else [*known, (chosen, chosen)]
