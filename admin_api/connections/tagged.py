"""A connection's revision as its entity tag (RFC 9110, section 8.8.3): it moves when a person changes it, or
it breaks."""

from starlette.responses import Response

from admin_api.connections.answers import ConnectionAnswer, connection_answer
from admin_api.etag import expected_version, set_etag
from headgate.connections.model import Connection


def tagged_answer(connection: Connection, response: Response) -> ConnectionAnswer:
    set_etag(response, connection.revision)
    return connection_answer(connection)


def seen_revision(if_match: str | None) -> int | None:
    """Raises PreconditionFailedError for what is no tag of ours."""
    expected = expected_version(if_match, None)
    return None if expected is None else expected.version
