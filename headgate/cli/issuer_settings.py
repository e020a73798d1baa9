"""Whose tokens the API believes: the issuer of the variables, and those of the issuers' file."""

import os
import re
from pathlib import Path
from typing import Final

from admin_api.claims import ASSURANCE_LEVELS, ClaimNames
from admin_api.process_settings import LoginClient, OidcSettings
from headgate.configuration.settings import Settings
from headgate.configuration.variables import http_url
from headgate.configuration.yaml_document import Section, read_document
from headgate.kernel.errors import ValidationError
from headgate.kernel.secrets import Secret
from headgate.organizations.model import Role

_REDIRECT_NAME: Final = re.compile(r"[a-z0-9][a-z0-9-]{0,31}")
_MEMBERS: Final = (
    "issuer", "audience", "jwks_url", "organization_claim", "default_organization", "organizations", "roles_claim",
    "roles", "aal_claim", "aal", "authorized_parties", "names_operators", "login",
)  # fmt: skip


def configured_issuers(settings: Settings) -> tuple[OidcSettings, ...]:
    """Raises ValidationError, which names the file and the member."""
    issuers: list[OidcSettings] = []
    if settings.jwt_issuer is not None:
        issuers.append(_of_variables(settings, settings.jwt_issuer))
    if settings.jwt_issuers_file is not None:
        document = read_document(settings.jwt_issuers_file)
        document.only("issuers")
        issuers += [_of_section(one, settings.jwt_issuers_file.parent) for one in document.sections("issuers")]
    names = [one.issuer for one in issuers]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ValidationError(f"an issuer is configured twice: {', '.join(twice)}")
    addresses = [one.login.redirect_name for one in issuers if one.login is not None and one.login.redirect_name]
    if shared := sorted({name for name in addresses if addresses.count(name) > 1}):
        raise ValidationError(f"two issuers share an address (login.redirect_name): {', '.join(shared)}")
    return tuple(issuers)


def _of_variables(settings: Settings, issuer: str) -> OidcSettings:
    login = None
    if settings.jwt_client_id is not None:
        login = LoginClient(settings.jwt_client_id, settings.jwt_client_secret)
    return OidcSettings(
        issuer=issuer,
        audience=settings.jwt_audience,
        jwks_url=settings.jwt_jwks_url,
        claims=ClaimNames(settings.jwt_organization_claim, settings.jwt_roles_claim, settings.jwt_aal_claim),
        default_organization=settings.jwt_default_organization,
        login=login,
    )


def _of_section(section: Section, folder: Path) -> OidcSettings:
    section.only(*_MEMBERS)
    organizations = section.strings("organizations")
    if "organizations" in section.members and not organizations:
        raise section.fail("organizations", "must not be empty: omit it for all organizations")
    return OidcSettings(
        issuer=_address(section, "issuer"),
        audience=section.text("audience", "headgate"),
        jwks_url=_address(section, "jwks_url") if "jwks_url" in section.members else None,
        claims=ClaimNames(
            organization=section.text("organization_claim", "org_id"),
            roles=section.text("roles_claim", "roles"),
            aal=section.text("aal_claim", "aal"),
            role_values=_roles(section.section("roles")),
            aal_values=_levels(section.section("aal")),
        ),
        default_organization=_optional(section, "default_organization"),
        organizations=frozenset(organizations) or None,
        authorized_parties=frozenset(section.strings("authorized_parties")),
        names_operators=_flag(section, "names_operators"),
        login=_login(section.section("login"), folder) if "login" in section.members else None,
    )


def _login(section: Section, folder: Path) -> LoginClient:
    section.only(
        "client_id", "client_secret_file", "client_secret_variable", "scopes", "name", "redirect_name", "end_session"
    )
    scopes = section.strings("scopes") or ("openid", "email", "profile")
    if "openid" not in scopes:
        raise section.fail("scopes", "must include openid: without it there is no ID token")
    return LoginClient(
        client_id=section.text("client_id"),
        client_secret=_secret(section, folder),
        scopes=tuple(scopes),
        name=_optional(section, "name"),
        redirect_name=_redirect_name(section),
        end_session=_flag(section, "end_session", default=True),
    )


def _redirect_name(section: Section) -> str | None:
    name = _optional(section, "redirect_name")
    if name is not None and _REDIRECT_NAME.fullmatch(name) is None:
        raise section.fail(
            "redirect_name", "must have at most 32 lowercase letters, digits and hyphens: it is part of an address"
        )
    return name


def _secret(section: Section, folder: Path) -> Secret | None:
    """Never in the file itself: from a file of its own, beside it or elsewhere, or from a variable."""
    if "client_secret_file" in section.members:
        path = folder / section.text("client_secret_file")
        try:
            return Secret(path.read_text("utf-8").strip())
        except (OSError, UnicodeDecodeError) as error:
            raise section.fail("client_secret_file", f"cannot be read: {error}") from error
    if "client_secret_variable" in section.members:
        value = os.environ.get(name := section.text("client_secret_variable"))
        if not value:
            raise section.fail("client_secret_variable", f"the environment variable {name} is not set")
        return Secret(value)
    return None


def _roles(section: Section) -> dict[str, Role]:
    known = {role.value: role for role in Role}
    found: dict[str, Role] = {}
    for name in section.members:
        if (role := section.text(name)) not in known:
            raise section.fail(name, f"must be one of {', '.join(known)}")
        found[name] = known[role]
    return found


def _levels(section: Section) -> dict[str, str]:
    for name in section.members:
        if section.text(name) not in ASSURANCE_LEVELS:
            raise section.fail(name, f"must be one of {', '.join(ASSURANCE_LEVELS)}")
    return {name: section.text(name) for name in section.members}


def _address(section: Section, name: str) -> str:
    # The claim iss is compared as it stands: a slash at the end is part of the issuer's name.
    given = section.text(name)
    try:
        http_url(given)
    except ValueError as error:
        raise section.fail(name, str(error)) from error
    return given


def _flag(section: Section, name: str, *, default: bool = False) -> bool:
    value = section.members.get(name, default)
    if not isinstance(value, bool):
        raise section.fail(name, "must be true or false")
    return value


def _optional(section: Section, name: str) -> str | None:
    return section.text(name) if name in section.members else None
