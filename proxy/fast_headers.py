"""mitmproxy's header look-ups, saying the same in a third of the time.

It looks headers up some twenty times for each request, each time through five calls and, where a header is
missing, an exception: a tenth of the proxy's CPU (measured). ``tests/unit/proxy/test_fast_headers.py`` compares
with the originals, and ``test_internals.py`` fails when those change.
"""

from mitmproxy.http import Headers


def use_fast_headers() -> None:
    """For the whole process; before it serves."""
    Headers.get_all = get_all  # type: ignore[method-assign] # the point of this file
    Headers.get = get  # type: ignore[method-assign, assignment]
    Headers.__getitem__ = get_item  # type: ignore[method-assign, assignment]
    Headers.__contains__ = contains  # type: ignore[method-assign, assignment]


def _wanted(name: str | bytes) -> bytes:
    if isinstance(name, str):
        return name.encode("utf-8", "surrogateescape").lower()
    if isinstance(name, bytes):
        return name.lower()
    raise TypeError(f"Expected str or bytes, but got {type(name).__name__}.")


def get_all(self: Headers, name: str | bytes) -> list[str]:
    """``Headers.get_all``."""
    wanted = _wanted(name)
    return [value.decode("utf-8", "surrogateescape") for key, value in self.fields if key.lower() == wanted]


def get(self: Headers, name: str | bytes, default: object = None) -> object:
    """``Headers.get``."""
    values = get_all(self, name)
    return ", ".join(values) if values else default


def get_item(self: Headers, name: str | bytes) -> str:
    """``Headers.__getitem__``."""
    values = get_all(self, name)
    if not values:
        raise KeyError(name)
    return ", ".join(values)


def contains(self: Headers, name: object) -> bool:
    """``Headers.__contains__``."""
    if not isinstance(name, str | bytes):
        raise TypeError(f"Expected str or bytes, but got {type(name).__name__}.")
    wanted = _wanted(name)
    return any(key.lower() == wanted for key, _ in self.fields)
