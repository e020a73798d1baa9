"""Why a call gets no credential."""

from headgate.kernel.errors import ErrorCode, ForbiddenError, UnavailableError


class NoConnectionError(ForbiddenError):
    """A placeholder that no connection may fill here, or more than one connection that might."""

    code = ErrorCode.CONNECTION_REFUSED


class BrokenConnectionError(UnavailableError):
    """The connection that this call needs does not work: nothing was forwarded."""

    code = ErrorCode.CONNECTION_BROKEN
