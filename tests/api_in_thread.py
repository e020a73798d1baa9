"""The API as it runs, in a thread of this process with a loop of its own: for clients that wait, and for many tests."""

import asyncio
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn

from admin_api.compose import open_dependencies
from admin_api.dependencies import Dependencies
from admin_api.process_settings import ApiSettings
from admin_api.server import app_of, listen, uvicorn_server
from tests.entry_codes import put_master_keys

_START_SECONDS = 60


class ApiInThread:
    def __init__(self, settings: ApiSettings) -> None:
        self.settings = settings
        self.url = ""
        self.dependencies: Dependencies
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), name="api", daemon=True)
        self._ready = threading.Event()
        self._loop: asyncio.AbstractEventLoop
        self._stop = asyncio.Event()

    def start(self) -> None:
        if self.settings.master_keys_file is None:
            put_master_keys(self.settings.data.master_keys)
        self._thread.start()
        assert self._ready.wait(_START_SECONDS)

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(_START_SECONDS)
        assert not self._thread.is_alive()

    async def inside[T](self, work: Coroutine[Any, Any, T]) -> T:
        """Done in the API's own loop, where its connections are."""
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        with listen(self.settings.host, self.settings.port) as listener:
            async with open_dependencies(self.settings) as dependencies:
                # Signals are the main thread's business, so not our own kind of server.
                server = uvicorn.Server(uvicorn_server(app_of(dependencies, self.settings)).config)
                serving = asyncio.create_task(server.serve(sockets=[listener]))
                while not server.started:
                    await asyncio.sleep(0.01)
                self.dependencies = dependencies
                self.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
                self._ready.set()
                await self._stop.wait()
                server.should_exit = True
                await serving


@contextmanager
def api_in_thread(settings: ApiSettings) -> Iterator[ApiInThread]:
    """For as long as the block runs."""
    api = ApiInThread(settings)
    api.start()
    try:
        yield api
    finally:
        api.stop()
