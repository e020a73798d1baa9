"""``headgate webhooks create`` against a running instance: the secret is shown once, and what is wrong is said."""

import json

from standardwebhooks.webhooks import Webhook

from tests.e2e.instance import Instance

URL = "https://hooks.example.com/headgate"


def test_made_with_its_secret_and_listed_without(instance: Instance) -> None:
    done = instance.try_subcommand("webhooks", "create", URL, "--event", "execution.failed")
    assert done.returncode == 0, done.stderr
    fields = {line.split()[0]: line.split()[1] for line in done.stdout.splitlines()[:3]}
    Webhook(fields["secret"])  # the published library takes it
    assert fields["events"] == "execution.failed"
    listed = instance.try_subcommand("webhooks", "list").stdout
    assert fields["endpoint"] in listed and URL in listed
    assert fields["secret"] not in listed


def test_an_endpoint_from_its_first_day_to_its_last(instance: Instance) -> None:
    made = json.loads(instance.try_subcommand("webhooks", "create", URL, "--json").stdout)

    def done(command: str, *options: str) -> str:
        ended = instance.try_subcommand("webhooks", command, made["id"], *options)
        assert ended.returncode == 0, ended.stderr
        return ended.stdout

    assert done("disable") == f"{made['id']} is disabled\n"
    assert done("enable") == f"{made['id']} is enabled\n"
    secret = done("rotate-secret", "--overlap", "0").strip()
    assert secret != made["secret"]
    Webhook(secret)  # the published library takes it
    assert done("delete", "--yes") == f"removed {made['id']}\n"
    assert made["id"] not in instance.try_subcommand("webhooks", "list").stdout
    assert instance.try_subcommand("webhooks", "enable", made["id"]).returncode == 1


def test_an_address_that_the_allowlist_refuses_is_told_of(instance: Instance) -> None:
    done = instance.try_subcommand("webhooks", "create", "https://10.0.0.7/")
    assert done.returncode == 0, done.stderr
    assert "warning: messages cannot be delivered: 10.0.0.7 port 443 is a private address" in done.stderr
    assert "warning" not in instance.try_subcommand("webhooks", "create", URL).stderr


def test_an_event_that_is_none_is_answered_with_those_that_are(instance: Instance) -> None:
    done = instance.try_subcommand("webhooks", "create", URL, "--event", "nope")
    assert done.returncode == 1
    assert "unknown: nope" in done.stderr and "execution.failed" in done.stderr
