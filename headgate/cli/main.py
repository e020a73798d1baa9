"""``headgate``: the one command, and the place where an error becomes a sentence and an exit status.

Commands are imported when they are called: each should load what it needs and no more.
"""

import errno
import os
import sys
from pathlib import Path
from typing import Final

import click

from headgate.cli.lazy_group import LazyGroup, Place
from headgate.kernel.errors import HeadgateError
from headgate.kernel.import_path import extend_import_path

_COMMANDS: Final[dict[str, Place]] = {
    "up": ("headgate.cli.up:up", "Run a whole instance on this machine, with its database."),
    "env": ("headgate.cli.environment:env", "Print the variables that route a program's calls through Headgate."),
    "run": ("headgate.cli.environment:run", "Run a program with its calls routed through Headgate."),
    "join": ("headgate.cli.join:join", "Use the gate of another machine for the agents of this one."),
    "leave": ("headgate.cli.join:leave", "Forget the gate that this machine has joined."),
    "approvals": ("headgate.cli.approvals:approvals", "List, show, decide, reassign and escalate approval requests."),
    "grants": ("headgate.cli.grants:grants", "Approvals in advance: list, create, revoke."),
    "break-glass": (
        "headgate.cli.break_glass:break_glass",
        "Exempt one denied action in an emergency; review these uses.",
    ),
    "policy": ("headgate.cli.policies:policy", "Rego policies: add, change, test, compare, restore."),
    "nlp": ("headgate.cli.nlp:nlp", "List, create, test and measure content policies."),
    "tools": ("headgate.cli.tools:tools", "Tool catalogues: list, check, import OpenAPI documents."),
    "mcp": ("headgate.cli.mcp:mcp", "Run an MCP server (stdio) whose messages are decided by policies."),
    "canaries": ("headgate.cli.canaries:canaries", "Canary tokens: create, list, revoke."),
    "mcp-tools": ("headgate.cli.mcp_tools:mcp_tools", "Tools of MCP servers: list, show, accept changes."),
    "agents": ("headgate.cli.agents:agents", "List, create, change, suspend and deactivate agents."),
    "keys": ("headgate.cli.keys:keys", "List, adopt and revoke API keys, including leaked keys."),
    "connections": ("headgate.cli.connections:connections", "Credentials that agents use and never see."),
    "stop": ("headgate.cli.kill_switch:stop", "Kill switch: refuse all calls, or those of an agent or a tool."),
    "start": ("headgate.cli.kill_switch:start", "Resume stopped agents and tools."),
    "allowlist": ("headgate.cli.allowlist:allowlist", "Show and change the destinations that agents may reach."),
    "notifications": (
        "headgate.cli.notifications:notifications",
        "Notification channels, routes and deliveries.",
    ),
    "webhooks": ("headgate.cli.webhooks:webhooks", "Create, list and test webhook endpoints; show deliveries."),
    "retention": ("headgate.cli.retention:retention", "Retention of bodies, legal holds, erasure."),
    "reports": ("headgate.cli.reports:reports", "Reports on the audit log: create, list, show, download."),
    "traffic": ("headgate.cli.traffic:traffic", "Captured traffic: rules, list, show, follow, note, export."),
    "audit": ("headgate.cli.audit:audit", "Read, verify and export the audit log; proof packs."),
    "siem": ("headgate.cli.siem:siem", "Stream audit events to a SIEM."),
    "integrations": (
        "headgate.cli.integrations:integrations",
        "Configure and test Jira, Linear, ServiceNow, chats, GitHub.",
    ),
    "verify": ("headgate.cli.verify:verify", "Verify a proof pack offline."),
    "witness": ("headgate.cli.witness:witness", "Run a witness that cosigns the checkpoints of other logs."),
    "org": ("headgate.cli.organizations:org", "Organizations: list, create, invite members, assign roles."),
    "users": ("headgate.cli.users:users", "Users: deactivate, sign out, unlock, reset second factors."),
    "login": ("headgate.cli.login:login", "Print a link that signs a user in with a browser, once."),
    "token": ("headgate.cli.token:token", "Create an access token for a user, signed by this instance."),
    "mfa": ("headgate.cli.mfa:mfa", "Enroll second factors; create recovery codes."),
    "secrets": ("headgate.cli.secrets:secrets", "Create key files; show, prepare, rotate and retire master keys."),
    "backup": ("headgate.cli.backup:backup", "Create a backup of a running instance; verify a backup."),
    "restore": ("headgate.cli.restore:restore", "Restore a backup into an empty data directory or database."),
    "upgrade": ("headgate.cli.upgrade:upgrade", "Move the embedded database to a new version of PostgreSQL."),
    "ca": ("headgate.cli.authority:ca", "Show, export and rotate Headgate's certificate authority."),
    "doctor": ("headgate.cli.doctor:doctor", "Diagnose the configuration and the running instance."),
    "demo": ("headgate.cli.demo:demo", "Run a demonstration that needs no internet."),
    "migrate": ("headgate.cli.parts:migrate", "Migrate the database schema and seed the defaults."),
    "api": ("headgate.cli.parts:api", "Run one API process."),
    "proxy": ("headgate.cli.parts:proxy", "Run one proxy process."),
    "worker": ("headgate.cli.parts:worker", "Run one worker process."),
    "masker": ("headgate.cli.parts:masker", "Run one process that masks and stores captured traffic."),
}
"""Name → where it is, and its line in the overview."""


@click.group(
    cls=LazyGroup,
    elsewhere=_COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(package_name="headgate", message="%(version)s")
def headgate() -> None:
    """An action gateway for AI agents: policies decide each call, a tamper-evident log records it, and people approve
    the calls that a policy holds.

    Start an instance: headgate up. Then, in another shell: headgate run -- COMMAND.
    """


def main() -> None:
    """The installed command. Errors are one line on stderr and status 1; a wrong command line is status 2, and so is
    a file that cannot be read or written. Where the reader of our output is gone, click ends us with status 1."""
    extend_import_path()
    if sys.stdin is None:
        # The caller closed it: nothing to read, and no descriptor 0 for a connection to get.
        sys.stdin = Path(os.devnull).open(encoding="utf-8")  # noqa: SIM115 - for as long as we live
    try:
        headgate.main(prog_name="headgate", standalone_mode=False)
    except click.exceptions.Exit as stopped:
        sys.exit(stopped.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        click.echo("stopped", err=True)
        sys.exit(130)
    except OSError as error:
        if error.errno == errno.ENOSPC and error.filename is None:
            click.echo(f"headgate: {error.strerror}", err=True)
            sys.exit(2)
        if error.filename is None:
            raise
        click.echo(f"headgate: {click.format_filename(error.filename)}: {error.strerror}", err=True)
        sys.exit(2)
    except HeadgateError as error:
        click.echo(f"headgate: {error.message}", err=True)
        sys.exit(1)


if __name__ == "__main__":
    main()
