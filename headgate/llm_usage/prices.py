"""What models cost, as the administrator says: the data document ``model_prices``. Pure.

``{"gpt-5-mini": {"input": 0.25, "cached_input": 0.025, "output": 2}, "anthropic/claude-haiku-*": {…}}``: US dollars for
a million tokens. A name is a model's, or a provider's and a model's with a slash between; an asterisk at its end stands
for any ending. Of the names that fit, the longest counts, and one without an asterisk before all others.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from msgspec import Struct

from headgate.kernel.canonical_json import JsonValue
from headgate.kernel.errors import ValidationError
from headgate.llm_usage.model import Counts

MODEL_PRICES: Final = "model_prices"
NAMES_MAX: Final = 2_000
_NAME_CHARACTERS_MAX: Final = 300
_PRICE_MAX: Final = 1_000_000
_MEMBERS: Final = frozenset({"input", "cached_input", "cache_write", "output"})
_REQUIRED: Final = ("input", "output")
_MILLION: Final = 1_000_000


class Price(Struct, frozen=True):
    """US dollars for a million tokens. ``cached_input``: of those that the provider had in its cache; ``cache_write``:
    of those that it put there. Each is ``input`` where it is not given."""

    input: float
    output: float
    cached_input: float
    cache_write: float

    def cost_usd(self, used: Counts) -> float:
        plain = max(used.tokens_in - used.tokens_cached - used.tokens_cache_written, 0)
        dollars = (
            plain * self.input
            + used.tokens_cached * self.cached_input
            + used.tokens_cache_written * self.cache_write
            + used.tokens_out * self.output
        )
        return dollars / _MILLION


@dataclass(frozen=True, slots=True)
class Prices:
    """``exact`` by name, ``endings`` by what stands before the asterisk, the longest first."""

    exact: Mapping[str, Price] = MappingProxyType({})
    endings: tuple[tuple[str, Price], ...] = ()
    _found: dict[str, Price | None] = field(default_factory=dict, repr=False, compare=False)

    def of(self, model: str) -> Price | None:
        """``model``: with its provider before a slash. None: nobody has said what it costs."""
        if model in self._found:
            return self._found[model]
        found = self._search(model)
        if len(self._found) < NAMES_MAX:  # agents choose the models
            self._found[model] = found
        return found

    def _search(self, model: str) -> Price | None:
        names = (model, model.partition("/")[2])
        for name in names:
            if name in self.exact:
                return self.exact[name]
        return next((price for start, price in self.endings if any(name.startswith(start) for name in names)), None)

    def cost_usd(self, used: Iterable[tuple[str, Counts]]) -> float | None:
        """Of models and what was used of them. None: of one of them nobody has said what it costs."""
        total = 0.0
        for model, counts in used:
            price = self.of(model)
            if price is None:
                return None
            total += price.cost_usd(counts)
        return round(total, 9)


NO_PRICES: Final = Prices()


def parse_prices(document: JsonValue) -> Prices:
    """Raises ValidationError."""
    if not isinstance(document, dict):
        raise _refused("it must be an object of prices by model")
    if len(document) > NAMES_MAX:
        raise _refused(f"at most {NAMES_MAX} models")
    exact: dict[str, Price] = {}
    endings: list[tuple[str, Price]] = []
    for name, value in document.items():
        price = _price(name, value)
        if name.endswith("*"):
            endings.append((name[:-1], price))
        else:
            exact[name] = price
    endings.sort(key=lambda one: (-len(one[0]), one[0]))
    return Prices(MappingProxyType(exact), tuple(endings))


def stored_prices(documents: Mapping[str, str]) -> Prices:
    """Of an organization's data documents. One that is not readable says no price."""
    content = documents.get(MODEL_PRICES)
    if content is None:
        return NO_PRICES
    try:
        return parse_prices(json.loads(content))
    except (ValidationError, ValueError):
        return NO_PRICES


def _price(name: str, value: JsonValue) -> Price:
    if not 0 < len(name) <= _NAME_CHARACTERS_MAX or "*" in name[:-1]:
        raise _refused(
            f"{name[:80]!r}: a name has up to {_NAME_CHARACTERS_MAX} characters, and an asterisk at its end only"
        )
    if not isinstance(value, dict):
        raise _refused(f"{name}: a price is an object with input and output, in US dollars for a million tokens")
    if unknown := sorted(set(value) - _MEMBERS):
        raise _refused(f"{name}: a price has no {unknown[0]}; it has {', '.join(sorted(_MEMBERS))}")
    if missing := [one for one in _REQUIRED if one not in value]:
        raise _refused(f"{name}: {missing[0]} is missing")
    amounts = {member: _amount(name, member, amount) for member, amount in value.items()}
    plain = amounts["input"]
    return Price(plain, amounts["output"], amounts.get("cached_input", plain), amounts.get("cache_write", plain))


def _amount(name: str, member: str, value: JsonValue) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= _PRICE_MAX:
        raise _refused(f"{name}.{member} must be a number from 0 to {_PRICE_MAX}")
    return float(value)


def _refused(problem: str) -> ValidationError:
    return ValidationError(f"{MODEL_PRICES}: {problem}", details={"field": MODEL_PRICES, "reason": problem})
