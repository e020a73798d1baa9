"""The test cases of a policy as people write them: YAML, in the format of ``headgate policy test``."""

import asyncio
import json
from collections.abc import Sequence
from typing import Final

import yaml

from admin_api.web.form import Form
from headgate.configuration.yaml_document import parse_value
from headgate.kernel.canonical_json import JsonValue
from headgate.kernel.errors import ValidationError

_CASES_MAX_CHARACTERS: Final = 64 * 1024
_ACCEPT: Final = "accept_failing_cases"


async def case_values(form: Form) -> dict[str, object]:
    """What a form says of them; a form without the field leaves the stored cases. Raises ValidationError."""
    given = form.fields.get("cases")
    cases = await asyncio.to_thread(cases_of, given[0]) if given else None
    return {"cases": cases, _ACCEPT: _ACCEPT in form.fields}


def yaml_of(cases: Sequence[object]) -> str:
    """Parsed anew, because YAML writes aliases for values that are one object; in ASCII, because a call may have
    written them."""
    if not cases:
        return ""
    return str(yaml.safe_dump(json.loads(json.dumps(cases)), allow_unicode=False, sort_keys=False))


def cases_of(text: str) -> JsonValue:
    """YAML without aliases, of which a few lines make gigabytes (CWE-776). Raises ValidationError."""
    if len(text) > _CASES_MAX_CHARACTERS:
        raise ValidationError(f"cases: at most {_CASES_MAX_CHARACTERS} characters", details={"field": "cases"})
    try:
        if any(isinstance(one, yaml.AliasToken) for one in yaml.scan(text)):
            raise ValidationError("cases: write YAML without aliases (*name).", details={"field": "cases"})
    except yaml.YAMLError as error:
        raise ValidationError(f"cases: not valid YAML: {error}", details={"field": "cases"}) from error
    return parse_value(text, where="cases") or []
