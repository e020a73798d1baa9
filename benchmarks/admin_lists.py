"""The other lists that grow: deliveries, traffic, grants, broken glass, people, invitations, versions, organizations.

``python -m benchmarks.admin_lists [--stored 1000000] [--rounds 50]``: so many of each in one organization; a tenth of
the reports, which a limit in bytes keeps few. The bar is 20 ms.
"""

from datetime import UTC, datetime, timedelta
from typing import Any, Final

import psycopg

from benchmarks.load.instance import Instance
from benchmarks.load.list_pages import measure_lists, write

AGENT: Final = "agt_00000000-0000-7000-8000-0000000000cc"
WEBHOOK: Final = "whk_00000000-0000-7000-8000-000000000001"
POLICY: Final = "pol_00000000-0000-7000-8000-000000000001"
USER: Final = "usr_00000000-0000-7000-8000-000000000001"
_NAMES: Final = {"agent": AGENT, "webhook": WEBHOOK, "policy": POLICY, "user": USER}

# One delivery in ten thousand is parked, one in a hundred of the rare event; each was attempted once.
_DELIVERIES: Final = """
    INSERT INTO deliveries (org_id, delivery_id, target_kind, target_id, event_id, event, subject_id, payload, status,
        attempts, created_at, give_up_at, finished_at)
    SELECT %(org)s, 'dlv_' || id, CASE WHEN n %% 4 = 0 THEN 'channel' ELSE 'webhook' END,
           CASE WHEN n %% 4 = 0 THEN 'mail' ELSE '{webhook}' END, 'evt_' || id,
           CASE WHEN n %% 10000 = 3 THEN 'execution.failed' WHEN n %% 100 = 3 THEN 'approval.denied'
                ELSE 'approval.created' END,
           'apr_' || id, '{{"type":"approval.created","data":{{"n":' || n || '}}}}',
           CASE WHEN n %% 10000 = 1 THEN 'parked' WHEN n %% 50 = 2 THEN 'cancelled' ELSE 'delivered' END,
           1, at, at + interval '1 day', at
    FROM bench_rows
"""
_ATTEMPTS: Final = """
    INSERT INTO delivery_attempts (org_id, delivery_id, attempt, started_at, finished_at, succeeded, status_code,
        excerpt, latency_ms)
    SELECT %(org)s, 'dlv_' || id, 1, at, at, true, 200, 'ok', 12.5 FROM bench_rows
"""
_TRAFFIC: Final = """
    INSERT INTO traffic_exchanges (org_id, exchange_id, created_at, agent_id, action_id, tool, operation, decision,
        level, method, scheme, host, port, target, status, duration_ms, request_bytes, response_bytes, masking, omitted,
        key_id, wrapped_key, content)
    SELECT %(org)s, 'exc_' || id, at, '{agent}', 'act_' || id,
           'tool_' || CASE WHEN n %% 10000 = 5 THEN 40 ELSE n %% 7 END,
           CASE WHEN n %% 10000 = 7 THEN 'drop' ELSE 'read' END,
           CASE WHEN n %% 10000 = 9 THEN 'approved' ELSE 'allow' END, 'heads',
           CASE WHEN n %% 100 = 3 THEN 'DELETE' ELSE 'GET' END, 'https', 'api' || n %% 20 || '.example.com', 443,
           '/items/' || n, CASE WHEN n %% 10000 = 11 THEN 500 ELSE 200 END, 12.5, 200, 2000, '{{}}', '{{}}', 'k',
           '\\x00', '\\x00'
    FROM bench_rows
"""
_GRANTS: Final = """
    INSERT INTO grants (org_id, grant_id, agent_id, tool, operation, scope, policy_ids, granters, max_uses, uses,
        reason, created_at, expires_at, revoked_at, revoked_by)
    SELECT %(org)s, 'grt_' || id, '{agent}', 'tool_' || CASE WHEN n %% 10000 = 5 THEN 40 ELSE n %% 7 END,
           CASE WHEN n %% 10000 = 7 THEN 'drop' ELSE 'read' END, '{{"conditions":[]}}', ARRAY['{policy}'],
           '[{{"as_admin":true,"at":"2026-01-01T00:00:00+00:00","email":null,"groups":[],"voter_id":"{user}"}}]',
           10, CASE WHEN n %% 10000 = 9 THEN 10 ELSE 1 END, 'it may', at, at + interval '90 days',
           CASE WHEN n %% 1000 = 11 THEN at + interval '1 hour' END, CASE WHEN n %% 1000 = 11 THEN '{user}' END
    FROM bench_rows
"""
_GLASSES: Final = """
    INSERT INTO break_glass (org_id, pass_id, action_id, agent_id, tool, operation, digest, reason, opened_by,
        created_at, expires_at, reviewed_at, reviewed_by, review_outcome)
    SELECT %(org)s, 'brk_' || id, 'act_' || id, '{agent}', 'tool', 'write', sha256(n::text::bytea), 'it burns',
           '{user}', at, at + interval '1 hour', CASE WHEN n %% 10000 <> 3 THEN at END,
           CASE WHEN n %% 10000 <> 3 THEN 'usr_other' END, CASE WHEN n %% 10000 <> 3 THEN 'justified' END
    FROM bench_rows
"""
_USERS: Final = """
    INSERT INTO users (org_id, user_id, issuer, subject, email, roles, created_at, last_seen_at)
    SELECT %(org)s, 'usr_' || id, 'https://issuer.example.com', n::text, n || '@example.com', ARRAY['viewer'], at, at
    FROM bench_rows
"""
_INVITATIONS: Final = """
    INSERT INTO invitations (org_id, invitation_id, email, roles, secret_hash, created_by, created_at, expires_at)
    SELECT %(org)s, 'inv_' || id, n || '@example.com', ARRAY['viewer'], sha256(n::text::bytea), '{user}', at,
           at + interval '3 days'
    FROM bench_rows
"""
_SETTINGS: Final = """
    INSERT INTO setting_versions (org_id, name, version, document, updated_by, updated_at)
    SELECT %(org)s, 'notifications', n, '{{"channels":[]}}', '{user}', at FROM bench_rows
"""
_POLICIES: Final = """
    INSERT INTO policies (org_id, policy_id, name, rego_policy, enabled, version)
    VALUES (%(org)s, '{policy}', 'Changed often', 'package often', false, %(count)s)
"""
_VERSIONS: Final = """
    INSERT INTO policy_versions (org_id, policy_id, version, name, rego_policy, enabled, priority, created_at, change)
    SELECT %(org)s, '{policy}', n, 'Changed often', 'package often', false, 100, at, 'updated' FROM bench_rows
"""
_REPORTS: Final = """
    INSERT INTO reports (org_id, report_id, report_type, format, sections, end_at, status, stage, created_by,
        created_at, size_bytes)
    SELECT %(org)s, 'rep_' || id, CASE WHEN n %% 10000 = 0 THEN 'access' ELSE 'compliance' END, 'json', '{{}}', at,
           CASE WHEN n %% 5000 = 0 THEN 'failed' ELSE 'ready' END, 'done', '{user}', at, 1
    FROM bench_rows WHERE n %% 10 = 0
"""
_ABSENCES: Final = """
    INSERT INTO approver_absences (org_id, absence_id, user_id, stand_in, starts_at, ends_at, created_at, created_by)
    SELECT %(org)s, 'abs_' || id, 'usr_' || id, '{user}', at, at + interval '1 day', at, '{user}' FROM bench_rows
"""
_CHECKPOINTS: Final = """
    INSERT INTO audit_checkpoints (org_id, size, note, created_at)
    SELECT %(org)s, 1000000000 + n, 'note', at FROM bench_rows
"""
_ORGANIZATIONS: Final = """
    INSERT INTO organizations (org_id, name, created_at) SELECT 'org_' || id, 'Organization ' || n, at FROM bench_rows
"""
_ENDPOINTS: Final = """
    INSERT INTO webhook_endpoints (org_id, endpoint_id, url, events, enabled, created_at, updated_at)
    VALUES (%(org)s, '{webhook}', 'https://hooks.example.com/', ARRAY['approval.created'], false, now(), now())
"""
_AGENTS: Final = """
    INSERT INTO agents (org_id, agent_id, name, status, created_at, updated_at)
    VALUES (%(org)s, '{agent}', 'Many', 'active', now(), now())
"""
_TABLES: Final = {
    "webhook_endpoints": _ENDPOINTS,
    "agents": _AGENTS,
    "deliveries": _DELIVERIES,
    "delivery_attempts": _ATTEMPTS,
    "traffic_exchanges": _TRAFFIC,
    "grants": _GRANTS,
    "break_glass": _GLASSES,
    "users": _USERS,
    "invitations": _INVITATIONS,
    "setting_versions": _SETTINGS,
    "policies": _POLICIES,
    "policy_versions": _VERSIONS,
    "reports": _REPORTS,
    "approver_absences": _ABSENCES,
    "organizations": _ORGANIZATIONS,
}
_QUERIES: Final = {
    f"/admin/webhooks/{WEBHOOK}/deliveries": (
        "", "limit=200", "offset=5000", "status=parked", "status=cancelled", "status=delivered", "status=pending",
        "event=execution.failed", "event=approval.denied", "event=approval.expired",
        "status=parked&event=approval.denied",
    ),
    "/admin/notifications": ("", "status=parked", "status=pending", "channel=mail", "channel=none"),
    "/admin/traffic": (
        "", "limit=200", "tool=tool_3", "tool=tool_40", "operation=drop", "decision=approved", "method=DELETE",
        "status=500", "status=404", "host=api3.example.com", f"agent_id={AGENT}", "method=DELETE&tool=tool_3",
        "start_date={day}&end_date={day}", "start_date={day}&end_date={day}&tool=tool_3",
    ),
    "/admin/grants": (
        "", "limit=200", "status=active", "status=expired", "status=revoked", "status=exhausted", "tool=tool_40",
        "tool=tool_3", "operation=drop", f"agent_id={AGENT}", "tool=tool_3&status=revoked",
    ),
    "/admin/break-glass": ("", "open=true", "limit=200"),
    "/admin/users": ("", "limit=200", "offset=5000"),
    "/admin/invitations": ("", "limit=200"),
    "/admin/settings/notifications/versions": ("", "limit=200"),
    f"/admin/policies/{POLICY}/versions": ("", "limit=200"),
    "/admin/policies": ("", "name=often"),
    "/admin/audit/reports": ("", "status=failed", "type=access"),
    "/v1/absences": ("", f"user_id={USER}"),
    "/admin/organizations": ("", "limit=200", "cursor={middle}"),
}  # fmt: skip


def fill(connection: psycopg.Connection[Any], org_id: str, count: int) -> None:
    write(connection, org_id, count, {table: statement.format(**_NAMES) for table, statement in _TABLES.items()})


def paths(_: Instance, stored: int) -> list[str]:
    middle = datetime.now(UTC) - timedelta(minutes=stored / 2)
    digits = f"{int(middle.timestamp() * 1000):012x}"
    named = {"day": f"{middle:%Y-%m-%d}", "middle": f"org_{digits[:8]}-{digits[8:]}-7000-8000-000000000000"}
    return [f"{path}?{query.format(**named)}" for path, queries in _QUERIES.items() for query in queries]


if __name__ == "__main__":
    measure_lists(__doc__, fill, paths)
