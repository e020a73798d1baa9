"""``headgate``: the one command, and the place where an error becomes a sentence and an exit status.

Commands are imported when they are called: the parts of an instance start with this module too, and each of them
should load what it needs and no more.
"""

import errno
import importlib
import os
import sys
from pathlib import Path
from typing import Final

import click

from headgate.kernel.errors import HeadgateError
from headgate.kernel.loading import loading

_COMMANDS: Final = {
    "up": ("headgate.cli.up:up", "Run a whole instance here, database included."),
    "env": ("headgate.cli.environment:env", "Print what makes a program's calls go through the gate."),
    "run": ("headgate.cli.environment:run", "Run a program whose calls go through the gate."),
    "approvals": ("headgate.cli.approvals:approvals", "List, show and decide what waits for a human."),
    "grants": ("headgate.cli.grants:grants", "Standing permissions: list, give, revoke."),
    "break-glass": ("headgate.cli.break_glass:break_glass", "Let one denied action through; review who did."),
    "policy": ("headgate.cli.policies:policy", "Rule policies: add, change, test, compare, restore."),
    "nlp": ("headgate.cli.nlp:nlp", "Measure policies about content."),
    "tools": ("headgate.cli.tools:tools", "Tool catalogues: list, check, import OpenAPI documents."),
    "agents": ("headgate.cli.agents:agents", "List, create, change, suspend and end agents."),
    "keys": ("headgate.cli.keys:keys", "List keys, take them over, revoke those that have leaked."),
    "connections": ("headgate.cli.connections:connections", "Credentials that agents use and never see."),
    "stop": ("headgate.cli.kill_switch:stop", "Refuse every call at once, held ones too."),
    "start": ("headgate.cli.kill_switch:start", "Let go on what was stopped."),
    "allowlist": ("headgate.cli.allowlist:allowlist", "Show and change which private addresses agents may reach."),
    "notifications": (
        "headgate.cli.notifications:notifications",
        "Channels through which people are told; how messages went.",
    ),
    "webhooks": ("headgate.cli.webhooks:webhooks", "Make, list and test webhook endpoints; look at deliveries."),
    "retention": ("headgate.cli.retention:retention", "How long bodies are kept; legal holds; erasure."),
    "reports": ("headgate.cli.reports:reports", "Reports about the record: make, list, show, download."),
    "traffic": ("headgate.cli.traffic:traffic", "Capture traffic, and look at it: list, show, follow, export."),
    "audit": ("headgate.cli.audit:audit", "Read and verify the record, and take proofs of it."),
    "siem": ("headgate.cli.siem:siem", "Stream recorded events to a security team's collection."),
    "integrations": (
        "headgate.cli.integrations:integrations",
        "Set and test Jira, Linear, ServiceNow, chats and GitHub.",
    ),
    "verify": ("headgate.cli.verify:verify", "Check a proof pack, without any server."),
    "witness": ("headgate.cli.witness:witness", "Co-sign the checkpoints of other people's logs."),
    "org": ("headgate.cli.organizations:org", "Organizations: list, make, invite people, give roles."),
    "users": ("headgate.cli.users:users", "People: shut out, let in, sign out, unlock."),
    "login": ("headgate.cli.login:login", "Print an address that signs a person in with a browser."),
    "token": ("headgate.cli.token:token", "Make a token for a person, signed with this instance's key."),
    "mfa": ("headgate.cli.mfa:mfa", "Enrol a second factor; recovery codes for the day on which it is lost."),
    "secrets": ("headgate.cli.secrets:secrets", "Show, prepare, rotate and retire the master keys of stored secrets."),
    "ca": ("headgate.cli.authority:ca", "Show, export and rotate the certificate authority."),
    "doctor": ("headgate.cli.doctor:doctor", "Say what is wrong with this set-up, in plain words."),
    "demo": ("headgate.cli.demo:demo", "Play the whole story without internet."),
    "migrate": ("headgate.cli.parts:migrate", "Bring the database to this version, and seed it."),
    "api": ("headgate.cli.parts:api", "Run one API process."),
    "proxy": ("headgate.cli.parts:proxy", "Run one proxy process."),
    "worker": ("headgate.cli.parts:worker", "Run one worker process."),
    "masker": ("headgate.cli.parts:masker", "Mask and store captured traffic."),
}
"""Name → where it is, and its line in the overview."""


class LazyCommands(click.Group):
    """A group that knows its commands' names, and imports one when it is used."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.NoSuchCommand as error:
            # click suggests one of the commands that it holds, which are none here.
            raise click.NoSuchCommand(error.command_name, possibilities=_COMMANDS, ctx=ctx) from error

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module, _, attribute = _COMMANDS[cmd_name][0].partition(":")
        with loading():
            command = getattr(importlib.import_module(module), attribute)
        if not isinstance(command, click.Command):
            raise TypeError(f"{module}:{attribute} is not a command")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in _COMMANDS.items()])


@click.group(cls=LazyCommands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="headgate", message="%(version)s")
def headgate() -> None:
    """A gate between AI agents and the tools they call: every call decided, recorded, and held for a human where
    the policy says so.

    Start with: headgate up. Then, in another shell: eval "$(headgate env)".
    """


def main() -> None:
    """The installed command. Errors are one line on stderr and status 1; a wrong command line is status 2, and so is
    a file that cannot be read or written. Where the reader of our output is gone, click ends us with status 1."""
    if sys.stdin is None:
        # Closed by whoever called us: nothing to read, and no descriptor 0 for a connection to get.
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
