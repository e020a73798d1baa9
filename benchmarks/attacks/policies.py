"""Attacks with policies of the attacker's own organization."""

from benchmarks.attacks.target import Target, keep, many


async def slow_policies(target: Target) -> None:
    """Calls about which twelve policies of the attacker's organization think for 10 ms each."""

    async def once() -> None:
        pair = await target.tunnel()
        pair[1].write(target.head("GET", "/bytes/9", "connection: close"))
        await keep(target, pair)

    await many(target, 32, once)


async def slow_policies_within_their_budget(target: Target) -> None:
    """The same with the four of them that fit into one decision."""

    async def once() -> None:
        pair = await target.tunnel()
        pair[1].write(target.head("GET", "/bytes/8", "connection: close"))
        await keep(target, pair)

    await many(target, 32, once)


def slow_policies_text() -> dict[str, str]:
    """Names and texts: twelve that are slow about one path, the first four about another too."""
    slow = "some a in numbers.range(1, 120); some b in numbers.range(1, 120); a * b < 0"
    paths = {number: '{"/bytes/8", "/bytes/9"}' if number < 4 else '{"/bytes/9"}' for number in range(12)}
    return {
        f"Slow {number}": f"package slow{number}\n\ndeny if {{ input.http.path in {of}; {slow} }}\n"
        for number, of in paths.items()
    }
