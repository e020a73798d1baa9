"""Threads that have read large inputs keep none of their memory."""

import subprocess
import sys
from typing import Final

_THREADS: Final = 4
_KEPT_MIB_MAX: Final = 60
"""140 MiB and more before freed memory was given back at once; 12 since."""
_PROBE: Final = f"""
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import regorus


def resident_mib():
    [line] = [one for one in Path("/proc/self/status").read_text().splitlines() if one.startswith("RssAnon")]
    return int(line.split()[1]) / 1024


text = b'{{"x": [0' + b',[]' * 400_000 + b']}}'
together = Barrier({_THREADS})


def read(_):
    value = regorus.Input(text)
    together.wait(60)
    del value


with ThreadPoolExecutor({_THREADS}) as threads:
    before = resident_mib()
    list(threads.map(read, range({_THREADS})))
    print(resident_mib() - before)
"""


def test_memory_of_large_inputs_is_given_back() -> None:
    ran = subprocess.run([sys.executable, "-c", _PROBE], capture_output=True, text=True, timeout=120, check=True)
    assert float(ran.stdout) < _KEPT_MIB_MAX
