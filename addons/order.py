"""The addons between latch and lift, in the order in which they see a request.

=================  ==============================================================================
limits             one reading, one destination, not too large
certificate        requests to the proxy itself end here
*identify*         who is calling (407), checked for each request
guard              what may be connected to; ``recheck`` for connections that are open
streaming          meters responses, tells how a request ended; before those that keep records
*trace*            where telemetry is on: a span for each call
*enforce*          decides, records, holds, allows
*others*           credentials (a secret is written beside the flow, never into it), capture, measure
=================  ==============================================================================
"""

from collections.abc import Sequence

from addons.certificate import Certificate
from addons.guard import Guard
from addons.limits import Limits
from addons.streaming import Streaming


def in_order(
    *,
    limits: Limits,
    certificate: Certificate,
    identify: object,
    guard: Guard,
    streaming: Streaming,
    enforce: object,
    trace: Sequence[object] = (),
    others: Sequence[object] = (),
) -> list[object]:
    """Each part has one place, and none can be left out."""
    return [limits, certificate, identify, guard, streaming, *trace, enforce, *others]
