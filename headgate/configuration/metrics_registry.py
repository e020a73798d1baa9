"""The metrics that a health route reads: of this machine's processes together, where they share a folder."""

import os

from prometheus_client import REGISTRY, CollectorRegistry
from prometheus_client.multiprocess import MultiProcessCollector


def shared_registry() -> CollectorRegistry:
    """Everything that is counted beside this process too, where the processes share a folder."""
    if "PROMETHEUS_MULTIPROC_DIR" not in os.environ:
        return REGISTRY
    registry = CollectorRegistry()
    MultiProcessCollector(registry)  # type: ignore[no-untyped-call] # the library leaves it untyped
    return registry
