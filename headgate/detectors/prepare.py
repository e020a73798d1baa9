"""What is made once in a process, half a second of it: lists read, patterns compiled. Done before anybody waits."""

from functools import cache
from threading import Lock

from headgate.detectors.commands import commands
from headgate.detectors.context_words import context_words
from headgate.detectors.credential_destinations import credential_destinations
from headgate.detectors.credential_homes import credential_homes
from headgate.detectors.dangerous_calls import dangerous_calls
from headgate.detectors.health import health_words
from headgate.detectors.host_names import digest_suffixes, private_suffixes, spelling_words
from headgate.detectors.imitated_hosts import imitated_names
from headgate.detectors.injection_windows import window_model
from headgate.detectors.injection_words import injection_words
from headgate.detectors.log_ins import log_ins
from headgate.detectors.national_numbers import national_numbers
from headgate.detectors.person_records import person_words
from headgate.detectors.phrases import phrases
from headgate.detectors.prose import prose
from headgate.detectors.published_cards import published_cards
from headgate.detectors.published_pages import published_pages
from headgate.detectors.recovery_phrases import listed_words
from headgate.detectors.secret_formats import secret_formats
from headgate.detectors.secret_stores import secret_stores
from headgate.detectors.sensitive_accounts import account_rules
from headgate.detectors.service_hosts import free_hosts
from headgate.detectors.skeleton import ascii_skeleton
from headgate.detectors.token_endpoints import token_endpoints
from headgate.detectors.transfers import transfers
from headgate.detectors.visible import visible

_preparing = Lock()


def prepare() -> None:
    """Afterwards an inspection costs what it costs. Of threads that come at once, one works and the others wait. Raises
    ValidationError for a list that cannot be used."""
    with _preparing:
        _prepare()


@cache
def _prepare() -> None:
    secret_formats()
    national_numbers()
    context_words(b"")
    injection_words()
    window_model()
    phrases("intent")
    phrases("safety")
    phrases("tool_definitions")
    commands()
    dangerous_calls()
    health_words()
    person_words()
    transfers()
    digest_suffixes()
    private_suffixes()
    spelling_words()
    prose()
    published_pages()
    credential_destinations()
    credential_homes()
    log_ins()
    free_hosts()
    token_endpoints()
    secret_stores()
    published_cards()
    account_rules()
    imitated_names()
    listed_words()
    visible("\u00e9")
    ascii_skeleton("\u00e9")
