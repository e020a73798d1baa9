"""Personal data in a buffer: numbers, accounts, addresses, health data, records of persons. A name or a postal address
alone is not looked for: that needs a language model, or lists that find every second noun.
"""

from collections.abc import Iterator
from functools import cache
from typing import Final

from headgate.detectors.addresses import find_addresses
from headgate.detectors.birth_dates import find_birth_dates
from headgate.detectors.context_words import context_words
from headgate.detectors.headed_numbers import find_headed_numbers
from headgate.detectors.health import HEALTH_DATA, find_health_data
from headgate.detectors.limits import Budget
from headgate.detectors.model import Match
from headgate.detectors.national_numbers import find_national_numbers, kinds_of_numbers
from headgate.detectors.payments import find_payments
from headgate.detectors.person_records import PERSON_RECORDS, find_person_records
from headgate.detectors.phones import find_phones
from headgate.detectors.unnamed_rows import find_numbers_in_rows
from headgate.detectors.wallets import WALLET_ADDRESS, find_wallets

_KINDS: Final = frozenset(
    {
        "date_of_birth",
        "email",
        "iban",
        "ip_address",
        "mac_address",
        "payment_card",
        "phone",
        WALLET_ADDRESS,
        HEALTH_DATA,
        PERSON_RECORDS,
    }
)
_FINDERS: Final = (
    find_addresses,
    find_payments,
    find_national_numbers,
    find_headed_numbers,
    find_numbers_in_rows,
    find_birth_dates,
    find_phones,
    find_wallets,
    find_health_data,
)


@cache
def personal_data_kinds() -> frozenset[str]:
    """What may be found, those of national numbers included."""
    return _KINDS | kinds_of_numbers()


def find_personal_data(buffer: bytes, budget: Budget) -> Iterator[Match]:
    """In no order; one place may be found as two kinds, of which the surer one counts."""
    words, found, accounts = context_words(buffer), list[Match](), list[Match]()
    for find in _FINDERS:
        budget.new_pass(len(buffer))
        for match in find(buffer, words, budget):
            # The digits of an account may look like a card or an identity number.
            if not any(one.start <= match.start and match.end <= one.end for one in accounts):
                found.append(match)
                accounts += [match] if match.kind == "iban" else []
                yield match
    budget.new_pass(len(buffer))
    yield from find_person_records(buffer, found, budget)
