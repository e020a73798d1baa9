"""Every attack, in the order in which ``benchmarks.fairness`` runs them.

To add one: write ``async def name(target: Target) -> None`` that ends when ``target.is_over``, and name it here.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from benchmarks.attacks import bodies, connections, http1, http2, messages, policies
from benchmarks.attacks.target import Target

type Attack = Callable[[Target], Awaitable[None]]


async def nothing(target: Target) -> None:
    """The victims alone."""


_ALL: Final[tuple[Attack, ...]] = (
    nothing,
    http1.refusals_without_a_key,
    http1.certificates_without_a_key,
    http1.refusals_of_an_agent,
    http1.a_connection_for_each_refusal,
    http1.large_heads_without_a_key,
    http1.large_heads_of_an_agent,
    http1.slow_heads,
    http1.slow_bodies,
    http1.tiny_chunks,
    http1.large_bodies,
    http2.window_updates,
    http2.ping_acknowledgements,
    http2.settings_acknowledgements,
    http2.tiny_data,
    http2.unknown_frames,
    http2.large_header_blocks,
    http2.continued_header_blocks,
    http2.requests_taken_back,
    http2.downloads_without_a_window,
    connections.idle_tunnels,
    connections.idle_connections_without_a_key,
    connections.handshakes_without_a_key,
    connections.a_name_for_each_tunnel,
    connections.names_that_do_not_resolve,
    connections.allowed_requests,
    connections.held_calls,
    connections.downloads_that_nobody_reads,
    connections.large_downloads,
    bodies.held_gzip_bodies,
    bodies.held_gzip_bodies_of_small_values,
    bodies.gzip_bodies_of_small_values,
    bodies.held_json_bodies,
    messages.small_messages_of_websockets,
    messages.deflated_messages_of_websockets,
    messages.messages_of_grpc,
    messages.inspected_bodies,
    policies.slow_policies,
    policies.slow_policies_within_their_budget,
)
ATTACKS: Final[Mapping[str, Attack]] = {one.__name__.replace("_", " "): one for one in _ALL}
