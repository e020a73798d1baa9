"""Jobs, and who they are for. Pure."""

from collections.abc import Awaitable, Callable

from msgspec import Struct, field

from headgate.kernel.backoff import Backoff


class Job(Struct, frozen=True):
    """A kind of work. Jobs of one ``queue`` share a worker's places; a higher ``priority`` goes first."""

    name: str
    queue: str
    priority: int = 0
    backoff: Backoff = field(default_factory=Backoff)


class JobReference(Struct, frozen=True):
    """What a job is about. ``attempt`` counts from 1, the runs of killed workers included."""

    org_id: str
    subject_id: str
    attempt: int


class RetryLater(Exception):  # noqa: N818 - it is an order, not an error
    """Raised by a handler: try again in so many seconds, rather than by the job's backoff; it counts as an attempt."""

    def __init__(self, message: str, *, after_seconds: float) -> None:
        super().__init__(message)
        self.after_seconds = after_seconds


type Handler = Callable[[JobReference], Awaitable[None]]
type Abandoned = Callable[[JobReference, str], Awaitable[None]]


class Work(Struct, frozen=True):
    """A job and who does it. ``abandoned`` is told, with the reason, when it is not tried again."""

    job: Job
    handler: Handler
    abandoned: Abandoned | None = None
