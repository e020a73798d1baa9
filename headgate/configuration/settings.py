"""The settings of a process: parsed once, at its start, from environment variables; frozen after that.

This class is the one table of settings: docs/reference/settings.md is made from it (``reference.py``) and
compared by a test, so that a setting without documentation fails.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from pathlib import Path
from typing import Any

from headgate.configuration.data_directory import DataDirectory, default_data_directory
from headgate.configuration.variables import (
    Variable,
    existing_file,
    http_url,
    one_of,
    path,
    port,
    positive,
    postgres_address,
    redis_address,
    size_bytes,
    switch,
    text,
    variable,
)
from headgate.kernel.errors import ValidationError
from headgate.kernel.secrets import Secret


class Part(StrEnum):
    """What logs in to the database as a role of its own (docs/decisions/0003-database-roles.md)."""

    OWNER = "owner"
    API = "api"
    PROXY = "proxy"
    WORKER = "worker"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Lengths of time in seconds, sizes in bytes, as the names say."""

    database_url: Secret | None = variable(
        "HEADGATE_DATABASE_URL", None,
        "PostgreSQL 18 or later, `postgresql://user:password@host:port/database`. With it, `headgate up` starts no"
        " database of its own. Every part uses it unless its own variable is set.",
        postgres_address, secret=True,
    )  # fmt: skip
    owner_database_url: Secret | None = variable(
        "HEADGATE_OWNER_DATABASE_URL", None, "The role that owns the schema: migrations and seeding.",
        postgres_address, secret=True,
    )  # fmt: skip
    api_database_url: Secret | None = variable(
        "HEADGATE_API_DATABASE_URL", None, "The API's role, `headgate_api`.", postgres_address, secret=True
    )
    proxy_database_url: Secret | None = variable(
        "HEADGATE_PROXY_DATABASE_URL", None, "The proxy's role, `headgate_proxy`.", postgres_address, secret=True
    )
    worker_database_url: Secret | None = variable(
        "HEADGATE_WORKER_DATABASE_URL", None, "The worker's role, `headgate_worker`.", postgres_address, secret=True
    )
    redis_url: Secret | None = variable(
        "HEADGATE_REDIS_URL", None,
        "Valkey or Redis: `redis://host:port/0`, `rediss://…` or `unix:///path`. With it, `headgate up` starts none."
        " Without one (and without `headgate up`) rate limits are per process and held calls wake by polling.",
        redis_address, secret=True,
    )  # fmt: skip
    data_dir: Path = variable(
        "HEADGATE_DATA_DIR", None,
        "Where the instance keeps its data; unset: `headgate` below `XDG_DATA_HOME`, or `~/.local/share/headgate`.",
        path,
    )  # fmt: skip
    api_host: str = variable("HEADGATE_API_HOST", "127.0.0.1", "The address that the API listens on.", text)
    api_port: int = variable("HEADGATE_API_PORT", "8470", "The API's port; 0: any that is free.", port)
    public_api_url: str | None = variable(
        "HEADGATE_PUBLIC_API_URL", None,
        "The API's address as agents and people reach it; unset: made from host and port. Refusals name it, and the"
        " proxy lets exactly this origin through.",
        http_url,
    )  # fmt: skip
    proxy_host: str = variable("HEADGATE_PROXY_HOST", "127.0.0.1", "The address that the proxy listens on.", text)
    proxy_port: int = variable("HEADGATE_PROXY_PORT", "8471", "The proxy's port; 0: any that is free.", port)
    proxy_workers: int = variable(
        "HEADGATE_PROXY_WORKERS", None,
        "How many proxy processes `headgate up` runs on the one port; unset: one per processor core.", positive,
    )  # fmt: skip
    upstream_ca_file: Path | None = variable(
        "HEADGATE_UPSTREAM_CA_FILE", None,
        "A file of certificates (PEM) that upstream servers may chain to, beside the public roots.", existing_file,
    )  # fmt: skip
    hold_seconds: int = variable(
        "HEADGATE_HOLD_SECONDS", "50", "How long a call that needs approval is held, where its policy says nothing.",
        positive,
    )  # fmt: skip
    approval_expires_seconds: int = variable(
        "HEADGATE_APPROVAL_EXPIRES_SECONDS", "86400", "How long an approval stays open, where its policy says nothing.",
        positive,
    )  # fmt: skip
    rate_limits: bool = variable("HEADGATE_RATE_LIMITS", "on", "`off` only for load tests.", switch)
    api_body_limit_bytes: int = variable(
        "HEADGATE_API_BODY_LIMIT_BYTES",
        "1MiB",
        "The largest body of a request to the API; larger ones: 413.",
        size_bytes,
    )
    proxy_body_limit_bytes: int = variable(
        "HEADGATE_PROXY_BODY_LIMIT_BYTES", "10MiB", "The largest body of an intercepted request; larger ones: 413.",
        size_bytes,
    )  # fmt: skip
    request_head_seconds: int = variable(
        "HEADGATE_REQUEST_HEAD_SECONDS", "30",
        "How long the head of an intercepted request, or the TLS handshake before it, may take; then the connection is"
        " closed. A connection that is idle between requests owes nothing.", positive,
    )  # fmt: skip
    buffer_budget_bytes: int = variable(
        "HEADGATE_BUFFER_BUDGET_BYTES", "512MiB",
        "How many bytes of request bodies one proxy process keeps in memory at once, at most half for one agent;"
        " beyond: 503.", size_bytes,
    )  # fmt: skip
    jwt_local_issuer: bool = variable(
        "HEADGATE_JWT_LOCAL_ISSUER", "on",
        "Whether tokens of `headgate token`, signed with the key in the data directory, are accepted.", switch,
    )  # fmt: skip
    jwt_issuer: str | None = variable(
        "HEADGATE_JWT_ISSUER",
        None,
        "An OpenID Connect issuer whose tokens are accepted (claim `iss`, exactly).",
        http_url,
    )
    jwt_audience: str = variable(
        "HEADGATE_JWT_AUDIENCE", "headgate", "The audience (`aud`) that a token must name.", text
    )
    jwt_jwks_url: str | None = variable(
        "HEADGATE_JWT_JWKS_URL", None, "The issuer's keys; unset: found through OpenID Connect Discovery.", http_url
    )
    jwt_organization_claim: str = variable(
        "HEADGATE_JWT_ORGANIZATION_CLAIM", "org_id", "The claim that names the organization; a dot descends.", text
    )
    jwt_default_organization: str | None = variable(
        "HEADGATE_JWT_DEFAULT_ORGANIZATION", None, "The organization of a token that names none; unset: refused.", text
    )
    jwt_roles_claim: str = variable(
        "HEADGATE_JWT_ROLES_CLAIM",
        "roles",
        "The claim that lists the roles; a dot descends (`realm_access.roles`).",
        text,
    )
    jwt_aal_claim: str = variable(
        "HEADGATE_JWT_AAL_CLAIM", "aal", "The claim that says how the person signed in (`aal1`, `aal2`).", text
    )
    master_keys_file: Path | None = variable(
        "HEADGATE_MASTER_KEYS_FILE", None,
        "The keys that stored secrets are encrypted with (JSON, mode 0600, the same on every machine); unset: one that"
        " is made in the data directory at the first use.",
        path,
    )  # fmt: skip
    log_level: str = variable(
        "HEADGATE_LOG_LEVEL", "info", "debug, info, warning or error.", one_of("debug", "info", "warning", "error")
    )
    log_format: str = variable(
        "HEADGATE_LOG_FORMAT", "auto", "json, text, or auto: text on a terminal, JSON elsewhere.",
        one_of("auto", "json", "text"),
    )  # fmt: skip

    @property
    def data(self) -> DataDirectory:
        return DataDirectory(self.data_dir)

    @property
    def api_url(self) -> str:
        """As agents and people reach it, without a slash at the end."""
        return self.public_api_url or self.local_api_url

    @property
    def local_api_url(self) -> str:
        """As this machine reaches it."""
        return f"http://{_in_url(self.api_host)}:{self.api_port}"

    @property
    def proxy_url(self) -> str:
        return f"http://{_in_url(self.proxy_host)}:{self.proxy_port}"

    def database_url_of(self, part: Part) -> Secret:
        """The address with which this part logs in. Raises ValidationError where none is set."""
        own: dict[Part, Secret | None] = {
            Part.OWNER: self.owner_database_url,
            Part.API: self.api_database_url,
            Part.PROXY: self.proxy_database_url,
            Part.WORKER: self.worker_database_url,
        }
        url = own[part] or self.database_url
        if url is None:
            name = f"HEADGATE_{part.name}_DATABASE_URL"
            raise ValidationError(
                f"no database: set {name} (or HEADGATE_DATABASE_URL for all parts) to postgresql://…,"
                " or run headgate up, which brings its own",
                details={"variable": name, "reason": "not set"},
            )
        return url


def read_settings(environment: Mapping[str, str] = os.environ) -> Settings:
    """The settings that the environment says. Raises ValidationError, which names the variable."""
    values: dict[str, Any] = {}  # the edge: checked field by field, frozen in the next line
    for one in fields(Settings):
        row: Variable = one.metadata["variable"]
        values[one.name] = row.value(environment.get(row.name))
    values["data_dir"] = (values["data_dir"] or default_data_directory(environment)).absolute()
    # The cores that this process may use, which a container's limit on CPU sets makes fewer than the machine's.
    values["proxy_workers"] = values["proxy_workers"] or len(os.sched_getaffinity(0))
    return Settings(**values)


def all_variables() -> tuple[Variable, ...]:
    """The table, in the order of the class."""
    return tuple(one.metadata["variable"] for one in fields(Settings))


def _in_url(host: str) -> str:
    """A wildcard address is where one listens, not where one connects; IPv6 is bracketed (RFC 3986, 3.2.2)."""
    connectable = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - compared, not bound
    return f"[{connectable}]" if ":" in connectable else connectable
