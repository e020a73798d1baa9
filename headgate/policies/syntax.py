"""A policy's syntax, as far as conditions need it. Every other shape is ``Opaque``.

``parse_syntax`` makes it from the engine's own tree.
"""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Constant:
    """A string, number, boolean or null."""

    value: bool | float | str | None


@dataclass(frozen=True, slots=True)
class Reference:
    """``root.a["b"]``. ``path`` is None where some part of it is not a constant string."""

    root: str
    path: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class Collection:
    """A literal array or set."""

    items: tuple["Expression", ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """``left == right``; ``operator`` is the engine's name of it (Eq, Ne, Lt, Le, Gt, Ge)."""

    operator: str
    left: "Expression"
    right: "Expression"


@dataclass(frozen=True, slots=True)
class Membership:
    """``value in collection``."""

    value: "Expression"
    collection: "Expression"


@dataclass(frozen=True, slots=True)
class CountOf:
    """``count(name)`` of something that this module may define."""

    name: str


@dataclass(frozen=True, slots=True)
class Assignment:
    """``name := value``, or ``left = right`` with ``name`` None."""

    name: str | None
    value: "Expression"
    left: "Expression"


@dataclass(frozen=True, slots=True)
class Opaque:
    """Anything else."""


type Expression = Constant | Reference | Collection | Comparison | Membership | CountOf | Assignment | Opaque


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement of a body. Statements that are not expressions (some, every) are Opaque."""

    expression: Expression
    negated: bool


@dataclass(frozen=True, slots=True)
class Body:
    """One body: ``value`` is what the rule is where it succeeds (the member, for a partial set)."""

    statements: tuple[Statement, ...]
    value: Expression
    is_else: bool


@dataclass(frozen=True, slots=True)
class Definition:
    """One rule as written: a complete rule or a partial set; anything else has no ``bodies`` and is not plain."""

    name: str
    is_set: bool
    is_plain: bool
    bodies: tuple[Body, ...]


@dataclass(frozen=True, slots=True)
class Module:
    """A policy: its package, its rules by name, their defaults, and the names that mean something else."""

    package: tuple[str, ...]
    definitions: dict[str, tuple[Definition, ...]]
    defaults: dict[str, Expression]
    bound_names: frozenset[str] = field(default=frozenset())
    imported_names: frozenset[str] = field(default=frozenset())
    uses_with: bool = False
