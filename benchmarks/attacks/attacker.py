"""An attacker, in a process of its own: ``python -m benchmarks.attacks.attacker NAME SECONDS TARGET_AS_JSON``."""

import asyncio
import json
import resource
import sys
import time

from benchmarks.attacks.attacks import ATTACKS
from benchmarks.attacks.target import Target


async def main(name: str, seconds: float, target: dict[str, object]) -> None:
    attacked = Target(**target, until=time.monotonic() + seconds)  # type: ignore[arg-type] # from our own JSON
    try:
        async with asyncio.timeout(seconds + 5):
            await ATTACKS[name](attacked)
    except TimeoutError:
        sys.stderr.write(f"{name} did not end by itself\n")


if __name__ == "__main__":
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    asyncio.run(main(sys.argv[1], float(sys.argv[2]), json.loads(sys.argv[3])))
