"""Records that the labels of a host name spell out: a card or an account, a person's date of birth, number or mail
address, names with sums, an illness that is confirmed, a credential with the word for it, lines of numbers, what a
machine says of itself (MITRE ATT&CK T1048.003). Nothing is encoded, so that only what they are tells.
"""

import re
from collections.abc import Sequence
from typing import Final

from headgate.detectors.health import health_words
from headgate.detectors.payments import is_account, passes_luhn, scheme

_CARD: Final = re.compile(r"(?<![0-9])[0-9]{15,16}(?![0-9])")
_IN_FOURS: Final = re.compile(r"(?<![0-9])(?<![0-9]-)[0-9]{4}(?:-[0-9]{4}){3}(?![0-9])(?!-[0-9])")
_ACCOUNT: Final = re.compile(r"[A-Z]{2}[0-9]{2}[A-Z0-9]{11,30}")
_BIRTH: Final = re.compile(r"-(?:19[2-9][0-9]|200[0-9])-?(?:0[1-9]|1[0-2])-?(?:0[1-9]|[12][0-9]|3[01])(?:-|$)")
_BORN: Final = re.compile(
    r"(?:^|-)(?:born|birth(?:day|date)?|dob|geb(?:oren)?|n[ée]e|naiss(?:ance)?|nac(?:ido|ida|imiento)?|nasc(?:ido|ida)?"
    r"|urodz|fodt|fodd)-?(?:(?:19[2-9]|20[0-4])[0-9]-?(?:0[1-9]|1[0-2])-?(?:0[1-9]|[12][0-9]|3[01])"
    r"|(?:0[1-9]|[12][0-9]|3[01])-?(?:0[1-9]|1[0-2])-?(?:19[2-9]|20[0-4])[0-9])(?:-|$)"
)
_SOCIAL_SECURITY: Final = re.compile(
    r"(?<![0-9])(?!000|666|9)[0-9]{3}-(?!00)[0-9]{2}-(?!0000|19[0-9]{2}|20[0-9]{2})[0-9]{4}(?![0-9])(?!-[0-9])"
)
"""No year stands at its end, as in the name of a build."""
_MAILBOX: Final = re.compile(
    r"[a-z0-9]-+(?:at|aet|arroba|chiocciola)-+[a-z0-9-]{1,40}-+(?:dot|punkt|punto|ponto|point|kropka)-+"
    r"(?:[a-z]{2,4}|email|online|cloud|example)(?:-|$)"
)
_ALIKE: Final = re.compile(r"(?<![0-9a-z])[0-9]{8,12}(?![0-9a-z])")
_DAY: Final = re.compile(r"(?:19|20)[0-9]{2}(?:0[1-9]|1[0-2])[0-3][0-9](?:[0-9]{2}){0,2}")
_ALIKE_MIN: Final = 3
_CARDS_MIN: Final = 2
_NAMES_BEFORE: Final = re.compile(r"^[a-z]{3,}-[a-z]{3,}(?:-[a-z]+)*$")
_CREDENTIAL: Final = re.compile(
    r"(?:^|-)(?:secret|password|passwd|pass|pwd|token|apikey|api-key|access-key|[sr]k-live)(?:-[a-z]{1,12})?-([a-z0-9-]{8,})$"
    r"|^[a-z]{0,12}sess(?:ion|key)(?:-?id)?-([a-z0-9]{8,})$"
)
_USER: Final = re.compile(r"(?:user|username|usr|login|mail|email|account|uid)-[a-z0-9-]{4,}")
_RANDOM_MIN: Final = 20
_DIGITS_MIN: Final = 3
_PASSWORD_DIGITS_MIN: Final = 2
_FACT: Final = re.compile(
    r"(us|user|usr|u|host|hostname|hn|h|os|kernel|k|uname|arch|ip|lan|pid|uid|cwd|home|mac|whoami|shell|domain|pw|pass)[-_](?=.*[a-z0-9]).+"
)
_FACTS_MIN: Final = 3
_SHAPE: Final = re.compile(r"[a-z]+|[0-9]+")
_LINES_MIN: Final = 3
_CURRENCY: Final = "eur|usd|gbp|chf|pln|czk|huf|ron|sek|dkk|nok|inr|jpy|cny|brl|mxn|cad|aud|zar|ngn|kes|try|uah"
_NAMED_SUM: Final = re.compile(
    rf"(?:[a-z]{{2,}}-){{2,5}}(?:(?:{_CURRENCY})-?)?[0-9]{{4,8}}(?:-?(?:{_CURRENCY}|k))?"
    rf"|(?:(?:{_CURRENCY})-?)?[0-9]{{4,8}}(?:-?(?:{_CURRENCY}|k))?(?:-[a-z]{{2,}}){{2,5}}"
)
"""Names of a person before or behind a number, as in a list of wages."""
_SUM: Final = re.compile(rf"(?:^|-)(?:[0-9]{{3,9}}-?(?:{_CURRENCY})|(?:{_CURRENCY})-?[0-9]{{3,9}})(?:-|$)")
_SUMS_MIN: Final = 2
_ACCOUNT_AND_SUM: Final = re.compile(rf"[a-z]{{2}}[0-9]{{13,28}}-(?:[a-z]+-)?[0-9]{{3,9}}-?(?:{_CURRENCY})")
_CONFIRMED: Final = re.compile(
    r"(?:^|-)(?:positiv[aeo]?|positive|negativ[aeo]?|negative|reactive|confirmed|diagnosed|diagnosis|relapse|terminal"
    r"|stage-?[0-4]|stadium-?[0-4]|result|befund|week-?[0-9]{1,2}|[0-9]{1,2}w)(?:-|$)"
)
_HYPHENATED_MIN: Final = 2
_ILLNESS: Final = 1
"""Its place in ``health_words``."""
_CURRENCIES: Final = frozenset(_CURRENCY.split("|"))
_LINE_PARTS_MIN: Final = 2
_LINE_DIGITS_MIN: Final = 6


def tells_person(own: Sequence[str]) -> bool:
    """Whether a label has a person's number, date of birth or mail address. ``own``: the labels below the registered
    domain. No cloud makes such a name, so that this holds for names of buckets and machines too."""
    return any("-" in one and _tells_person(one.lower()) for one in own)


def _tells_person(label: str) -> bool:
    return any(one.search(label) is not None for one in (_SOCIAL_SECURITY, _BORN, _MAILBOX))


def tells_record(own: Sequence[str]) -> bool:
    """``own``: the labels below the registered domain."""
    labels = [one.lower() for one in own]
    return (
        any(_tells(one) for one in labels if "-" in one)
        or _has_cards(".".join(labels))
        or _is_log_in(labels)
        or _is_table(labels)
        or _lists_sums(labels)
        or _tells_illness(labels)
        or _tells_machine(labels)
    )


def _lists_sums(labels: Sequence[str]) -> bool:
    """Names of other persons with a number in each of three labels, or with a sum of money in each of two."""
    named = {one for one in labels if _NAMED_SUM.fullmatch(one) is not None}
    words = [part for one in named for part in {*_SHAPE.findall(one)} if part.isalpha() and part not in _CURRENCIES]
    if len(named) < _SUMS_MIN or len(words) != len(set(words)):
        return False
    return len(named) >= _LINES_MIN or all(_SUM.search(one) is not None for one in named)


def _tells_illness(labels: Sequence[str]) -> bool:
    """A label with an illness and how a test for it ended, beside another of several words."""
    hyphenated = [one for one in labels if "-" in one]
    if len(hyphenated) < _HYPHENATED_MIN:
        return False
    return any(
        _CONFIRMED.search(one) is not None and health_words().classes[_ILLNESS].search(one.replace("-", " ").encode())
        for one in hyphenated
    )


def _tells_machine(labels: Sequence[str]) -> bool:
    """Several facts of a machine, each in a label behind a word for it."""
    return len({fact[1] for one in labels if (fact := _FACT.fullmatch(one)) is not None}) >= _FACTS_MIN


def _has_cards(text: str) -> bool:
    """Several numbers of cards, forwards or backwards. Of one alone the checksum may be right by chance."""
    return len({one for one in _CARD.findall(text) if _is_card(one) or _is_card(one[::-1])}) >= _CARDS_MIN


def _is_card(number: str) -> bool:
    return scheme(number) is not None and passes_luhn(number)


def _tells(label: str) -> bool:
    """A label in which hyphens separate what it tells."""
    if any(map(_is_card, _CARD.findall(label) + _grouped(label))):
        return True
    if len({one for one in _ALIKE.findall(label) if _DAY.fullmatch(one) is None}) >= _ALIKE_MIN:
        return True
    parts = label.upper().split("-")
    if any(_ACCOUNT.fullmatch(one) is not None and is_account(one) for one in parts):
        return True
    birth = _BIRTH.search(label)
    if birth is not None and _NAMES_BEFORE.match(label[: birth.start()]) is not None:
        return True
    if _ACCOUNT_AND_SUM.fullmatch(label) is not None:
        return True
    found = _CREDENTIAL.search(label)
    return found is not None and any(map(_is_random, (found[1] or found[2]).split("-")))


def _grouped(label: str) -> list[str]:
    """Numbers in groups of four, as they are printed on cards."""
    return [one.replace("-", "") for one in _IN_FOURS.findall(label)]


def _is_random(part: str) -> bool:
    """As a digest or a key is, and no word."""
    digits = sum(one.isdigit() for one in part)
    return len(part) >= _RANDOM_MIN and _DIGITS_MIN <= digits <= len(part) - _DIGITS_MIN


def _is_log_in(labels: Sequence[str]) -> bool:
    """A user's name in one label, and a password with digits in another."""
    passwords = [found[1] or found[2] for one in labels if (found := _CREDENTIAL.match(one)) is not None]
    return any(sum(one.isdigit() for one in text) >= _PASSWORD_DIGITS_MIN for text in passwords) and any(
        _USER.fullmatch(one) for one in labels
    )


def _is_table(labels: Sequence[str]) -> bool:
    """Several labels with the same words and other numbers, as lines of a list are."""
    lines = [one for one in labels if one.count("-") >= _LINE_PARTS_MIN - 1]
    if len(lines) < _LINES_MIN or any(sum(map(str.isdigit, one)) < _LINE_DIGITS_MIN for one in lines):
        return False
    words = {tuple(part for part in _SHAPE.findall(one) if part.isalpha()) for one in lines}
    return len(words) == 1 and len(set(lines)) == len(lines) and len(next(iter(words))) >= _LINE_PARTS_MIN
