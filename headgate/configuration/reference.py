"""docs/reference/settings.md, made from the table of settings: ``python -m headgate.configuration.reference``."""

import sys

from headgate.configuration.settings import all_variables

_HEAD = """\
# Settings

Every setting is an environment variable, or a line in [a file](#a-file-of-settings). A process reads its settings once,
when it starts. If values are invalid, the process stops, and one message names all of them. This page is generated
from `headgate/configuration/settings.py` (`python -m headgate.configuration.reference > docs/reference/settings.md`); a
test compares the two.

| variable | default | meaning |
|---|---|---|
"""

_TAIL = """
Sizes are bytes, or a number with `KiB`, `MiB` or `GiB`. Values of variables marked *secret* are never logged.

A secret can also be in a file: append `_FILE` to the variable's name, as in `HEADGATE_REDIS_URL_FILE`. The variable
itself takes precedence. Headgate reads the file only if other users cannot (docs/guides/several-machines.md).
`HEADGATE_SIGNING_KEYS_FILE` is the setting above.

## A file of settings

`HEADGATE_SETTINGS_FILE` names a TOML file. Its keys are the names of the variables, in lower case and without
`HEADGATE_`:

```toml
public_api_url = "https://gate.example.com"
proxy_workers = 4
rate_limits = true
trusted_proxies = ["10.0.0.0/8", "fd00::/8"]
redis_url_file = "/etc/headgate/redis-url"
```

A variable takes precedence over the file. A message about the file names each wrong line. Headgate reads the file only
if other users cannot change it, and a file with a secret only if they cannot read it either. Headgate reads no other
settings file, whatever the current folder contains.

## Other variables

The client commands (`headgate approvals`, `headgate policy`, …) read three more: `HEADGATE_RUNTIME_FILE`, the
runtime file of the instance; or `HEADGATE_API_URL` and `HEADGATE_TOKEN`, for one on another machine. `HEADGATE_TOKEN`
alone: that person, at the instance on this machine. `headgate env`, `run`, `mcp` and `doctor` read `HEADGATE_API_URL`
with `HEADGATE_AGENT_KEY` and `HEADGATE_CA_SHA256` (docs/guides/several-machines.md).

If neither a variable nor `--runtime-file` names an instance, the commands use the first one that runs: the instance
with its data in `.headgate` of the current folder, if this user has started one there, the one in the default data
directory, the one that this user started last. If the instance of the current folder is stopped, they use no other
one. With `HEADGATE_DATA_DIR` they use that one only. `headgate doctor` shows the address.

For keys in AWS KMS, Vault or OpenBao, the parts read the variables of those services' own tools: `VAULT_ADDR`,
`VAULT_TOKEN`, `VAULT_NAMESPACE`, `VAULT_CACERT`, `AWS_REGION` and others (docs/guides/secrets.md).
"""


def settings_reference() -> str:
    """The page, as Markdown."""
    rows = [
        f"| `{one.name}` | {'unset' if one.default is None else f'`{one.default}`'} |"
        f" {one.meaning}{' *Secret.*' if one.is_secret else ''} |\n"
        for one in all_variables()
    ]
    return _HEAD + "".join(rows) + _TAIL


if __name__ == "__main__":
    sys.stdout.write(settings_reference())
