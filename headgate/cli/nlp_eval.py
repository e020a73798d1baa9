"""``headgate nlp eval``: how well a content policy does, on contents of your own."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, TextIO

import click

from headgate.cli.api_client import ApiClient, ApiError
from headgate.cli.nlp_policies import nlp_policy_id_of
from headgate.cli.tables import show_fields, show_json, show_table
from headgate.cli.target import find_target, json_option, runtime_file_option
from headgate.client import operations
from headgate.detectors.assess import EmbeddedModel, assess
from headgate.nlp_policies.model import DEFAULT_THRESHOLD, LOCAL_PROVIDERS, Outcome
from headgate.nlp_policies.report import Answer, LabelledContent, Report, parse_labelled

if TYPE_CHECKING:
    from headgate.client.types import ResultAnswer

_WAIT_MAX_SECONDS: Final = 120


@click.command("eval")
@click.argument("file", type=click.File("r", encoding="utf-8"))
@click.option("--policy", help="Evaluate this policy of the instance, as for calls.")
@click.option(
    "--model",
    type=click.Choice([one.value for one in EmbeddedModel if one is not EmbeddedModel.KEYWORDS]),
    help="Evaluate this model of the embedded provider locally, without an instance.",
)
@click.option("--threshold", type=click.FloatRange(0, 1, min_open=True), default=DEFAULT_THRESHOLD, show_default=True)
@json_option
@runtime_file_option
def evaluate(
    file: TextIO, policy: str | None, model: str | None, threshold: float, as_json: bool, runtime_file: Path | None
) -> None:
    """Evaluate each content in FILE, JSON Lines of {"content": "…", "expected": "match" | "clear"}, and count.

    With --policy, the API's rate limit applies, so a long file takes time. --threshold requires --model.
    """
    if (policy is None) == (model is None):
        raise click.UsageError("Give --policy or --model.")
    contents = parse_labelled(file.read())
    if model is not None:
        ask = _asking_model(EmbeddedModel(model), threshold)
    else:
        client = ApiClient(find_target(runtime_file))
        ask = _asking_policy(client, nlp_policy_id_of(client, policy or ""))
    report = Report(tuple(ask(one) for one in contents))
    if as_json:
        show_json(report.record())
        return
    _show(report)


type _Ask = Callable[[LabelledContent], Answer]


def _asking_model(model: EmbeddedModel, threshold: float) -> _Ask:
    assess(model, "")  # what is made once is not the first content's cost

    def ask(one: LabelledContent) -> Answer:
        started = time.perf_counter()
        found = assess(model, one.content)
        latency_ms = (time.perf_counter() - started) * 1000
        if found.risk_score >= threshold:
            return Answer(one.expected, Outcome.MATCH, latency_ms, 0.0)
        outcome = Outcome.CLEAR if found.inspection.complete else Outcome.ERROR
        return Answer(one.expected, outcome, latency_ms, 0.0)

    return ask


def _asking_policy(client: ApiClient, policy: str) -> _Ask:
    def ask(one: LabelledContent) -> Answer:
        answer = _patiently(client, policy, one.content)
        details = answer["details"]
        cost = 0.0 if details["provider"] in LOCAL_PROVIDERS else details["usage"]["cost_usd"]
        return Answer(one.expected, Outcome(details["outcome"]), answer["latency_ms"], cost)

    return ask


def _patiently(client: ApiClient, policy: str, content: str) -> ResultAnswer:
    """Waits where the API says so. Raises what the client raises."""
    while True:
        try:
            return client.send(operations.test_nlp_policy, policy, {"content": content})
        except ApiError as error:
            if error.retry_after_seconds is None or error.retry_after_seconds > _WAIT_MAX_SECONDS:
                raise
            time.sleep(max(1, error.retry_after_seconds))


def _show(report: Report) -> None:
    show_fields(
        [
            ("contents", len(report.answers)),
            ("precision", _figure(report.precision)),
            ("recall", _figure(report.recall)),
            ("F1", _figure(report.f1)),
            ("errors", report.errors),
            ("latency", f"p50 {report.latency_ms(50):.2f} ms, p95 {report.latency_ms(95):.2f} ms"),
            ("cost", "unknown" if report.cost_usd is None else f"{report.cost_usd:.6f} USD"),
        ]
    )
    click.echo()
    rows: Sequence[Sequence[object]] = [
        (
            expected.value,
            *(report.count(expected, outcome) for outcome in (Outcome.MATCH, Outcome.CLEAR, Outcome.ERROR)),
        )
        for expected in (Outcome.MATCH, Outcome.CLEAR)
    ]
    show_table(("EXPECTED", "MATCH", "CLEAR", "ERROR"), rows)


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
