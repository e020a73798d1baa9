"""``headgate nlp``: content policies."""

from typing import Final

import click

from headgate.cli.lazy_group import LazyGroup, Place

_ELSEWHERE: Final[dict[str, Place]] = {
    "create": ("headgate.cli.nlp_policies:create", "Create a content policy."),
    "eval": (
        "headgate.cli.nlp_eval:evaluate",
        'Evaluate each content in FILE, JSON Lines of {"content": "…", "expected": "match" |...',
    ),
    "list": ("headgate.cli.nlp_policies:list_policies", "List content policies, oldest first."),
    "test": ("headgate.cli.nlp_policies:test", "Test POLICY, a name or an id, on the text in FILE or standard input."),
}


@click.group(cls=LazyGroup, elsewhere=_ELSEWHERE)
def nlp() -> None:
    """List, create, test and measure content policies."""
