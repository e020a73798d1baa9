"""The settings of a process: parsed once, at its start, from environment variables and the files of secrets that they
name; frozen after that.

This class is the one table of settings: docs/reference/settings.md is made from it (``reference.py``) and
compared by a test, so that a setting without documentation fails.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from enum import StrEnum
from ipaddress import IPv4Network, IPv6Network
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from headgate.configuration.data_directory import DataDirectory, default_data_directory
from headgate.configuration.settings_file import SETTINGS_FILE, read_settings_file
from headgate.configuration.variables import (
    RequestQuota,
    Variable,
    existing_file,
    host_and_port,
    http_url,
    networks,
    one_of,
    path,
    paths,
    port,
    positive,
    postgres_address,
    proxy_address,
    redis_address,
    request_quota,
    seconds_up_to,
    secret_in_file,
    secret_text,
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
    backup_database_url: Secret | None = variable(
        "HEADGATE_BACKUP_DATABASE_URL", None,
        "The role with which `headgate backup` reads your own database: it sees all rows (BYPASSRLS) and may read"
        " all tables (`pg_read_all_data`; docs/guides/backup.md).", postgres_address, secret=True,
    )  # fmt: skip
    backup_passphrase: Secret | None = variable(
        "HEADGATE_BACKUP_PASSPHRASE", None,
        "The passphrase of `headgate backup` and `headgate restore`, at least 12 characters.",
        secret_text, secret=True,
    )  # fmt: skip
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
    public_proxy_url: str | None = variable(
        "HEADGATE_PUBLIC_PROXY_URL", None,
        "The proxy's address as agents reach it; unset: made from host and port. The dashboard shows it to those who"
        " connect an agent.",
        http_url,
    )  # fmt: skip
    command_name: str = variable(
        "HEADGATE_COMMAND_NAME", "headgate",
        "The program name in the commands that the dashboard shows. If no shell finds this installation as `headgate`"
        " and HEADGATE_PUBLIC_API_URL is unset, `headgate up` shows the path by which it was called.",
        text,
    )  # fmt: skip
    trusted_proxies: tuple[IPv4Network | IPv6Network, ...] | None = variable(
        "HEADGATE_TRUSTED_PROXIES", None,
        "Addresses or networks of the reverse proxies in front of the API, separated by commas. Limits, records and"
        " lockouts use the client address that these proxies report. Unset: no proxy is trusted.", networks,
    )  # fmt: skip
    forwarded_header: str = variable(
        "HEADGATE_FORWARDED_HEADER", "x-forwarded-for",
        "The header in which they report it: x-forwarded-for, or forwarded (RFC 7239).",
        one_of("x-forwarded-for", "forwarded"),
    )  # fmt: skip
    proxy_host: str = variable("HEADGATE_PROXY_HOST", "127.0.0.1", "The address that the proxy listens on.", text)
    proxy_port: int = variable("HEADGATE_PROXY_PORT", "8471", "The proxy's port; 0: any that is free.", port)
    proxy_workers: int = variable(
        "HEADGATE_PROXY_WORKERS", None,
        "How many proxy processes `headgate up` runs on the one port; unset: one per processor core.", positive,
    )  # fmt: skip
    ca_file: Path | None = variable(
        "HEADGATE_CA_FILE", None,
        "The proxies' certificate authority, the same on every machine: its key and certificate, and other certificates"
        " that agents trust (PEM, mode 0600). The API needs only the certificates. Unset: each data directory has its"
        " own authority.", existing_file,
    )  # fmt: skip
    monitor_address: tuple[str, int] | None = variable(
        "HEADGATE_MONITOR_ADDRESS", None,
        "The address (`host:port`) at which an API, a proxy or a worker that runs by itself answers `/healthz`,"
        " `/readyz` and `/metrics`. Unset: none.", host_and_port,
    )  # fmt: skip
    drain_seconds: int = variable(
        "HEADGATE_DRAIN_SECONDS", "0",
        "How long a stopping process that runs by itself keeps serving, not ready, so that a load balancer removes it"
        " before its connections end.", seconds_up_to(300),
    )  # fmt: skip
    otlp_endpoint: str | None = variable(
        "HEADGATE_OTLP_ENDPOINT", None,
        "An OpenTelemetry collector (OTLP over HTTP), `http://host:4318`: proxies send traces, and every part sends"
        " metrics and logs. Needs the extra `opentelemetry`. Unset: nothing is sent.", http_url,
    )  # fmt: skip
    otlp_headers: Secret | None = variable(
        "HEADGATE_OTLP_HEADERS", None,
        "Headers of each export to `HEADGATE_OTLP_ENDPOINT`: `NAME=VALUE`, separated by commas.", secret_text,
        secret=True,
    )  # fmt: skip
    upstream_ca_file: Path | None = variable(
        "HEADGATE_UPSTREAM_CA_FILE", None,
        "A file of certificates (PEM) that upstream servers may chain to, beside the public roots.", existing_file,
    )  # fmt: skip
    upstream_proxy_url: Secret | None = variable(
        "HEADGATE_UPSTREAM_PROXY_URL", None,
        "The proxy through which forwarded calls leave your network: `http://user:password@host:port`, or `https://…`"
        " for TLS to the proxy itself (docs/guides/production.md). Unset: calls go directly. Mail (SMTP), syslog and"
        " Apprise notifications do not use it. headgate doctor tries it.", proxy_address,
        secret=True,
    )  # fmt: skip
    upstream_proxy_direct: str | None = variable(
        "HEADGATE_UPSTREAM_PROXY_DIRECT", None,
        "Destinations that Headgate reaches without that proxy, separated by commas: names, `*.name`, addresses,"
        " networks. Headgate's own API and addresses of this machine are always reached directly.", text,
    )  # fmt: skip
    upstream_proxy_resolution: str = variable(
        "HEADGATE_UPSTREAM_PROXY_RESOLUTION", "local",
        "Who resolves names. local: Headgate resolves them, and requests tunnels to the addresses that it has checked."
        " proxy: the proxy resolves them. Headgate still checks each address that it finds; if it finds none, the"
        " proxy alone keeps agents from private addresses.", one_of("local", "proxy"),
    )  # fmt: skip
    classifiers_dir: Path | None = variable(
        "HEADGATE_CLASSIFIERS_DIR", None,
        "The folder of local classifiers for content policies, one folder for each"
        " (docs/reference/nlp.md). Set it for the API, the proxies and the workers.", path,
    )  # fmt: skip
    hold_seconds: int = variable(
        "HEADGATE_HOLD_SECONDS", "50", "How long a call that needs approval is held, unless its policy sets a time.",
        positive,
    )  # fmt: skip
    approval_expires_seconds: int = variable(
        "HEADGATE_APPROVAL_EXPIRES_SECONDS", "86400", "How long an approval stays open, unless its policy sets a time.",
        positive,
    )  # fmt: skip
    grant_max_seconds: int = variable(
        "HEADGATE_GRANT_MAX_SECONDS", "2592000", "The longest validity of a grant (30 days).", positive
    )
    key_lifetime_days: int | None = variable(
        "HEADGATE_KEY_LIFETIME_DAYS", None, "Lifetime of an API key whose request names no expiry; unset: no expiry.",
        positive,
    )  # fmt: skip
    delegation_depth: int = variable(
        "HEADGATE_DELEGATION_DEPTH", "8", "How many ancestors an action may have (`parentActionId`); more: 400.",
        positive,
    )  # fmt: skip
    execution_concurrency_max: int = variable(
        "HEADGATE_EXECUTION_CONCURRENCY_MAX", "64",
        "The largest `agent_concurrency` or `destination_concurrency` that an organization may set for its executions;"
        " larger values are reduced to it.", positive,
    )  # fmt: skip
    rate_limits: bool = variable("HEADGATE_RATE_LIMITS", "on", "`off` only for load tests.", switch)
    rate_limit_actions: RequestQuota = variable(
        "HEADGATE_RATE_LIMIT_ACTIONS", "100/60",
        "Requests to the routes of agents, for each key or person: a number, a slash and the seconds of the window.",
        request_quota,
    )  # fmt: skip
    rate_limit_admin: RequestQuota = variable(
        "HEADGATE_RATE_LIMIT_ADMIN", "50/60", "Requests to the routes of administrators, for each key or person.",
        request_quota,
    )  # fmt: skip
    rate_limit_decisions: RequestQuota = variable(
        "HEADGATE_RATE_LIMIT_DECISIONS", "100/60", "Approvals and denials, for each person or key.", request_quota
    )
    rate_limit_webhooks: RequestQuota = variable(
        "HEADGATE_RATE_LIMIT_WEBHOOKS",
        "1000/60",
        "Requests from platforms to Headgate, for each connection.",
        request_quota,
    )
    rate_limit_pages: RequestQuota = variable(
        "HEADGATE_RATE_LIMIT_PAGES", "600/60", "Requests to the dashboard, for each person.", request_quota
    )
    rate_limit_public: RequestQuota = variable(
        "HEADGATE_RATE_LIMIT_PUBLIC", "60/60", "Requests without a credential, for each address.", request_quota
    )
    rate_limit_proxy: RequestQuota = variable(
        "HEADGATE_RATE_LIMIT_PROXY", "1200/60",
        "Intercepted requests, and tunnels, for each agent in each proxy process; refilled evenly.", request_quota,
    )  # fmt: skip
    api_body_limit_bytes: int = variable(
        "HEADGATE_API_BODY_LIMIT_BYTES",
        "1MiB",
        "The largest body of a request to the API; larger ones: 413.",
        size_bytes,
    )
    api_bodies_limit_bytes: int = variable(
        "HEADGATE_API_BODIES_LIMIT_BYTES", "64MiB",
        "Memory of one API process for request bodies; a quarter for one address without a known credential, half for"
        " one organization. Beyond it, requests get 503.", size_bytes,
    )  # fmt: skip
    api_connections_max: int = variable(
        "HEADGATE_API_CONNECTIONS_MAX", "4096",
        "Client connections of one API process, and at most half of its limit of file descriptors. Beyond it, 503.",
        positive,
    )  # fmt: skip
    api_connections_per_address: int = variable(
        "HEADGATE_API_CONNECTIONS_PER_ADDRESS", "1024",
        "Of these, for one client address (IPv6: one /64). Connections of HEADGATE_TRUSTED_PROXIES do not count;"
        " requests through them count for the address that they name.", positive,
    )  # fmt: skip
    event_streams_per_person: int = variable(
        "HEADGATE_EVENT_STREAMS_PER_PERSON", "32",
        "Open event streams of one person, with all of their keys, or of one agent, in an API process; more: 429.",
        positive,
    )  # fmt: skip
    proxy_body_limit_bytes: int = variable(
        "HEADGATE_PROXY_BODY_LIMIT_BYTES", "10MiB", "The largest body of an intercepted request; larger ones: 413.",
        size_bytes,
    )  # fmt: skip
    request_head_seconds: int = variable(
        "HEADGATE_REQUEST_HEAD_SECONDS", "30",
        "How long the head of an intercepted request, or the TLS handshake before it, may take; then the connection is"
        " closed. This does not apply to a connection that is idle between requests.", positive,
    )  # fmt: skip
    buffer_budget_bytes: int = variable(
        "HEADGATE_BUFFER_BUDGET_BYTES", "512MiB",
        "Memory of one proxy process for request bodies, their parsed form during a decision, and responses that"
        " policies inspect; at most half for one agent. Beyond it, requests get 503 and responses are"
        " withheld.", size_bytes,
    )  # fmt: skip
    inspected_answer_limit_bytes: int = variable(
        "HEADGATE_INSPECTED_ANSWER_LIMIT_BYTES", "1MiB",
        "The largest response, on the wire and decoded, that content policies inspect; if such a policy covers the"
        " call, larger ones are withheld. Detectors read 1 MiB, so a larger limit does not let more pass.", size_bytes,
    )  # fmt: skip
    inspected_answer_seconds: int = variable(
        "HEADGATE_INSPECTED_ANSWER_SECONDS", "60",
        "How long a response that is inspected as a whole may take from its head to its end; then it is withheld.",
        positive,
    )  # fmt: skip
    capture_spool_limit_bytes: int = variable(
        "HEADGATE_CAPTURE_SPOOL_LIMIT_BYTES", "256MiB",
        "How much captured traffic may wait on this machine, encrypted, to be masked and stored; traffic beyond it is"
        " counted as not captured.", size_bytes,
    )  # fmt: skip
    jwt_local_issuer: bool = variable(
        "HEADGATE_JWT_LOCAL_ISSUER", "on",
        "Whether tokens of `headgate token`, signed with the key in the data directory, are accepted.", switch,
    )  # fmt: skip
    passkeys: bool = variable(
        "HEADGATE_PASSKEYS", "on",
        "Whether people sign in with passkeys, and invited people create one, without an identity provider. Off: only"
        " links of `headgate login` sign in; stored passkeys work again when it is on.",
        switch,
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
    mfa_provider: str | None = variable(
        "HEADGATE_MFA_PROVIDER", None,
        "The service that stores the second factors of people with tokens of `HEADGATE_JWT_ISSUER`: supabase, keycloak"
        " or auth0 (docs/guides/mfa.md); unset: their recovery codes are refused.",
        one_of("supabase", "keycloak", "auth0"),
    )  # fmt: skip
    mfa_provider_url: str | None = variable(
        "HEADGATE_MFA_PROVIDER_URL", None,
        "Supabase: the project's address; Auth0: the tenant's; unset, and for Keycloak: made from the issuer.",
        http_url,
    )  # fmt: skip
    mfa_provider_client_id: str | None = variable(
        "HEADGATE_MFA_PROVIDER_CLIENT_ID", None, "Keycloak, Auth0: the client that may manage users.", text
    )
    mfa_provider_secret: Secret | None = variable(
        "HEADGATE_MFA_PROVIDER_SECRET", None, "That client's secret; Supabase: the service-role key.",
        secret_text, secret=True,
    )  # fmt: skip
    jwt_client_id: str | None = variable(
        "HEADGATE_JWT_CLIENT_ID", None,
        "Headgate's client id at that issuer, for sign-in with a browser (docs/guides/signing-in.md).",
        text,
    )  # fmt: skip
    jwt_client_secret: Secret | None = variable(
        "HEADGATE_JWT_CLIENT_SECRET", None, "Its secret there; unset: a public client, which PKCE protects.",
        secret_text, secret=True,
    )  # fmt: skip
    jwt_issuers_file: Path | None = variable(
        "HEADGATE_JWT_ISSUERS_FILE", None,
        "More issuers, each with all of its options (YAML; docs/guides/signing-in.md).", existing_file,
    )  # fmt: skip
    session_seconds: int = variable(
        "HEADGATE_SESSION_SECONDS", "43200", "The longest duration of a browser's session (12 h).", positive
    )
    session_idle_seconds: int = variable(
        "HEADGATE_SESSION_IDLE_SECONDS", "3600", "How long a browser's session lasts without a request (1 h).", positive
    )
    sign_in_trust_seconds: int = variable(
        "HEADGATE_SIGN_IN_TRUST_SECONDS", "2592000",
        "How long after their last sign-in people may decide through links, chats and trackers, which show no"
        " credential of their provider (30 days).", positive,
    )  # fmt: skip
    master_keys_file: Path | None = variable(
        "HEADGATE_MASTER_KEYS_FILE", None,
        "The keys that encrypt stored secrets, and authenticate journal entries until they are sealed (JSON, mode 0600,"
        " the same on every machine); unset: those in the data directory.",
        path,
    )  # fmt: skip
    vault_token_file: Path | None = variable(
        "HEADGATE_VAULT_TOKEN_FILE", None,
        "A file with a token of HashiCorp Vault or OpenBao (mode 0600), for keys at `hashivault://…`. It is read for"
        " each request, so that Vault Agent can replace it. Unset: `VAULT_TOKEN` (docs/guides/secrets.md).",
        path,
    )  # fmt: skip
    signing_keys_file: Path | None = variable(
        "HEADGATE_SIGNING_KEYS_FILE", None,
        "The keys that sign checkpoints (mode 0600; the API and every worker need the same); unset: one that Headgate"
        " creates in the data directory when it signs the first checkpoint.",
        path,
    )  # fmt: skip
    signing_keys: Secret | None = variable(
        "HEADGATE_SIGNING_KEYS", None,
        "The same as text: `PRIVATE+KEY+…` lines, separated by spaces or line ends; takes precedence over the file.",
        secret_text, secret=True,
    )  # fmt: skip
    checkpoint_seconds: int = variable(
        "HEADGATE_CHECKPOINT_SECONDS", "5", "The longest time between an event and a signed checkpoint that covers it.",
        positive,
    )  # fmt: skip
    checkpoint_events: int = variable(
        "HEADGATE_CHECKPOINT_EVENTS",
        "10000",
        "The number of events after which a checkpoint is signed earlier.",
        positive,
    )
    checkpoint_exports: Secret | None = variable(
        "HEADGATE_CHECKPOINT_EXPORTS", None,
        "Where the worker exports checkpoints to, separated by spaces: `file:///folder`, `https://host/path`,"
        " `s3+https://KEY:SECRET@host/bucket/prefix`, `tsa+https://host/path`, `witness+https://host/?key=…`"
        " (docs/guides/evidence.md).",
        secret_text, secret=True,
    )  # fmt: skip
    siem_folder: Path | None = variable(
        "HEADGATE_SIEM_FOLDER", None,
        "A folder for organizations that stream their events to files (docs/guides/siem.md); unset: none may.", path,
    )  # fmt: skip
    report_fonts: tuple[Path, ...] | None = variable(
        "HEADGATE_REPORT_FONTS", None,
        "Fonts of PDF reports for the characters that Source Sans Pro lacks: TrueType or OpenType files, separated by"
        " commas, of which the first that has a character sets it; for Chinese, Japanese and Korean"
        " `/usr/share/fonts/truetype/droid/DroidSansFallbackFull.ttf` of Debian's `fonts-droid-fallback`. Unset: such"
        " characters are written out (docs/guides/reports.md).", paths,
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
        """As agents reach it, without a slash at the end."""
        return self.public_proxy_url or self.local_proxy_url

    @property
    def local_proxy_url(self) -> str:
        """As this machine reaches it."""
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
    """Reads the settings from the environment and from the file that it names. Raises one ValidationError for all
    variables that cannot be used."""
    given, problems = _with_file(environment)
    values: dict[str, Any] = {}  # the edge: checked field by field, frozen below
    for one in fields(Settings):
        try:
            values[one.name] = _value(one.metadata["variable"], given)
        except ValidationError as error:
            problems.append(error)
    _require_none(problems)
    values["data_dir"] = (values["data_dir"] or default_data_directory(environment)).absolute()
    # The cores that this process may use, which a container's limit on CPU sets makes fewer than the machine's.
    values["proxy_workers"] = values["proxy_workers"] or len(os.sched_getaffinity(0))
    return Settings(**values)


def environment_with_file(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The environment with the values of the settings file, for child processes and for single variables. Raises
    ValidationError."""
    given, problems = _with_file(environment)
    _require_none(problems)
    return {name: value for name, value in given.items() if name != SETTINGS_FILE}


def _with_file(environment: Mapping[str, str]) -> tuple[dict[str, str], list[ValidationError]]:
    if not (named := environment.get(SETTINGS_FILE)):
        return dict(environment), []
    rows = {name: row for row in all_variables() for name in _names_of(row)}
    known = {name: row if name == row.name else replace(row, parse=path, is_secret=False) for name, row in rows.items()}
    in_file, problems = read_settings_file(path(named), known)
    beside = {
        name: text for name, text in in_file.items() if not any(environment.get(one) for one in _names_of(rows[name]))
    }
    return {**environment, **beside}, problems


def _value(row: Variable, given: Mapping[str, str]) -> object:
    """Raises ValidationError."""
    text = given.get(row.name)
    file_variable = file_variable_of(row)
    if not text and file_variable is not None and (named := given.get(file_variable)):
        text = secret_in_file(file_variable, named)
    return row.value(text)


def _names_of(row: Variable) -> list[str]:
    """The variable of the setting, and the variable that names a file with its value."""
    return [one for one in (row.name, file_variable_of(row)) if one is not None]


def _require_none(problems: Sequence[ValidationError]) -> None:
    if len(problems) == 1:
        raise problems[0]
    if problems:
        raise ValidationError(
            f"{len(problems)} settings cannot be used:\n" + "\n".join(f"  {one.message}" for one in problems),
            details={"variables": [one.details["variable"] for one in problems if one.details]},
        )


def all_variables() -> tuple[Variable, ...]:
    """The table, in the order of the class."""
    return tuple(one.metadata["variable"] for one in fields(Settings))


def file_variable_of(row: Variable) -> str | None:
    """The variable that names a file with this secret in it. ``HEADGATE_SIGNING_KEYS_FILE`` is a setting of its own."""
    name = f"{row.name}_FILE"
    return name if row.is_secret and all(name != one.name for one in all_variables()) else None


def _in_url(host: str) -> str:
    """A wildcard address is where one listens, not where one connects; IPv6 is bracketed (RFC 3986, 3.2.2)."""
    connectable = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - compared, not bound
    return f"[{connectable}]" if ":" in connectable else connectable
