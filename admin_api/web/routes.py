"""Every page of the dashboard."""

from typing import Final

from fastapi import APIRouter

from admin_api.web.decide import router as decide
from admin_api.web.inbox import router as inbox

PAGES: Final[tuple[APIRouter, ...]] = (inbox, decide)
