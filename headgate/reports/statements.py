"""Statements: a sentence about the record, the figure that it rests on, and the query that got the figure.

A statement is never taller than its figure. Where the figure contradicts it the report says so, and where nothing of
the kind happened in the range it says that, rather than calling it a success.
"""

from enum import StrEnum

from msgspec import Struct

from headgate.reports.basis import Basis
from headgate.reports.figures import FIGURES
from headgate.reports.queries import wants
from headgate.reports.seen_actions import DECIDED_QUERY, PERMIT_QUERIES, REVIEWED_QUERY
from headgate.reports.tally import Tally


class Support(StrEnum):
    SUPPORTED = "supported"
    CONTRADICTED = "contradicted"
    NO_DATA = "no data"


class Statement(Struct, frozen=True):
    claim: str
    figure: str
    query: str
    support: Support


class Facts(Struct, frozen=True):
    """What statements are made of. ``fault``: why the run is not what was sealed and signed, if it is not."""

    basis: Basis
    tally: Tally
    fault: str | None

    def __getitem__(self, name: str) -> int:
        return self.tally.figures[name]

    def count(self, name: str) -> str:
        return number(self[name])


def number(value: int) -> str:
    return f"{value:,}"


def unreadable(facts: Facts, name: str) -> int:
    """How many of a figure's events were erased: nobody can say any more what they said."""
    erased = facts.tally.erased_types
    return sum(erased.total(one) for one in erased.counts if wants(FIGURES[name], one))


def _but_for(erased: int) -> str:
    return f"; the content of {number(erased)} more was erased" if erased else ""


def all_of(facts: Facts, part: str, whole: str, claim: str) -> Statement:
    """That something holds of each: contradicted by one of which it does not."""
    erased = unreadable(facts, part)
    have, of = facts[part], facts[whole] - erased
    support = Support.NO_DATA if not of else Support.SUPPORTED if have == of else Support.CONTRADICTED
    query = f"{FIGURES[part].text}; of: {FIGURES[whole].text}"
    return Statement(claim, f"{number(have)} of {number(of)}{_but_for(erased)}", query, support)


def happened(facts: Facts, name: str, claim: str, unit: str) -> Statement:
    """That something was done: no data where it was not."""
    count = facts[name]
    support = Support.SUPPORTED if count else Support.NO_DATA
    return Statement(claim, f"{unit}: {number(count)}", FIGURES[name].text, support)


def reviewed(facts: Facts) -> Statement:
    """Of each emergency access that was opened in the run, by its own review."""
    actions = facts.tally.actions
    opened, done = len(actions.glass_opened), len(actions.glass_opened & actions.glass_reviewed)
    support = Support.NO_DATA if not opened else Support.SUPPORTED if done == opened else Support.CONTRADICTED
    return Statement(
        "Every emergency access that was opened in the range was reviewed in it by somebody else.",
        f"reviewed: {number(done)} of {number(opened)}", REVIEWED_QUERY, support,
    )  # fmt: skip


def never(facts: Facts, name: str, whole: str, claim: str, unit: str) -> Statement:
    """That something did not happen, where it could have: nobody knows of events whose content was erased."""
    erased = unreadable(facts, name)
    count, of = facts[name], facts[whole]
    support = Support.CONTRADICTED if count else Support.NO_DATA if erased or not of else Support.SUPPORTED
    return Statement(claim, f"{unit}: {number(count)} of {number(of)}{_but_for(erased)}", FIGURES[name].text, support)


def permitted(facts: Facts) -> Statement:
    """Of every execution whose decision lies in the run; what lies before it is said, and counted apart."""
    started = facts.tally.actions.started
    known = started["permitted"] + started["unpermitted"]
    figure = f"{number(started['permitted'])} of {number(known)} executions"
    if started["undetermined"]:
        figure += f"; {number(started['undetermined'])} more began on decisions before this range"
    support = Support.NO_DATA if not known else Support.CONTRADICTED if started["unpermitted"] else Support.SUPPORTED
    query = f"{PERMIT_QUERIES['permitted']}; and: {PERMIT_QUERIES['unpermitted']}"
    claim = "No action was carried out without an earlier decision, approval or recorded exception that permits it."
    return Statement(claim, figure, query, support)


def decided(facts: Facts, claim: str) -> Statement:
    """Of each action that was submitted. The end of the range may fall between the last one and its decision."""
    submitted, actions = facts["submitted"], facts.tally.actions
    missing = submitted - actions.decided
    figure = f"{number(actions.decided)} of {number(submitted)} actions"
    if missing == 1 and not actions.is_last_decided:
        figure += "; the range ends between the last one and its decision"
        missing = 0
    support = Support.NO_DATA if not submitted else Support.CONTRADICTED if missing else Support.SUPPORTED
    return Statement(claim, figure, DECIDED_QUERY, support)


def intact(facts: Facts) -> Statement:
    """The chain over the run, verified while the report was made."""
    total = facts.basis.total
    claim = "Every event in the range is in the record, in order and unaltered since it was signed: none is missing."
    support = Support.NO_DATA if not total else Support.CONTRADICTED if facts.fault else Support.SUPPORTED
    figure = facts.fault or f"events verified: {number(total)}, numbers {_run(facts.basis)}"
    if total and facts.basis.checkpoint is None and facts.fault is None:
        # A chain that was written anew from its beginning verifies as well.
        support, figure = Support.CONTRADICTED, f"{figure}, by the chain alone: no signature covers them"
    return Statement(claim, figure, "verification of each header's hash, link, columns and payload digest", support)


def signed(facts: Facts) -> Statement:
    checkpoint = facts.basis.checkpoint
    claim = "The record up to the end of the range is covered by a signed checkpoint."
    if checkpoint is None:
        return Statement(claim, facts.basis.no_checkpoint or "no checkpoint", "checkpoints", Support.CONTRADICTED)
    support = Support.CONTRADICTED if facts.fault else Support.SUPPORTED
    if not facts.basis.total:
        support = Support.NO_DATA  # no event of the range was compared with it
    return Statement(
        claim, f"checkpoint of {number(checkpoint.size)} events, Ed25519",
        "root of the RFC 6962 tree over the record's hashes, compared with the signed root", support,
    )  # fmt: skip


def retained(facts: Facts, days: int) -> Statement:
    """How far the record reaches back at the end of the range, and whether payloads are still there."""
    claim = (
        f"The record reaches back at least {days} days (six months) from the end of the range, and no content of the"
        " range was erased."
    )
    begins, erased = facts.basis.record_begins, facts.tally.erased
    query = f"sealing time of event 1, against the end of the range; {erased_query()}"
    if begins is None:
        return Statement(claim, "there is no event", query, Support.NO_DATA)
    age = (facts.basis.request.end - begins).days
    figure = f"days: {number(max(age, 0))}; erased: {number(erased)} of {number(facts.basis.total)} events"
    support = Support.SUPPORTED if age >= days and not erased else Support.CONTRADICTED if erased else Support.NO_DATA
    return Statement(claim, figure, query, support)


def erased_query() -> str:
    return "count of events whose payload was erased (the header, with time, type and payload digest, stays)"


def _run(basis: Basis) -> str:
    return "none" if basis.first_seq is None else f"{number(basis.first_seq)} to {number(basis.last_seq or 0)}"
