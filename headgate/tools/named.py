"""Calls to hosts of which a catalogue says as a whole what they speak (``protocol`` of the catalogue)."""

from headgate.protocols import aws
from headgate.protocols.body import Body
from headgate.protocols.draft import ActionDraft, ReadCall
from headgate.protocols.headers import Headers
from headgate.tools.generic import unlisted_draft
from headgate.tools.model import Catalogue, HostProtocol
from headgate.tools.recognised import aws_draft


def named_draft(catalogue: Catalogue, read_call: ReadCall, headers: Headers, body: Body) -> ActionDraft:
    """Raises AmbiguousRequestError."""
    if catalogue.protocol is HostProtocol.AWS:
        named = aws.NamedHost(bucket=catalogue.name_before(read_call.call.host))
        request = aws.recognise(read_call, headers, body, named=named)
        if request is not None:
            return aws_draft(catalogue.tool, read_call, body, request)
    return unlisted_draft(catalogue.tool, read_call, body, reads_are_safe=False)
