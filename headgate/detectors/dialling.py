"""Whether a number can be dialled: the numbering plans of libphonenumber (``phonenumbers``), asked directly.

The library parses each candidate, and walks through the kinds of numbers with a cleaning step each; here digits are
compared with a country's patterns, compiled once. The rules are the library's own (``is_valid_number``,
``is_valid_number_for_region``), and a test compares the answers.
"""

import re
from collections.abc import Iterator
from functools import cache
from typing import Final

import phonenumbers
from msgspec import Struct
from phonenumbers.phonemetadata import PhoneMetadata, PhoneNumberDesc

_COUNTRY_CODE_DIGITS: Final = range(1, 4)  # E.164, 6.2.1
_KINDS: Final = (
    "fixed_line", "mobile", "toll_free", "premium_rate", "shared_cost", "voip", "personal_number", "pager", "uan",
    "voicemail",
)  # fmt: skip


class _Form(Struct, frozen=True):
    """``lengths``: empty where the pattern says enough."""

    lengths: frozenset[int]
    pattern: re.Pattern[str]

    def takes(self, number: str) -> bool:
        return (not self.lengths or len(number) in self.lengths) and self.pattern.fullmatch(number) is not None


class _Plan(Struct, frozen=True):
    """``leading``: the digits by which a region is told from others of its country code."""

    general: _Form
    kinds: tuple[_Form, ...]
    leading: re.Pattern[str] | None

    def takes(self, number: str) -> bool:
        return self.general.takes(number) and any(kind.takes(number) for kind in self.kinds)


def is_dialled_in(number: str, region: str) -> bool:
    """``number``: digits, without the country's code and trunk prefix."""
    plan = _plan(region)
    return plan is not None and plan.takes(number)


def is_dialled_from_abroad(digits: str) -> bool:
    """``digits``: with the country's code, without a sign or the prefix of international calls."""
    for length in _COUNTRY_CODE_DIGITS:
        regions = phonenumbers.COUNTRY_CODE_TO_REGION_CODE.get(int(digits[:length] or "0"))
        if regions is not None:
            number = digits[length:]
            if len(regions) == 1:
                return is_dialled_in(number, regions[0])
            return any(plan.takes(number) for plan in _plan_of(number, regions))
    return False


def _plan_of(number: str, regions: tuple[str, ...]) -> Iterator[_Plan]:
    """The one that the number belongs to, if any."""
    for region in regions:
        plan = _plan(region)
        if plan is None:
            continue
        if plan.leading.match(number) is not None if plan.leading is not None else plan.takes(number):
            yield plan
            return


@cache
def _plan(region: str) -> _Plan | None:
    """None: a code that is no country's, or nobody's."""
    metadata = PhoneMetadata.metadata_for_region(region, None)
    general = None if metadata is None else _form(metadata.general_desc)
    if metadata is None or general is None:
        return None
    kinds = (_form(getattr(metadata, kind)) for kind in _KINDS)
    leading = None if metadata.leading_digits is None else re.compile(metadata.leading_digits)
    return _Plan(general, tuple(kind for kind in kinds if kind is not None), leading)


def _form(description: PhoneNumberDesc | None) -> _Form | None:
    if description is None or not description.national_number_pattern:
        return None
    return _Form(frozenset(description.possible_length), re.compile(description.national_number_pattern))
