"""What is known of a text before it is searched: the same is found in it, and it is searched less."""

import random
from collections.abc import Iterator

import pytest
from regorus import BytePattern

from headgate.detectors.digits import spelled_digits
from headgate.detectors.forms import ENCODINGS, FORMS
from headgate.detectors.inspect import Detector
from headgate.detectors.limits import Budget, Limits
from headgate.detectors.named_values import find_named_values
from headgate.detectors.payout_addresses import find_payout_addresses
from headgate.detectors.personal_data import find_personal_data
from headgate.detectors.recovery_phrases import find_recovery_phrases
from headgate.detectors.secret_formats import secret_formats
from headgate.detectors.spelled import ROT13, spelled, turned
from headgate.detectors.transfers import find_transfers
from headgate.detectors.wallets import find_wallet_keys
from tests.labelled import credentials
from tests.labelled.fill import read
from tests.labelled.hostile import hostile_texts

_LIMITS = Limits(seconds_max=60)
_DETECTORS: list[Detector] = [
    find_personal_data,
    find_wallet_keys,
    find_recovery_phrases,
    find_named_values,
    find_transfers,
    find_payout_addresses,
]
_EXAMPLES = (
    "method: POST\n\0\nname: send_transaction\n\0\nto: 0x52908400098527886E0F7030069857D2E4169EE7",
    "method: PUT\n\0\npayout_address: 0x52908400098527886E0F7030069857D2E4169EE7",
    "name: DB_PASSWORD\n\0\nvalue: Falcon.river8812",
    "wif 5KJvsngHeMpm884wtkJNzQGaCErckhHJBGFsvd3VyK5qMZXj3hS",
    "legal winner thank year wave sausage worth useful legal winner thank yellow",
)
_DEVELOPMENT = ("pii_development", "secrets_development")


def _texts() -> Iterator[bytes]:
    """Of the development parts, hostile ones, and what is spliced from all of these."""
    whole = [
        *_EXAMPLES,
        *(one.text for name in _DEVELOPMENT for one in read(name)),
        *hostile_texts(2000).values(),
    ]
    yield from (one.encode("utf-8", "replace") for one in whole)
    chance = random.Random(5)  # noqa: S311 - the same texts each time
    for _ in range(300):
        parts = [chance.choice(whole) for _ in range(chance.randint(1, 6))]
        cut = [(one, chance.randrange(len(one) + 1)) for one in parts]
        text = "\n\0\n".join(one[at : at + chance.choice((9, 40, 300))] for one, at in cut)
        yield text.encode("utf-8", "replace")


@pytest.mark.parametrize("detector", _DETECTORS)
def test_detectors_find_the_same_in_a_text_that_knows_its_forms(detector: Detector) -> None:
    found = 0
    for text in _texts():
        known = [*detector(FORMS.text(text), Budget(_LIMITS))]
        assert known == [*detector(text, Budget(_LIMITS))], text
        found += len(known)
    assert found > 0


def test_decoders_find_the_same_in_a_text_that_knows_its_encodings() -> None:
    found = {spelled_digits: 0, spelled: 0}
    for text in _texts():
        for decoder in found:
            known = [*decoder(ENCODINGS.text(text))]
            assert known == [*decoder(text)], text
            found[decoder] += len(known)
    assert all(found.values())


def test_texts_that_hold_a_turned_beginning_are_read_and_no_others() -> None:
    """A letter that a pattern takes for "s" or "k" too, and one whose bytes read backwards are it."""
    formats, everywhere = secret_formats(), BytePattern(b"")
    secret = credentials.LABELLED["github"](random.Random(1)).encode()  # noqa: S311 - repeatable, not secret
    texts = [secret[::-1], secret.translate(ROT13), secret[::-1].upper(), b"the c\xc3\xb3digos"[::-1]]
    texts += ["\u212aV-abc s\u017f sofort".encode(), "\u212aV-abc s\u017f".encode()[::-1], *_texts()]
    for text in texts:
        wanted = [*turned(text, formats.beginnings, everywhere)]
        assert [*turned(text, formats.beginnings, formats.turned_beginnings)] == wanted, text
    assert formats.turned_beginnings.search(b"a text with nothing in it") is None
