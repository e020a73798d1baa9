"""Waiting until a process knows that a session is closed: it remembers for half a second that one is open."""

import asyncio
import time

import httpx


async def until_signed_out(client: httpx.AsyncClient) -> None:
    until = time.monotonic() + 5
    while (answer := await client.get("/v1/mfa/totp")).status_code == 200 and time.monotonic() < until:
        await asyncio.sleep(0.05)
    assert answer.status_code == 401
    assert "Sign in again" in answer.json()["error"]["message"]
