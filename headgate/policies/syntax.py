"""A policy's syntax, as far as conditions need it. Every other shape is ``Opaque``.

``parse_syntax`` makes it from the engine's own tree.
"""

from msgspec import Struct, field


class Constant(Struct, frozen=True):
    """A string, number, boolean or null."""

    value: bool | float | str | None


class Reference(Struct, frozen=True):
    """``root.a["b"]``. ``path`` is None where some part of it is not a constant string."""

    root: str
    path: tuple[str, ...] | None


class Collection(Struct, frozen=True):
    """A literal array or set."""

    items: tuple["Expression", ...]


class Comparison(Struct, frozen=True):
    """``left == right``; ``operator`` is the engine's name of it (Eq, Ne, Lt, Le, Gt, Ge)."""

    operator: str
    left: "Expression"
    right: "Expression"


class Membership(Struct, frozen=True):
    """``value in collection``."""

    value: "Expression"
    collection: "Expression"


class CountOf(Struct, frozen=True):
    """``count(name)`` of something that this module may define."""

    name: str


class Assignment(Struct, frozen=True):
    """``name := value``, or ``left = right`` with ``name`` None."""

    name: str | None
    value: "Expression"
    left: "Expression"


class Opaque(Struct, frozen=True):
    """Anything else."""


type Expression = Constant | Reference | Collection | Comparison | Membership | CountOf | Assignment | Opaque


class Statement(Struct, frozen=True):
    """One statement of a body. Statements that are not expressions (some, every) are Opaque."""

    expression: Expression
    negated: bool


class Body(Struct, frozen=True):
    """One body: ``value`` is what the rule is where it succeeds (the member, for a partial set)."""

    statements: tuple[Statement, ...]
    value: Expression
    is_else: bool


class Definition(Struct, frozen=True):
    """One rule as written: a complete rule or a partial set; anything else has no ``bodies`` and is not plain."""

    name: str
    is_set: bool
    is_plain: bool
    bodies: tuple[Body, ...]


class Module(Struct, frozen=True):
    """A policy: its package, its rules by name, their defaults, and the names that mean something else."""

    package: tuple[str, ...]
    definitions: dict[str, tuple[Definition, ...]]
    defaults: dict[str, Expression]
    bound_names: frozenset[str] = field(default=frozenset())
    imported_names: frozenset[str] = field(default=frozenset())
    uses_with: bool = False
