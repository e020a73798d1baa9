"""Writes ``config/detectors/injection_windows.bin`` (format: ``headgate.detectors.injection_windows``)."""

import json
from pathlib import Path

from benchmarks.injection_network_training import FLOOR, LearnedNetwork
from benchmarks.injection_windows_training import Learned


def write(learned: Learned, network: LearnedNetwork, bar: float, path: Path) -> None:
    """Weights as signed bytes; those that round to 0 are left out. ``bar``: the log odds that become even odds."""
    rounded = learned.rounded()
    kept = rounded != 0
    head = {
        "about": "second stage of the detector of instructions; format: headgate/detectors/injection_windows.py",
        "bias": round(learned.bias - bar, 3),
        "signs": round(learned.signs, 4),
        "unit": float(f"{learned.unit:.6g}"),
        "features": int(kept.sum()),
        "numbers": network.numbers.shape[1],
        "units": network.units,
        "floor": round(FLOOR - bar, 3),
    }
    path.write_bytes(
        json.dumps(head).encode()
        + b"\n"
        + network.features.astype("<u4").tobytes()
        + rounded[kept].tobytes()
        + network.numbers.tobytes()
        + network.hidden.astype("<f4").tobytes()
    )
