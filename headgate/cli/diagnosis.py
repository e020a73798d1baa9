"""What ``headgate doctor`` looks at: each check answers with a finding, in plain words and with the remedy."""

import difflib
import os
import shutil
import socket
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final
from urllib.parse import SplitResult, urlsplit

from headgate.cli.api_client import ApiClient
from headgate.cli.command_name import command_name
from headgate.cli.finding import Finding, Verdict
from headgate.cli.gate_of_agent import FINGERPRINTS_VARIABLE, find_gate
from headgate.cli.kill_switch import describe
from headgate.cli.process_users import users_of
from headgate.cli.target import Target, default_runtime_file, find_instance
from headgate.client import operations
from headgate.configuration.settings import all_variables, file_variable_of, read_settings
from headgate.configuration.settings_file import SETTINGS_FILE
from headgate.kernel.errors import HeadgateError
from headgate.kernel.pem import certificates_in
from headgate.runtime.agent_access import AgentAccess
from headgate.runtime.runtime_file import RuntimeInformation

_CLIENT_VARIABLES: Final = frozenset(
    {
        "HEADGATE_RUNTIME_FILE",
        "HEADGATE_API_URL",
        "HEADGATE_TOKEN",
        "HEADGATE_AGENT_KEY",
        FINGERPRINTS_VARIABLE,
        SETTINGS_FILE,
    }
)
_LEAST_FREE_MIB: Final = 1024
_RENEWAL: Final = timedelta(days=30)
_TIMEOUT_SECONDS: Final = 3.0
CERTIFICATE_REFUSED: Final = "CERTIFICATE_REFUSED"
"""The same as in ``headgate.audit.count_refusals``, whose import would load the database driver."""

_REFUSED_WITHIN: Final = timedelta(days=1)
_EVENTS_MAX: Final = 100
_CALLS_NAMED_MAX: Final = 5


def diagnose(runtime_file: Path | None, environment: Mapping[str, str] = os.environ) -> Iterator[Finding]:
    """All findings, the set-up first, then the running instance."""
    yield from check_variables(environment)
    named = runtime_file or environment.get("HEADGATE_RUNTIME_FILE") or default_runtime_file(environment)
    try:
        if named is None:
            access = find_gate(None, environment)
            yield check_key(access)
        else:
            instance = find_instance(Path(named), environment)
            access = instance.access
            yield from _check_instance(instance, Path(named))
    except HeadgateError as error:
        yield Finding(Verdict.WRONG, error.message)
        return
    yield check_proxy(access.proxy_url, Path(access.ca_cert))
    yield check_certificate(Path(access.ca_cert), datetime.now(UTC))
    yield check_shell(access.proxy_url, environment)
    yield check_way_around()


def check_way_around() -> Finding:
    """Tries to go around the gate: whether this process has a way to another network. Nothing is sent: connecting a
    datagram socket only looks for a route (udp(7)). The address belongs to nobody (RFC 5737)."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 443))
        except OSError:
            return Finding(Verdict.OK, "no way around the proxy: this process has no route to another network")
    return Finding(
        Verdict.NOTE,
        "programs that ignore the proxy variables can call around the proxy: start them with headgate run --isolate, or"
        " let their network lead to the proxy only (docs/guides/clients.md)",
    )


def _check_instance(instance: RuntimeInformation, runtime_file: Path) -> Iterator[Finding]:
    yield from check_parts(instance)
    yield check_api(instance)
    yield from check_stops(instance)
    yield from check_warnings(instance)
    yield from check_refused_certificates(instance, datetime.now(UTC))
    yield check_disk(Path(instance.ca_cert))
    yield Finding(
        Verdict.NOTE,
        f"agents that run as this user can read {runtime_file} and approve their own calls with the administrator's"
        " token in it: run them as another user, who uses headgate join (docs/guides/several-machines.md)"
        + "".join(
            f". Agents that run as {name} can change the database: its server runs as that user"
            for name in users_of(instance.pids.get("postgres", ()), besides=os.geteuid())
        ),
    )


def check_key(access: AgentAccess) -> Finding:
    """Whether the gate's API answers this machine and takes the agent's key."""
    try:
        answer = ApiClient(Target(access.api_url, access.agent_key)).send(operations.get_agents_me)
    except HeadgateError as error:
        return Finding(Verdict.WRONG, error.message)
    return Finding(Verdict.OK, f"the API at {access.api_url} takes the key of {answer['name']} ({answer['id']})")


def check_variables(environment: Mapping[str, str]) -> Iterator[Finding]:
    """Finds settings that cannot be read and variables that only look like settings; tries the upstream proxy."""
    try:
        settings = read_settings(environment)
        yield Finding(Verdict.OK, "the settings are readable")
    except HeadgateError as error:
        yield Finding(Verdict.WRONG, error.message)
        settings = None
    rows = all_variables()
    known = {one for row in rows for one in (row.name, file_variable_of(row)) if one} | _CLIENT_VARIABLES
    for name in sorted(set(environment) - known):
        if name.startswith("HEADGATE_"):
            near = difflib.get_close_matches(name, known, n=1)
            meant = f": did you mean {near[0]}?" if near else ""
            yield Finding(Verdict.NOTE, f"{name} is set but is not a setting{meant}")
    if settings is not None and settings.upstream_proxy_url is not None:
        from headgate.cli.upstream_probe import check_upstream_proxy  # noqa: PLC0415 - only with such a proxy

        yield from check_upstream_proxy(settings)


def check_parts(instance: RuntimeInformation) -> Iterator[Finding]:
    """Whether the processes of the runtime file are there."""
    everyone = [pid for part in instance.pids.values() for pid in part]
    if everyone and not any(Path(f"/proc/{pid}").exists() for pid in everyone):
        # An instance that is stopped takes its runtime file along; the file of one that was killed stays.
        yield Finding(
            Verdict.WRONG, "no process of this instance is running: it was killed. Start it again (headgate up)"
        )
        return
    for name, pids in instance.pids.items():
        gone = [pid for pid in pids if not Path(f"/proc/{pid}").exists()]
        if gone:
            yield Finding(Verdict.WRONG, f"{name}: process {gone[0]} has ended. See the log of headgate up")
        elif pids:
            yield Finding(Verdict.OK, f"{name} runs ({len(pids)})")


def check_api(instance: RuntimeInformation) -> Finding:
    """Whether it answers and takes the administrator's token."""
    try:
        ApiClient(Target(instance.api_url, instance.admin_token)).send(operations.list_approvals, limit=1)
    except HeadgateError as error:
        return Finding(Verdict.WRONG, error.message)
    return Finding(Verdict.OK, f"the API answers at {instance.api_url}")


def check_stops(instance: RuntimeInformation) -> Iterator[Finding]:
    """Whether somebody has stopped something; an API that does not answer is ``check_api``'s finding."""
    try:
        answer = ApiClient(Target(instance.api_url, instance.admin_token)).send(operations.get_settings_kill_switch)
    except HeadgateError:
        return
    for stop in answer.get("stops", []):
        yield Finding(Verdict.NOTE, f"{describe(stop)} (headgate start)")


def check_warnings(instance: RuntimeInformation) -> Iterator[Finding]:
    """What the API itself has noticed: master keys that it cannot use, a reverse proxy that HEADGATE_TRUSTED_PROXIES
    does not name."""
    try:
        answer = ApiClient(Target(instance.api_url, instance.admin_token)).send(operations.get_health)
    except HeadgateError:
        return
    if (answer.get("parts") or {}).get("vault") == "unavailable":
        yield Finding(
            Verdict.WRONG,
            "the master keys cannot be used: a part that starts now refuses every call. Run headgate secrets status on"
            " the server",
        )
    for warning in answer.get("warnings") or []:
        yield Finding(Verdict.NOTE, warning)


def check_refused_certificates(instance: RuntimeInformation, now: datetime) -> Iterator[Finding]:
    """Which agents' clients refused Headgate's certificate in the last day, and for which hosts. Their programs report
    an error of TLS that does not mention Headgate."""
    client = ApiClient(Target(instance.api_url, instance.admin_token))
    begin = (now - _REFUSED_WITHIN).isoformat()
    try:
        events = client.send(
            operations.list_audit_events, event_type="request.refused", start_date=begin, limit=_EVENTS_MAX
        )["data"]
    except HeadgateError:
        return
    said: dict[str, None] = {}
    for event in events:
        calls = event["data"].get("calls")
        if event["data"].get("code") != CERTIFICATE_REFUSED or not isinstance(calls, list):
            continue
        actor = event["actor"]
        agent = event["agent_id"] if actor is None else actor["name"] or actor["id"]
        for call in calls:
            if isinstance(call, dict):
                said[f"{agent}: {call.get('host')} port {call.get('port')}: {call.get('reason')}"] = None
    for text in list(said)[:_CALLS_NAMED_MAX]:
        yield Finding(Verdict.NOTE, f"{text} (docs/guides/clients.md#clients-that-refuse-the-certificate)")
    if len(said) > _CALLS_NAMED_MAX:
        yield Finding(Verdict.NOTE, f"{len(said) - _CALLS_NAMED_MAX} more: headgate audit list --type request.refused")


def check_proxy(proxy_url: str, authority: Path) -> Finding:
    """Whether a gate is there: one asks for a key (407, RFC 9110, section 15.5.8) before it does anything.
    ``authority``: the authority of its certificate, for an ``https://`` proxy."""
    parts = urlsplit(proxy_url)
    try:
        answer = _answer_to_connect(parts, authority if parts.scheme == "https" else None)
    except OSError as error:
        return Finding(Verdict.WRONG, f"the proxy at {proxy_url} is unreachable ({error})")
    if b" 407 " not in answer:
        return Finding(Verdict.WRONG, f"the server at {proxy_url} did not ask for a key. Is it the Headgate proxy?")
    return Finding(Verdict.OK, f"the proxy listens at {proxy_url} and asks for a key")


def _answer_to_connect(proxy: SplitResult, authority: Path | None) -> bytes:
    """Raises OSError."""
    asked = b"CONNECT headgate.invalid:443 HTTP/1.1\r\nHost: headgate.invalid:443\r\n\r\n"
    host, port = proxy.hostname or "", proxy.port or (80 if authority is None else 443)
    with socket.create_connection((host, port), _TIMEOUT_SECONDS) as connection:
        if authority is None:
            connection.sendall(asked)
            return connection.recv(64)
        import ssl  # noqa: PLC0415 - for this alone

        trust = ssl.create_default_context()
        trust.load_verify_locations(authority)
        with trust.wrap_socket(connection, server_hostname=host) as secure:
            secure.sendall(asked)
            return secure.recv(64)


def check_certificate(file: Path, now: datetime) -> Finding:
    """Whether agents can read it, and for how long it is valid."""
    try:
        ends = _end_of_authority(file.read_bytes())
    except (OSError, ValueError) as error:
        return Finding(Verdict.WRONG, f"the authority's certificate {file} cannot be read ({error})")
    if ends - now < _RENEWAL:
        return Finding(Verdict.WRONG, f"the authority's certificate expires on {ends.date()}: run headgate ca rotate")
    return Finding(Verdict.OK, f"the authority's certificate is valid until {ends.date()}")


def _end_of_authority(pem: bytes) -> datetime:
    """When the first certificate of ``pem``, the current authority's, ends. By OpenSSL, which the API's client has
    loaded: for one date, ``cryptography.x509`` takes a fifth of the command's time. Raises ValueError, ssl.SSLError."""
    import ssl  # noqa: PLC0415 - help needs no TLS

    certificates = certificates_in(pem)
    if not certificates:
        raise ValueError("it has no certificate")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(cadata=certificates[0].decode())
    authorities = context.get_ca_certs()
    if not authorities:
        raise ValueError("it is not the certificate of an authority")
    return datetime.fromtimestamp(ssl.cert_time_to_seconds(str(authorities[0]["notAfter"])), UTC)


def check_disk(somewhere: Path) -> Finding:
    try:
        free = shutil.disk_usage(somewhere).free // 1024**2
    except OSError as error:
        return Finding(Verdict.WRONG, f"the free space of {somewhere} is unknown ({error})")
    if free < _LEAST_FREE_MIB:
        return Finding(
            Verdict.WRONG,
            f"{free} MiB are free for the data. Free some space: with a full disk Headgate refuses every call",
        )
    return Finding(Verdict.OK, f"{free // 1024} GiB are free for the data")


def check_shell(proxy_url: str, environment: Mapping[str, str]) -> Finding:
    """Whether programs started from this shell go through this gate."""
    proxy = environment.get("HTTPS_PROXY") or environment.get("https_proxy")
    if not proxy:
        remedy = f'eval "$({command_name()} env)"'
        return Finding(Verdict.NOTE, f"this shell's programs do not use the proxy: {remedy}")
    if urlsplit(proxy).netloc.rpartition("@")[2] != urlsplit(proxy_url).netloc:
        return Finding(Verdict.NOTE, "this shell's HTTPS_PROXY is not this proxy: run headgate env again")
    return Finding(Verdict.OK, "this shell's programs use the proxy")
