"""What Headgate asks of a tracker, a chat or a check: each platform's adapter answers it.

Everything may be asked twice: a worker may be killed between the platform's answer and its record. Each method raises
PlatformError.
"""

from typing import Protocol

from headgate.integrations.model import Item, Notice, Opened, Request


class Tracker(Protocol):
    async def find(self, approval_id: str) -> Opened | None:
        """What was opened for this approval, by the mark that it carries there."""
        ...

    async def open(self, request: Request) -> Opened: ...

    async def tell(self, item: Item, notice: Notice, *, again: bool) -> None:
        """``again``: it may have arrived already. Where ``notice.outcome`` ends the approval, so does its item."""
        ...

    async def verified_email(self, account: str) -> str | None:
        """The address that the platform has verified for this account, which is a person's and in use; None: it says
        none."""
        ...

    async def who_am_i(self) -> str:
        """What the platform calls the account that we use: the connection's test."""
        ...
