"""The embedded Valkey: private, keeps nothing, and back after a kill."""

import asyncio
import os
import signal

from redis.asyncio import Redis
from redis.exceptions import RedisError

from headgate.configuration.data_directory import DataDirectory
from headgate.runtime import valkey
from headgate.runtime.account import server_account
from headgate.runtime.folders import private_folder, socket_folder
from headgate.runtime.servers import start_valkey
from headgate.runtime.supervisor import Supervisor


async def test_it_serves_is_private_and_comes_back_empty(data: DataDirectory, supervisor: Supervisor) -> None:
    account = server_account([valkey.binary(), data.valkey])
    folder = private_folder(data.valkey, account)
    server = valkey.ValkeyServer(folder, socket_folder(data, account), data.logs / "valkey.log", account)
    await start_valkey(server, supervisor)
    assert server.socket.parent.stat().st_mode & 0o077 == 0
    async with Redis.from_url(server.url.reveal()) as client:
        await client.set("key", "value")
        [pid] = supervisor.pids["valkey"]
        os.kill(pid, signal.SIGKILL)
        async with asyncio.timeout(20):
            while supervisor.pids.get("valkey", [pid]) == [pid] or not server.socket.exists():
                await asyncio.sleep(0.02)
            while True:
                try:
                    assert await client.get("key") is None
                    break
                except (RedisError, OSError):
                    await asyncio.sleep(0.02)
    assert list(folder.iterdir()) == [], "it wrote something to disk"
