"""What a destination is told in place of an event that is not as it was sealed: that the record was altered there.

It is no event of the record, and has no identifier of one; its number is that of the place in the chain.
"""

from datetime import datetime
from typing import Final

from headgate.audit.chain_verifier import ChainFault
from headgate.audit.model import SYSTEM
from headgate.relay.model import RecordedEvent

RECORD_ALTERED: Final = "record.altered"


def altered(fault: ChainFault, at: datetime) -> RecordedEvent:
    """``at``: when it was seen."""
    return RecordedEvent(
        event_id=f"{RECORD_ALTERED}.{fault.seq}.{fault.event_id or fault.reason.value}",
        seq=fault.seq,
        event_type=RECORD_ALTERED,
        action_id=None,
        agent_id=None,
        created_at=at,
        actor=SYSTEM,
        data={"seq": fault.seq, "event_id": fault.event_id, "fault": fault.reason.value, "reason": fault.message},
    )
