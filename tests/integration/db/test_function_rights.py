"""Who may call the functions that reach across organizations: each part its own, nobody else any."""

import psycopg
import pytest

PARTS = ("api", "proxy", "worker", "auditor")

CALLERS = {
    "record_actions": {"proxy", "api"},
    "record_outcomes": {"proxy", "worker"},
    "hold_action": set(),
    "hold_action_in_room": {"proxy", "api"},
    "record_retry": {"proxy"},
    "use_approval": {"proxy"},
    "record_refusals": {"proxy"},
    "fold_outcomes": {"api", "worker"},
    "fold_due": {"worker"},
    "key_by_hash": {"proxy", "api"},
    "touch_keys": {"proxy", "api"},
    "generations": {"proxy", "api", "worker"},
    "approvals_decided_within": {"proxy"},
    "approvals_due": {"worker"},
    "approvals_open": {"api", "worker"},
    "beat_instance": {"proxy", "api", "worker"},
    "end_instance": {"proxy", "api", "worker"},
    "executions_orphaned_due": {"worker"},
    "quarantine_policy": {"proxy", "api"},
    "record_shadow": {"proxy", "api"},
    "seal_audit_events": {"worker", "api"},
    "seal_due": {"worker"},
    "audit_inbox_lag": {"worker", "api"},
    "ensure_audit_partitions": {"worker"},
}


@pytest.fixture(scope="module")
def rights(cluster) -> dict[str, set[str]]:
    """By function: who may call it. ``public`` would be everybody."""
    with psycopg.connect(cluster.dsn("postgres"), autocommit=True) as connection:
        rows = connection.execute(
            "SELECT p.proname, part.name FROM pg_proc p,"
            " unnest(%s::text[]) AS part(name)"
            " WHERE p.pronamespace = 'public'::regnamespace AND p.prosecdef"
            " AND has_function_privilege(CASE part.name WHEN 'public' THEN 'public' WHEN 'owner' THEN"
            " 'headgate_owner' ELSE 'headgate_' || part.name END, p.oid, 'EXECUTE')",
            [[*PARTS, "owner", "public"]],
        ).fetchall()
    found: dict[str, set[str]] = {}
    for function, part in rows:
        found.setdefault(function, set()).add(part)
    return found


def test_the_table_names_every_function(rights) -> None:
    assert set(rights) == set(CALLERS)


@pytest.mark.parametrize("function", CALLERS)
def test_only_the_parts_that_need_it_may_call_it(rights, function: str) -> None:
    # The owner too: an operator may give every part the owner's address.
    assert rights[function] == CALLERS[function] | {"owner"}


def test_a_part_is_refused_what_is_not_its_own(cluster) -> None:
    with psycopg.connect(cluster.dsn("headgate_auditor"), autocommit=True) as connection:
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("SELECT use_approval('o', 1, 'a', 'g', ''::bytea, 'e', 'i', now(), '{}', '{}')")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("SELECT * FROM key_by_hash(''::bytea)")
