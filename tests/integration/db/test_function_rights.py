"""Who may call the functions that reach across organizations: each part its own, nobody else any."""

import psycopg
import pytest

PARTS = ("api", "proxy", "worker", "auditor")

CALLERS = {
    "record_actions": {"proxy", "api"},
    "record_action": {"api"},
    "attest_entries": {"proxy", "api", "worker"},
    "count_entries": {"api", "worker"},
    "has_writers": {"api", "worker"},
    "forget_writers": {"worker"},
    "record_outcomes": {"proxy"},
    "hold_action": {"proxy", "api"},
    "hold_actions": {"proxy"},
    "use_approvals": {"proxy"},
    "record_retry": {"proxy"},
    "use_approval": {"proxy"},
    "held_decision": {"proxy", "api", "worker"},
    "use_exemption": {"proxy", "api"},
    "give_back_exemption": set(),
    "break_glass_open": {"api", "worker"},
    "end_break_glass": {"api"},
    "record_refusals": {"proxy"},
    "note_mcp_tools": {"proxy", "api"},
    "end_executions": {"api", "worker"},
    "add_llm_usage": {"api", "worker"},
    "note_tags": {"api", "worker"},
    "llm_usage_of_day": {"proxy"},
    "key_by_hash": {"proxy", "api"},
    "touch_keys": {"proxy", "api"},
    "generations": {"proxy", "api", "worker"},
    "approvals_decided_within": {"proxy"},
    "approvals_due": {"worker"},
    "approvals_open": {"api", "worker"},
    "forget_kept_call": {"api"},
    "escalations_due": {"worker"},
    "reminders_due": {"worker"},
    "beat_instance": {"proxy", "api", "worker"},
    "end_instance": {"proxy", "api", "worker"},
    "executions_orphaned_due": {"worker"},
    "quarantine_policy": {"proxy", "api", "worker"},
    "record_shadow": {"proxy", "api"},
    "apply_journal": {"worker", "api"},
    "journal_due": {"worker"},
    "set_aside_entry": {"worker", "api"},
    "journal_lag": {"worker", "api"},
    "journal_under_key": {"api"},
    "has_several_organizations": {"worker"},
    "ensure_audit_partitions": {"worker"},
    "ensure_traffic_partitions": {"worker"},
    "drop_empty_traffic_partitions": {"worker"},
    "traffic_is_kept": {"worker"},
    "record_exchanges": {"proxy"},
    "record_traffic_losses": {"proxy"},
    "defer_job": {"api", "proxy", "worker"},
    "job_queues": {"api", "worker"},
    "queue_execution": {"api", "worker"},
    "claim_execution": {"worker"},
    "settle_execution": {"worker"},
    "unsent_exemption": {"worker", "api"},
    "release_orphans": {"worker"},
    "retry_execution": {"api"},
    "process_executions": {"api"},
    "take_action": {"api"},
    "take_set_aside": {"api"},
    "report_outcome": {"api"},
    "cancel_action": {"api"},
    "forget_calls": {"worker"},
    "find_lost_executions": {"worker"},
    "breaker_states": {"api", "worker"},
    "relay_due": {"worker"},
    "chat_connection_owner": {"api"},
    "integration_connection_owner": {"api"},
    "forget_integration_receipts": {"worker"},
    "checkpoints_due": {"worker"},
    "has_checkpoints": {"worker"},
    "signing_keys_due": {"worker"},
    "exports_due": {"worker"},
    "audit_blocks_due": {"worker"},
    "index_audit_block": {"worker"},
    "vault_due": {"api"},
    "vault_keys": {"api"},
    "keeps_secrets": {"api", "worker"},
    "put_bodies_away": {"worker"},
    "put_results_away": {"worker"},
    "keep_applied_events": {"api", "worker"},
    "keep_body": {"worker", "api"},
    "forget_bodies": {"worker", "api"},
    "retention_due": {"worker"},
    "ensure_body_partition": {"worker"},
    "drop_empty_body_partitions": {"worker"},
    "begin_login": {"api"},
    "begin_passkey_challenge": {"api"},
    "take_passkey_challenge": {"api"},
    "passkey_by_credential": {"api"},
    "key_reminders_due": {"worker"},
    "agents_found": {"api"},
    "organizations_listed": {"api"},
    "memberships": {"api"},
    "invitation_by_hash": {"api"},
    "take_login": {"api"},
    "session_by_hash": {"api"},
    "sessions_at_provider": {"api"},
    "event_streams_due": {"worker"},
    "count_connection_uses": {"proxy", "worker"},
    "connections_due": {"worker"},
    "forget_connection_flows": {"worker"},
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
