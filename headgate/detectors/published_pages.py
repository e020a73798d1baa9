"""Pages that only their publisher writes (``config/detectors/published_pages.yaml``). Instructions in them are for
people: an attack that a manual quotes, a command to paste.

A page with a query is none of them: a search repeats the words that somebody made the agent send.
"""

from functools import cache
from typing import Final

from headgate.configuration.resources import resource_path
from headgate.configuration.yaml_document import read_document

_READS: Final = ("GET", "HEAD")


@cache
def published_pages() -> dict[str, tuple[str, ...]]:
    """By host, what paths begin with; an empty text: all. Raises ValidationError for a table that cannot be used."""
    document = read_document(resource_path("detectors", "published_pages.yaml"))
    document.only("pages")
    pages: dict[str, tuple[str, ...]] = {}
    for page in document.strings("pages"):
        host, slash, path = page.partition("/")
        pages[host] = (*pages.get(host, ()), f"{slash}{path}")
    return pages


def is_published_page(method: str, scheme: str, host: str, path: str, query: str) -> bool:
    if method not in _READS or scheme != "https" or query or "%" in path:
        return False
    begins = published_pages().get(host.lower(), ())
    return any(not one or path == one or path.startswith(f"{one}/") for one in begins)
