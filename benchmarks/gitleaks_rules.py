"""Writes ``config/detectors/gitleaks.yaml`` from the rules of gitleaks (https://github.com/gitleaks/gitleaks, MIT).

``go mod download -json github.com/zricethezav/gitleaks/v8@v8.30.1`` prints where the module lies (``Dir``); then
``python -m benchmarks.gitleaks_rules DIR > config/detectors/gitleaks.yaml``. A rule is either a *form* (a credential
that is known by how it begins) or a value that is *assigned* to a name with a service's name in it; of the latter only
the service and the value are taken, as ``detectors.assignments`` reads assignments itself.
"""

import re
import sys
import tomllib
from pathlib import Path
from typing import Any, Final, NamedTuple

_AFTER_NAME: Final = r"""(?:[ \t\w.-]{0,20})[\s'"]{0,3}"""
_BEFORE_VALUE: Final = r"""[\x60'"\s=]{0,5}"""
_END: Final = r"""(?:[\x60'"\s;]|\\[nr]|$)"""
_NEXT: Final = r"(?:[^A-Za-z0-9_]|$)"
_ALTERNATIVE: Final = r"|\b("

_LEFT_OUT: Final = frozenset(
    (
        "generic-api-key", "hashicorp-tf-password", "nuget-config-password", "kubernetes-secret-yaml", "curl-auth-user",
        "curl-auth-header", "jwt", "jwt-base64", "private-key", "pkcs12-file",  # have forms of our own in secrets.yaml
        "telegram-bot-api-token", "mailchimp-api-key", "openai-api-key", "hashicorp-tf-api-token",
        "square-access-token",
        "age-secret-key", "gitlab-pat", "github-pat", "github-oauth", "github-app-token", "github-refresh-token",
    )
)  # fmt: skip
"""Written by hand in ``secrets.yaml``, or of a file's name."""

_PLACES: Final[dict[str, dict[str, Any]]] = {
    "airtable-personnal-access-token": {"keywords": ["pat"]},
    "atlassian-api-token": {"keywords": ["atatt3"]},
    "azure-ad-client-secret": {"keywords": ["q~"], "before": 5},
    "cloudflare-origin-ca-key": {"keywords": ["v1.0-"]},
    "facebook-access-token": {"keywords": ["facebook"], "near": 300},
    "intra42-client-secret": {"keywords": ["s-s4t2ud-", "s-s4t2af-"]},
    "lob-api-key": {"keywords": ["live_", "test_"]},
    "lob-pub-api-key": {"keywords": ["live_pub_", "test_pub_"]},
    "maxmind-license-key": {"keywords": ["_mmk"], "before": 36},
    "microsoft-teams-webhook": {"keywords": [".webhook.office.com"], "before": 64},
    "sidekiq-sensitive-url": {"keywords": ["gems.contribsys.com", "enterprise.contribsys.com"], "before": 26},
    "sourcegraph-access-token": {"keywords": ["sgp_"]},
    "twilio-api-key": {"keywords": [f"sk{digit}" for digit in "0123456789abcdef"]},
    "freemius-secret-key": {"keywords": ["secret_key"], "before": 1},
}
"""Where the keyword does not stand at the beginning, or is of another service."""


_ALSO: Final[dict[str, dict[str, Any]]] = {
    "sourcegraph-access-token": {"keywords": ["sourcegraph"], "value": "[a-fA-F0-9]{40}", "bits": 3}
}
"""Alternatives without a beginning of their own, which count where the service is named."""


class _Rule(NamedTuple):
    section: str
    name: str
    members: dict[str, Any]


def main(module: Path) -> None:
    rules = tomllib.loads((module / "config" / "gitleaks.toml").read_text("utf-8"))
    version = module.name.partition("@")[2]
    print(f"# Rules of gitleaks {version} (config/gitleaks.toml, https://github.com/gitleaks/gitleaks), converted by")
    print(
        "# benchmarks/gitleaks_rules.py. Do not edit: what is our own stands in secrets.yaml. License of the rules:\n#"
    )
    for line in (module / "LICENSE").read_text("utf-8").splitlines():
        print(f"# {line}".rstrip())
    converted = [one for rule in rules["rules"] if rule["id"] not in _LEFT_OUT for one in _converted(rule)]
    for section in ("formats", "assigned"):
        print(f"\n{section}:")
        for one in converted:
            if one.section == section:
                print(f"  {one.name}:")
                for key, value in one.members.items():
                    print(f"    {key}: {_yaml(value)}")
    allowed = rules["allowlist"]
    print("\n# What is no credential, whichever rule finds it.\nallowed:")
    for pattern in allowed["regexes"]:
        print(f"  - {_quoted(pattern)}")
    print("stopwords: " + _yaml(allowed["stopwords"]))


def _converted(rule: dict[str, Any]) -> list[_Rule]:
    pattern, name = str(rule["regex"]), rule["id"].replace("-", "_")
    common: dict[str, Any] = {}
    if "entropy" in rule:
        common["bits"] = rule["entropy"]
    allowed = [one for lists in rule.get("allowlists", ()) for one in lists.get("regexes", ())]
    if allowed:
        common["allowed"] = allowed
    if _AFTER_NAME not in pattern:
        also = [_Rule("assigned", name, _ALSO[rule["id"]])] if rule["id"] in _ALSO else []
        return [_form(rule, name, pattern, common), *also]
    found = []
    head, _, rest = pattern.partition(_AFTER_NAME)
    value, end, beyond = rest.partition(_BEFORE_VALUE)[2].rpartition(_END)
    if _ALTERNATIVE in value:  # a value, and a form of its own
        value, _, form = value.partition(_END + _ALTERNATIVE)
        found.append(_form(rule, name + "_form", "(" + form, common))
    assert end
    assert not beyond
    keywords = [one for one in rule["keywords"] if one in head.lower().replace("[_-]?", "")]
    if name == "snyk_api_token" or "bird" in name:
        keywords = rule["keywords"]
    if not keywords or (rule["id"] in _PLACES and not found):
        return [*found, _form(rule, name, rf"\b{value}{_END}", common)]
    if head.startswith("(?i)"):
        value = f"(?i){value}"
    return [*found, _Rule("assigned", name, {"keywords": sorted(set(keywords)), "value": value, **common})]


def _form(rule: dict[str, Any], name: str, pattern: str, common: dict[str, Any]) -> _Rule:
    pattern = pattern.removeprefix("(?:https?://)?").replace(_END, _NEXT).replace("|\\b)", "|$)")
    pattern = pattern.replace(r"(?:[\x60'" + '"' + r"\s;]|\\[nr]|$|\b)", _NEXT)
    members: dict[str, Any] = {
        "keywords": rule["keywords"],
        **_PLACES.get(rule["id"], {}),
        "pattern": pattern,
        **common,
    }
    return _Rule("formats", name, members)


def _yaml(value: object) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(_quoted(str(one)) for one in value) + "]"
    return str(value) if isinstance(value, int | float) else _quoted(str(value))


def _quoted(text: str) -> str:
    return text if re.fullmatch(r"[a-z][a-z0-9_-]*", text) else "'" + text.replace("'", "''") + "'"


if __name__ == "__main__":
    main(Path(sys.argv[1]))
