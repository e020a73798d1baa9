"""When a policy can speak at all, derived from its own text: what the index leaves policies out by.

A policy may be left out of a decision only if evaluating it would say nothing *and* raise no error, since an
error is a deny. Four formulas over the call's tool, operation, host and method are kept for each expression
(``Facts``), each erring towards "cannot tell". What makes this sound against the engine (regorus 0.14,
``scheduler.rs`` and ``interpreter.rs``):

- a body succeeds only if each of its statements does, in whatever order they run;
- the engine first runs the statements that neither bind nor use a local variable, in the order they are
  written (and all of them in that order where it cannot schedule a body), so that one of those, where it
  fails, keeps the statements written after it from running, and from raising;
- rules are evaluated when they are referred to; of a policy, ``deny``, ``require_approval`` and ``allow`` are
  asked for always, and what explains them (``reason``, …) only where one of them says something;
- comparisons, ``in`` and references with constant parts raise nothing. Calls may, and whatever iterates may
  reach the time limit.

Where a name might mean something else (a local variable that hides a rule or ``input``, an import, ``with``
anywhere), nothing is concluded. A property test compares with evaluating everything.
"""

from itertools import combinations
from typing import Final

from msgspec import Struct

from headgate.policies.facts import CONSTANT, CONSTANT_FALSE, QUIET, UNKNOWN, Facts, field_of, presence
from headgate.policies.formula import (
    FALSE,
    TRUE,
    Formula,
    OneOf,
    all_of,
    any_of,
    at_least,
    at_most,
    can_hold_together,
    negation,
)
from headgate.policies.model import Verdict
from headgate.policies.syntax import (
    Assignment,
    Body,
    Collection,
    Comparison,
    Constant,
    CountOf,
    Definition,
    Expression,
    Membership,
    Module,
    Reference,
    Statement,
)

_COMPARED_PAIRS_MAX: Final = 8


class Conditions(Struct, frozen=True):
    """``concerns``: false if the policy certainly decides nothing and raises nothing.

    ``speaks``: for each verdict, false if the policy certainly does not return it.
    """

    concerns: Formula
    speaks: dict[Verdict, Formula]


UNKNOWN_CONDITIONS: Final = Conditions(TRUE, dict.fromkeys(Verdict, TRUE))


def derive_conditions(module: Module, data_roots: frozenset[str]) -> Conditions:
    """The conditions of a policy; ``data_roots`` are the top-level members of the data documents."""
    names = {*module.definitions, *module.defaults}
    hidden = (module.bound_names | module.imported_names) & (names | {"input", "data"})
    if hidden or module.uses_with or module.package[0] in data_roots:
        return UNKNOWN_CONDITIONS
    derivation = _Derivation(module, data_roots)
    speaks = {verdict: derivation.says(verdict.value) for verdict in Verdict}
    fails = [derivation.rule(verdict.value).fails for verdict in Verdict if verdict.value in names]
    return Conditions(any_of(*speaks.values(), *map(at_most, fails)), speaks)


def dead_bodies(module: Module, data_roots: frozenset[str]) -> list[tuple[str, int, int]]:
    """Bodies that no call can satisfy: rule, number of its definition, number of the body."""
    if module.uses_with or (module.bound_names | module.imported_names) & {"input", "data", *module.definitions}:
        return []
    derivation = _Derivation(module, data_roots)
    return [
        (name, index, number)
        for name, definitions in module.definitions.items()
        for index, definition in enumerate(definitions)
        for number, body in enumerate(definition.bodies)
        if not can_hold_together(derivation.body_may(body))
    ]


class _Derivation:
    """One pass over one policy; caches the result for each rule."""

    def __init__(self, module: Module, data_roots: frozenset[str]) -> None:
        self._module = module
        self._data_roots = data_roots
        self._names = {*module.definitions, *module.defaults}
        self._rules: dict[str, Facts] = {}

    def says(self, name: str) -> Formula:
        """The formula under which the rule ``name`` may be anything but false, undefined or an empty set."""
        if name not in self._names:
            return FALSE
        definitions = self._module.definitions.get(name, ())
        if any(one.is_set for one in definitions):
            # An allow that is a set is malformed even if empty, and a malformed answer denies.
            return self._may_have_members(name) if name != Verdict.ALLOW else TRUE
        return at_most(self.rule(name).may)

    def rule(self, name: str) -> Facts:
        """The facts about a reference to the rule ``name``."""
        if name not in self._rules:
            self._rules[name] = UNKNOWN  # The result for a rule that refers to itself; the engine refuses such rules.
            found = self._derive_rule(name)
            self._rules[name] = Facts(
                at_most(found.may), at_least(found.must), at_most(found.defined), at_most(found.fails)
            )
        return self._rules[name]

    def _derive_rule(self, name: str) -> Facts:
        definitions = self._module.definitions.get(name, ())
        default = self._module.defaults.get(name)
        if not _is_uniform(definitions, default):
            return UNKNOWN
        bodies = [body for definition in definitions for body in definition.bodies]
        fails = [formula for body in bodies for formula in self._body_fails(body)]
        if any(definition.is_set for definition in definitions):
            return Facts(may=TRUE, must=FALSE, defined=TRUE, fails=any_of(*fails))
        values = [self.expression(body.value) for body in bodies]
        succeeds = [self.body_may(body) for body in bodies]
        may = any_of(*(all_of(body, value.may) for body, value in zip(succeeds, values, strict=True)))
        defined = any_of(*(all_of(body, value.defined) for body, value in zip(succeeds, values, strict=True)))
        if default is not None:
            default_facts = self.expression(default)
            may, defined = any_of(may, default_facts.may), TRUE
            fails.append(default_facts.fails)
        fails.append(self._conflicts(definitions))
        return Facts(may, self._must(bodies), defined, any_of(*fails))

    def _must(self, bodies: list[Body]) -> Formula:
        if any(body.is_else or body.value != Constant(True) for body in bodies):
            return FALSE
        return any_of(*(all_of(*(self._statement(one).must for one in body.statements)) for body in bodies))

    def _conflicts(self, definitions: tuple[Definition, ...]) -> Formula:
        """Two definitions of a complete rule that succeed with different values raise an error."""
        values = {body.value for one in definitions for body in one.bodies}
        if len(definitions) < 2 or (len(values) == 1 and isinstance(next(iter(values)), Constant)):
            return FALSE
        succeeds = [any_of(*(self.body_may(body) for body in one.bodies)) for one in definitions]
        if len(succeeds) > _COMPARED_PAIRS_MAX:
            return any_of(*succeeds)
        return any_of(*(all_of(one, other) for one, other in combinations(succeeds, 2)))

    def _may_have_members(self, name: str) -> Formula:
        definitions = self._module.definitions.get(name, ())
        if not _is_uniform(definitions, self._module.defaults.get(name)) or not definitions[0].is_set:
            return TRUE
        bodies = [body for definition in definitions for body in definition.bodies]
        return at_most(any_of(*(all_of(self.body_may(body), self.expression(body.value).defined) for body in bodies)))

    def body_may(self, body: Body) -> Formula:
        return at_most(all_of(*(self._statement(one).may for one in body.statements)))

    def _body_fails(self, body: Body) -> list[Formula]:
        before: Formula = TRUE
        found: list[Formula] = []
        for statement in body.statements:
            facts = self._statement(statement)
            found.append(all_of(before, facts.fails))
            if self._runs_in_order(statement.expression):
                before = all_of(before, facts.may)
        found.append(all_of(self.body_may(body), self.expression(body.value).fails))
        return found

    def _statement(self, statement: Statement) -> Facts:
        facts = self.expression(statement.expression)
        if not statement.negated:
            return facts
        holds = all_of(self._has_operands(statement.expression), negation(facts.may))
        return Facts(negation(facts.must), holds, TRUE, facts.fails)

    def _has_operands(self, negated: Expression) -> Formula:
        """True if all operands that are evaluated before the negation have a value: else the negation is undefined.
        A reference that ``==`` compares is no such operand."""
        match negated:
            case Comparison("Eq", left, right) | Assignment(None, left, right):
                operands: tuple[Expression, ...] = tuple(one for one in (left, right) if not isinstance(one, Reference))
            case Comparison(_, left, right) | Membership(left, right):
                operands = left, right
            case _:
                return TRUE
        return all_of(*(self._has_value(self._resolved(one)) for one in operands))

    def _has_value(self, operand: Expression) -> Formula:
        match operand:
            case Constant():
                return TRUE
            case Collection(items):
                return all_of(*map(self._has_value, items))
            case CountOf(name) if self._is_set(name):
                return TRUE
            case Reference():
                field, is_certain = field_of(operand)
                return FALSE if field is None or not is_certain else presence(field)
            case _:
                return FALSE

    def expression(self, expression: Expression) -> Facts:
        match expression:
            case Constant(value):
                return CONSTANT_FALSE if value is False else CONSTANT
            case Reference():
                return self._reference(expression)
            case Collection(items):
                return Facts(TRUE, FALSE, TRUE, self._any_fails(*items))
            case Comparison():
                return self._comparison(expression)
            case Membership(value, collection):
                return self._membership(value, collection)
            case CountOf(name):
                return Facts(TRUE, FALSE, TRUE, self.rule(name).fails) if self._is_set(name) else UNKNOWN
            case Assignment(None, value, left):
                return self._comparison(Comparison("Eq", left, value))
            case Assignment(_, value, _):
                facts = self.expression(value)
                return Facts(facts.defined, FALSE, facts.defined, facts.fails)
            case _:
                return UNKNOWN

    def _reference(self, reference: Reference) -> Facts:
        root, path = reference.root, reference.path
        if path is None or root in self._module.imported_names:
            return UNKNOWN
        if root == "input":
            field, _ = field_of(reference)
            return QUIET if field is None else Facts(TRUE, FALSE, presence(field), FALSE)
        if root == "data":
            # Data documents only: a path into a package would evaluate its rules.
            return QUIET if path and path[0] in self._data_roots else UNKNOWN
        if root not in self._names:
            return UNKNOWN
        facts = self.rule(root)
        return facts if not path else Facts(facts.defined, FALSE, facts.defined, facts.fails)

    def _comparison(self, comparison: Comparison) -> Facts:
        left, right = self._resolved(comparison.left), self._resolved(comparison.right)
        if isinstance(left, Constant) and comparison.operator in {"Eq", "Ne"}:
            left, right = right, left
        match comparison.operator, left, right:
            case "Eq" | "Ne", Reference(), Constant(str() as value):
                field, is_certain = field_of(left)
                if field is not None:
                    equal = OneOf(field, frozenset({value}))
                    may = equal if comparison.operator == "Eq" else all_of(presence(field), negation(equal))
                    return Facts(may, may if is_certain else FALSE, presence(field), FALSE)
            case ("Gt" | "Ne", CountOf(name), Constant(0)) | ("Ge", CountOf(name), Constant(1)) if self._is_set(name):
                return Facts(self._may_have_members(name), FALSE, TRUE, self.rule(name).fails)
            case _:
                pass
        defined = all_of(self.expression(left).defined, self.expression(right).defined)
        return Facts(defined, FALSE, defined, self._any_fails(left, right))

    def _membership(self, value: Expression, collection: Expression) -> Facts:
        value, collection = self._resolved(value), self._resolved(collection)
        if isinstance(value, Reference) and isinstance(collection, Collection):
            field, is_certain = field_of(value)
            constants = [item.value for item in collection.items if isinstance(item, Constant)]
            if field is not None and len(constants) == len(collection.items):
                among = OneOf(field, frozenset(one for one in constants if isinstance(one, str)))
                return Facts(among, among if is_certain else FALSE, TRUE, FALSE)
        return Facts(TRUE, FALSE, TRUE, self._any_fails(value, collection))

    def _resolved(self, expression: Expression) -> Expression:
        """The literal behind a rule that is nothing but one (``tools := {"github"}``), else the expression."""
        if not isinstance(expression, Reference) or expression.path != () or expression.root in self._module.defaults:
            return expression
        match self._module.definitions.get(expression.root, ()):
            case [Definition(_, False, True, [Body((), Constant() | Collection() as value)])]:
                return value
            case _:
                return expression

    def _runs_in_order(self, expression: Expression) -> bool:
        """Whether the engine runs such a statement before all later ones: it uses no local variable."""
        match expression:
            case Constant():
                return True
            case Reference(root, path):
                return path is not None and (root in {"input", "data"} or root in self._names)
            case Collection(items):
                return all(map(self._runs_in_order, items))
            case Comparison(_, left, right) | Membership(left, right):
                return self._runs_in_order(left) and self._runs_in_order(right)
            case CountOf(name):
                return self._is_set(name)
            case _:
                return False

    def _is_set(self, name: str) -> bool:
        if "count" in self._names | self._module.imported_names:
            return False
        definitions = self._module.definitions.get(name, ())
        return bool(definitions) and definitions[0].is_set and _is_uniform(definitions, self._module.defaults.get(name))

    def _any_fails(self, *parts: Expression) -> Formula:
        return any_of(*(self.expression(part).fails for part in parts))


def _is_uniform(definitions: tuple[Definition, ...], default: Expression | None) -> bool:
    """Whether all definitions of a name are plain and of one kind."""
    if not all(one.is_plain for one in definitions) or len({one.is_set for one in definitions}) > 1:
        return False
    return default is None or (isinstance(default, Constant) and not any(one.is_set for one in definitions))
