"""Sends a call until there is nothing to wait for (``call.Patience``). The caller does the I/O."""

from collections.abc import Callable
from typing import Any

from headgate.client.answer import Answer
from headgate.client.call import Call, Patience
from headgate.client.errors import UnreachableError


def last_answer[Received: Answer](
    call: Call[Any], send: Callable[[Call[Any]], Received], patience: Patience, sleep: Callable[[float], None]
) -> Received:
    """``send`` raises UnreachableError where there is no answer, and so does this when it was the last try."""
    tried, waited = 0, 0.0
    while True:
        tried += 1
        try:
            answer = send(call)
        except UnreachableError:
            pause = patience.pause(call, None, tried=tried, waited=waited)
            if pause is None:
                raise
        else:
            if answer.is_success:
                return answer
            pause = patience.pause(call, answer, tried=tried, waited=waited)
            if pause is None:
                return answer
        sleep(pause)
        waited += pause
