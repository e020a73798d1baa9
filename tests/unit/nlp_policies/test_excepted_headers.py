"""The header fields that the templates except sign agents in."""

from headgate.nlp_policies.templates import templates
from headgate.protocols.headers import header_lists


def test_what_a_template_excepts_is_masked_wherever_a_call_is_shown() -> None:
    excepted = {name for one in templates() for name in one.scope.except_headers}

    assert excepted
    assert excepted <= header_lists().secret
