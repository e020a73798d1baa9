"""Looks at the metrics every ten seconds and remembers six hours of it: what burn rates are made of."""

import asyncio
import time
from collections import deque
from collections.abc import Callable
from typing import Final

import structlog

from admin_api.services.objectives import OBJECTIVES, count_objectives
from admin_api.services.slo import WINDOWS_SECONDS, Sample, SloStatus, status_of
from headgate.configuration.metrics_registry import shared_registry

_log = structlog.get_logger(__name__)

SAMPLE_SECONDS: Final = 10
_MOST_SAMPLES: Final = max(WINDOWS_SECONDS.values()) // SAMPLE_SECONDS + 2


class SloSampler:
    """Of one API process; the metrics are of all processes of the machine. Nothing is read when it is asked."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._samples: deque[Sample] = deque(maxlen=_MOST_SAMPLES)

    def sample(self) -> None:
        """One look at the metrics. Reads files where processes share them: not in the loop's thread."""
        self._samples.append(Sample(self._monotonic(), count_objectives(shared_registry().collect())))

    async def keep_sampling(self) -> None:
        """For ever; a look that fails is missing, and nothing else."""
        while True:
            try:
                await asyncio.to_thread(self.sample)
            except (OSError, ValueError) as error:
                _log.warning("slo_sample_missing", error=repr(error))
            await asyncio.sleep(SAMPLE_SECONDS)

    def statuses(self) -> list[SloStatus]:
        """Every objective, as of the last look; empty before the first."""
        samples = list(self._samples)
        return [status_of(objective, samples) for objective in OBJECTIVES] if samples else []
