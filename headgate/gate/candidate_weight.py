"""Estimates how much memory a parsed call takes beside its bytes."""

from typing import Final

from headgate.gate.candidate import Candidate

VALUE_BYTES: Final = 96
"""Of memory, for a value in params: a list in a list takes as much, a text or a number less."""


def weight_of(candidate: Candidate) -> int:
    """Bytes of memory, about: the texts that were made of a call, and its params as objects."""
    params, facts = candidate.draft.params_bytes, candidate.draft.facts
    values = params.count(b",") + params.count(b":")
    opaque = 0 if facts is None else sum(len(data) for _, data in facts.opaque)
    return opaque + len(params) + len(candidate.rego_input) + len(candidate.request) + VALUE_BYTES * values
