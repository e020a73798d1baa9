"""The exceptions that the engine raises."""


class JsonError(ValueError):
    """A text that is not strict JSON, or a value that has no canonical JSON; says where and what."""


class PatternError(ValueError):
    """A regular expression that cannot be compiled; says why."""


class RegoError(ValueError):
    """A policy that is refused before it is evaluated: syntax, limits, recursion, unknown builtins, arity."""

    def __init__(self, message: str, path: str, line: int | None, column: int | None, snippet: str) -> None:
        place = path if line is None else f"{path}:{line}:{column}"
        super().__init__(f"{place}: {message}")
        self.message = message
        self.path = path
        self.line = line
        self.column = column
        self.snippet = snippet

    def __reduce__(self) -> tuple[type["RegoError"], tuple[str, str, int | None, int | None, str]]:
        return type(self), (self.message, self.path, self.line, self.column, self.snippet)


class EvaluationError(RuntimeError):
    """A policy that could not be evaluated.

    ``kind`` is ``error`` (of a builtin or of the policy), ``time_limit``, ``memory_limit``, ``panic`` (a bug of
    the engine) or ``input``.
    """

    def __init__(self, reason: str, kind: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.kind = kind

    def __reduce__(self) -> tuple[type["EvaluationError"], tuple[str, str]]:
        return type(self), (self.reason, self.kind)


class InputError(EvaluationError, JsonError):
    """An input or data document that is not strict JSON; both of what it is made of."""

    def __init__(self, reason: str, kind: str = "input") -> None:
        super().__init__(reason, kind)
