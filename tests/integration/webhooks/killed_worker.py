"""A worker of its own, for a test to kill: resolves every name to loopback and says when it is working."""

import asyncio
import sys
from pathlib import Path

import headgate.outgoing.resolver
from headgate.kernel.secrets import Secret
from headgate.worker.main import run
from headgate.worker.settings import WorkerSettings
from tests.integration.outgoing.receivers import NameServer

headgate.outgoing.resolver._look_up = lambda host, port: asyncio.run(NameServer([["127.0.0.1"]])(host, port))

_KEYS = Path(sys.argv[2])
asyncio.run(run(WorkerSettings(Secret(sys.argv[1]), None, _KEYS.parent, master_keys_file=_KEYS)))
