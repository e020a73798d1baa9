"""Who waits for the one process that reads captured traffic, for how long, and how many may."""

import asyncio
from typing import Any

import pytest

from admin_api.services.traffic_review import OPEN_OF_PERSON_MAX, WAITING_OF_ORGANIZATION_MAX, Asker, Review
from headgate.kernel.errors import RateLimitedError, UnavailableError


class SlowReview(Review):
    """Answers nothing before ``release`` is called; keeps the order."""

    def __init__(self) -> None:
        super().__init__()
        self.order: list[str] = []
        self._released = asyncio.Semaphore(0)

    def release(self, questions: int) -> None:
        for _ in range(questions):
            self._released.release()

    async def _answer(self, question: dict[str, Any], field: str, deadline_seconds: float) -> dict[str, Any]:
        self.order.append(question["expression"])
        await self._released.acquire()
        return {"answer": []}


def asker(org_id: str, person: str, *, gone: bool = False) -> Asker:
    async def has_gone() -> bool:
        return gone

    return Asker(org_id, person, has_gone)


async def test_one_organizations_queue_is_one_question_for_another() -> None:
    review = SlowReview()
    asked = [asyncio.ensure_future(review.matching(asker("b", str(n)), f"b{n}", [])) for n in range(8)]
    await asyncio.sleep(0)
    asked.append(asyncio.ensure_future(review.matching(asker("a", "ada"), "a", [])))
    await asyncio.sleep(0)
    review.release(len(asked))
    await asyncio.gather(*asked)
    assert review.order[:2] == ["b0", "a"]


async def test_a_person_has_three_questions_at_once_and_is_told_so() -> None:
    review = SlowReview()
    bob = asker("b", "bob")
    asked = [asyncio.ensure_future(review.matching(bob, str(n), [])) for n in range(OPEN_OF_PERSON_MAX)]
    await asyncio.sleep(0)
    with pytest.raises(RateLimitedError, match=r"3 of your questions about captured traffic .* wait for") as refused:
        await review.matching(bob, "one too many", [])
    assert refused.value.retry_after_seconds == 5
    other = asyncio.ensure_future(review.matching(asker("a", "bob"), "another organization's", []))
    review.release(len(asked) + 2)
    await asyncio.gather(*asked, other)
    await review.matching(bob, "again", [])
    assert "one too many" not in review.order


async def test_the_questions_of_one_organization_are_bounded() -> None:
    review = SlowReview()
    most = WAITING_OF_ORGANIZATION_MAX + 1
    asked = [asyncio.ensure_future(review.matching(asker("b", str(n)), str(n), [])) for n in range(most)]
    await asyncio.sleep(0)
    with pytest.raises(UnavailableError, match="too many calls wait for the process that reads captured traffic"):
        await review.matching(asker("b", "one more"), "one more", [])
    review.release(most)
    await asyncio.gather(*asked)


async def test_a_question_of_a_client_that_has_gone_is_dropped() -> None:
    review = SlowReview()
    review.release(2)
    with pytest.raises(UnavailableError, match="the client closed its connection"):
        await review.matching(asker("b", "bob", gone=True), "gone", [])
    assert await review.matching(asker("b", "bob"), "here", []) == set()
    assert review.order == ["here"]
