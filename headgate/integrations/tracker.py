"""The interface of a tracker, a chat or a check; each platform has an adapter.

Every method may be called twice for one delivery: a worker may be killed between the platform's answer and its record.
Each method raises PlatformError.
"""

from typing import Protocol

from headgate.integrations.model import Item, Notice, Opened, Request


class Tracker(Protocol):
    async def find(self, approval_id: str) -> Opened | None:
        """Finds the item of this approval by its mark."""
        ...

    async def open(self, request: Request) -> Opened: ...

    async def tell(self, item: Item, notice: Notice, *, again: bool) -> None:
        """``again``: an earlier attempt may have arrived. If ``notice.outcome`` ends the approval, its item ends
        too."""
        ...

    async def verified_email(self, account: str) -> str | None:
        """The verified address of this account, which belongs to an active person; None: the platform provides none."""
        ...

    async def who_am_i(self) -> str:
        """The platform's name of the account in use: the connection test."""
        ...
