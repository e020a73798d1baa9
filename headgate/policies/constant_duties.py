"""Finds the duties that a policy keeps apart for every call: ``approval := {"separation_of_duties": true}``.

Most policies write them so. What depends on the call is known only when the policy decides about one.
"""

import json

import regorus

from headgate.policies.answer_values import AnswerError
from headgate.policies.compile import SOURCE_NAME
from headgate.policies.terms import Duty, parse_terms
from headgate.policies.terms_lint import NotConstantError, constant_value
from headgate.policies.tree import UnknownSyntaxError, tree_object
from headgate.policies.written_rules import WrittenRule, policy_tree, written_rules

_MEMBER = "separation_of_duties"


def constant_duties(rego_policy: str) -> tuple[Duty, ...]:
    """Of a rule ``approval`` without conditions. Empty: none, or they depend on the call, or the text is not
    understood: a missing answer is better than a wrong one."""
    try:
        engine = regorus.Policy(rego_policy, path=SOURCE_NAME, data=regorus.Data(b"{}"))
        rules = written_rules(policy_tree(json.loads(engine.ast()), rego_policy))
        return next((duties for rule in rules if (duties := _duties(rule))), ())
    except (
        regorus.RegoError,
        KeyError,
        TypeError,
        ValueError,
        AttributeError,
        IndexError,
        RecursionError,
        UnknownSyntaxError,
    ):
        return ()


def _duties(rule: WrittenRule) -> tuple[Duty, ...]:
    if rule.name != "approval" or rule.is_default or rule.node["bodies"]:
        return ()
    head = tree_object(next(iter(tree_object(rule.node["head"]).values())))
    terms = tree_object(tree_object(head["assign"])["value"])
    fields = tree_object(terms["Object"])["fields"]
    for field in fields if isinstance(fields, list) else ():
        if not isinstance(field, list):
            continue
        _, key, member = field
        try:
            if constant_value(key) == _MEMBER:
                return parse_terms({_MEMBER: constant_value(member)}).separation_of_duties
        except (NotConstantError, AnswerError):
            continue
    return ()
