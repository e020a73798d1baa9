from pathlib import Path

import pytest

from headgate.cli.issuer_settings import configured_issuers
from headgate.configuration.settings import read_settings
from headgate.kernel.errors import ValidationError
from headgate.kernel.secrets import Secret
from headgate.organizations.model import Role

_FILE = """
issuers:
  - issuer: https://login.example.com/
    audience: headgate-api
    roles_claim: groups
    roles: {gate-admins: admin}
    aal_claim: amr
    aal: {hwk: aal3}
    organizations: [org_a, org_b]
    authorized_parties: [cli]
    login: {name: Example, client_id: headgate, client_secret_file: secret, redirect_name: staff}
  - issuer: https://plain.example.com
    default_organization: org_c
"""


def _issuers(tmp_path: Path, text: str, **variables: str):
    file = tmp_path / "issuers.yaml"
    file.write_text(text)
    return configured_issuers(read_settings({"HEADGATE_JWT_ISSUERS_FILE": str(file), **variables}))


def test_the_variables_and_the_file(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("hush\n")
    variables = {"HEADGATE_JWT_ISSUER": "https://one.example.com", "HEADGATE_JWT_CLIENT_ID": "web"}
    one, two, three = _issuers(tmp_path, _FILE, **variables)
    assert (one.issuer, one.login and one.login.client_id, one.login and one.login.client_secret) == (
        "https://one.example.com", "web", None,
    )  # fmt: skip
    assert (two.issuer, two.audience) == ("https://login.example.com/", "headgate-api")
    assert two.claims.role_values == {"gate-admins": Role.ADMIN}
    assert two.claims.aal_values == {"hwk": "aal3"}
    assert (two.organizations, two.authorized_parties) == (frozenset({"org_a", "org_b"}), frozenset({"cli"}))
    assert two.login is not None and two.login.client_secret == Secret("hush")
    assert two.login.redirect_name == "staff"
    assert (three.default_organization, three.organizations, three.login) == ("org_c", None, None)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("issuers: [{issuer: https://a.example, extra: 1}]", "extra: unknown"),
        ("issuers: [{audience: x}]", "issuer: a text is required"),
        ("issuers: [{issuer: ftp://a.example}]", "http"),
        ("issuers: [{issuer: https://a.example, names_operators: 'yes'}]", "true or false"),
        ("issuers: [{issuer: https://a.example, roles: {x: root}}]", "must be one of admin"),
        ("issuers: [{issuer: https://a.example, aal: {x: high}}]", "must be one of aal1"),
        ("issuers: [{issuer: https://a.example, organizations: []}]", "empty"),
        ("issuers: [{issuer: https://a.example}, {issuer: https://a.example}]", "configured twice"),
        ("issuers: [{issuer: https://a.example, login: {client_id: x, scopes: [email]}}]", "openid"),
        ("issuers: [{issuer: https://a.example, login: {client_id: x, redirect_name: a/b}}]", "part of an address"),
        (
            "issuers: [{issuer: https://a.example, login: {client_id: x, redirect_name: a}},"
            " {issuer: https://b.example, login: {client_id: x, redirect_name: a}}]",
            "share an address",
        ),
        ("issuers: [{issuer: https://a.example, login: {client_id: x, client_secret_file: gone}}]", "cannot be read"),
        ("issuers: [{issuer: https://a.example, login: {client_id: x, client_secret_variable: NOT_SET_X}}]", "not set"),
    ],
)
def test_what_cannot_be_meant(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        _issuers(tmp_path, text)
