"""Structured logs on stderr, with what looks like a credential masked before anything is written.

JSON, one object a line, for services; readable lines on a terminal. Records of the standard library's logging
(uvicorn, mitmproxy, asyncio) take the same way, so that they are masked too.
"""

import logging
import re
import sys
from collections.abc import Callable, Mapping, MutableMapping
from typing import Any, Final

import structlog

from headgate.configuration.credentials import known_credentials, masked_credential
from headgate.configuration.sampled_lines import SampledLines
from headgate.configuration.settings import Settings
from headgate.kernel.secrets import MASK, Secret

# A second net: values that must not be shown have the type Secret and are masked by it. This catches what a third
# party's message quotes: what has the form of a credential (config/masking.yaml), and what stands where one stands.
_CHALLENGES: Final = re.compile(r"(?i)\b(bearer|basic)\s+[\w.~+/=-]{8,}")
_DEPTH: Final = 6


def mask_text(text: str) -> str:
    """The text with everything that has the form of a credential replaced."""
    text = _CHALLENGES.sub(rf"\1 {MASK}", text)
    return str(known_credentials().sub(masked_credential, text))


def mask_event(_logger: object, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """A structlog processor: masks every value of an event, tracebacks included."""
    for name, value in event.items():
        event[name] = _masked(value, _DEPTH)
    return event


def _masked(value: object, depth: int) -> object:
    if isinstance(value, Secret):
        return MASK
    if isinstance(value, str):
        return mask_text(value)
    if isinstance(value, bool | int | float | None):
        return value
    if depth == 0:
        return "…"
    if isinstance(value, Mapping):
        return {mask_text(str(key)): _masked(one, depth - 1) for key, one in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_masked(one, depth - 1) for one in value]
    return mask_text(str(value))


_SHARED: Final[list[structlog.typing.Processor]] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_log_level,
    structlog.stdlib.add_logger_name,
    structlog.processors.TimeStamper(fmt="iso", utc=True, key="at"),
    structlog.processors.StackInfoRenderer(),
    structlog.processors.format_exc_info,
    mask_event,
]


def configure_logs(settings: Settings) -> None:
    """Set up logging of this process; to be called once, before anything is logged."""
    is_text = settings.log_format == "text" or (settings.log_format == "auto" and sys.stderr.isatty())
    level = logging.getLevelNamesMapping()[settings.log_level.upper()]
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *_SHARED,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    renderer: structlog.typing.Processor = (
        structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty()) if is_text else structlog.processors.JSONRenderer()
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.addFilter(SampledLines())
    handler.setFormatter(_formatter(renderer))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    # A line per request is the record's and the metrics' business, not the log's; periodic jobs, of whose absence the
    # queue tells at each start, are not how this program does things.
    quiet = ("uvicorn.access", "httpx", "httpcore", "hpack", "psycopg.pool", "procrastinate.periodic")
    for name in quiet:
        logging.getLogger(name).setLevel(max(level, logging.WARNING))


def also_log_to(handler: logging.Handler) -> Callable[[], None]:
    """Gives ``handler`` the lines that standard error gets, masked, as JSON; returns what ends that."""
    handler.addFilter(SampledLines())
    handler.setFormatter(_formatter(structlog.processors.JSONRenderer()))
    root = logging.getLogger()
    root.addHandler(handler)
    return lambda: root.removeHandler(handler)


def _formatter(renderer: structlog.typing.Processor) -> logging.Formatter:
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=_SHARED,
        processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
    )
