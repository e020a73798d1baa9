"""A grant as its row holds it: what it covers and who gave it are JSON."""

import json
from collections.abc import Sequence
from datetime import datetime

from psycopg.rows import DictRow

from headgate.grants.conditions import parse_conditions
from headgate.grants.model import Grant, Granter, Scope
from headgate.kernel.canonical_json import JsonObject, JsonValue, canonical_bytes, sha256_bytes
from headgate.kernel.clock import rfc3339


def scope_record(scope: Scope) -> JsonObject:
    """As it is stored, shown and recorded."""
    if scope.digest is not None:
        return {"digest": "sha256:" + scope.digest.hex()}
    conditions: list[JsonValue] = [json.loads(one.shown) for one in scope.conditions]
    return {"conditions": conditions}


def _scope(row: DictRow) -> Scope:
    record = json.loads(row["scope"])
    if "digest" in record:
        return Scope(digest=sha256_bytes(record["digest"]), sum_param=row["sum_param"])
    return Scope(conditions=parse_conditions(record["conditions"]), sum_param=row["sum_param"])


def granters_text(granters: Sequence[Granter]) -> str:
    records: list[JsonValue] = [
        {
            "voter_id": one.voter_id,
            "email": one.email,
            "as_admin": one.as_admin,
            "at": rfc3339(one.at),
            "groups": [*sorted(one.groups)],
        }
        for one in granters
    ]
    return canonical_bytes(records).decode()


def grant_of(row: DictRow) -> Grant:
    return Grant(
        org_id=row["org_id"],
        grant_id=row["grant_id"],
        agent_id=row["agent_id"],
        tool=row["tool"],
        operation=row["operation"],
        scope=_scope(row),
        policy_ids=frozenset(row["policy_ids"]),
        granters=tuple(
            Granter(
                one["voter_id"],
                one["email"],
                one["as_admin"],
                datetime.fromisoformat(one["at"]),
                frozenset(one["groups"]),
            )
            for one in json.loads(row["granters"])
        ),
        max_uses=row["max_uses"],
        uses=row["uses"],
        max_sum=row["max_sum"],
        used_sum=row["used_sum"],
        reason=row["reason"],
        approval_id=row["approval_id"],
        created_at=row["created_at"],
        expires_at=row["expires_at"],
        revoked_at=row["revoked_at"],
        revoked_by=row["revoked_by"],
        revoke_reason=row["revoke_reason"],
    )
