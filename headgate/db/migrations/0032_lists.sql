-- Lists, however much is behind them: every filter has an index in the list's order (docs/decisions/0035-an-index-for-each-filter.md).

-- Of actions, by what has become of them. An index on a status makes each of its changes one of every index of the row:
-- measured with the decision.
CREATE INDEX actions_by_status ON actions (org_id, status, action_id);
CREATE INDEX actions_by_agent_and_status ON actions (org_id, agent_id, status, action_id);
CREATE INDEX actions_by_operation ON actions (org_id, operation, action_id);

-- Nearly all deliveries arrive: looked for are the others.
CREATE INDEX deliveries_not_delivered ON deliveries (org_id, target_kind, status, delivery_id) INCLUDE (target_id)
    WHERE status <> 'delivered';
CREATE INDEX deliveries_by_event ON deliveries (org_id, target_kind, event, delivery_id) INCLUDE (target_id);

-- A range of time is a stretch of this one, a page of it is sorted: the order of a list is that of the exchanges' ends.
CREATE INDEX traffic_by_time ON traffic_exchanges (org_id, created_at);
CREATE INDEX traffic_by_tool ON traffic_exchanges (org_id, tool, exchange_id);
CREATE INDEX traffic_by_operation ON traffic_exchanges (org_id, operation, exchange_id);
CREATE INDEX traffic_by_method ON traffic_exchanges (org_id, method, exchange_id);
CREATE INDEX traffic_by_status ON traffic_exchanges (org_id, status, exchange_id);
CREATE INDEX traffic_by_decision ON traffic_exchanges (org_id, decision, exchange_id);

-- Few are not over.
CREATE INDEX approver_absences_by_end ON approver_absences (org_id, ends_at);

CREATE INDEX reports_by_type ON reports (org_id, report_type, report_id);
CREATE INDEX reports_by_status ON reports (org_id, status, report_id);

CREATE INDEX grants_by_tool ON grants (org_id, tool, grant_id);
CREATE INDEX grants_by_operation ON grants (org_id, operation, grant_id);
CREATE INDEX grants_revoked ON grants (org_id, grant_id) WHERE revoked_at IS NOT NULL;

-- Whether it is used up is a column, which changes once: an index on the uses would be written with every use. Those of
-- now are the end of the order of their ends; pages of those that have ended pass over them by an index alone, of which
-- the end is a condition.
ALTER TABLE grants ADD COLUMN exhausted boolean NOT NULL
    GENERATED ALWAYS AS (uses >= max_uses OR coalesce(used_sum >= max_sum, false)) STORED;
DROP INDEX grants_in_force;
CREATE INDEX grants_in_force ON grants (org_id, expires_at, grant_id) WHERE revoked_at IS NULL AND NOT exhausted;
CREATE INDEX grants_exhausted ON grants (org_id, expires_at, grant_id) WHERE revoked_at IS NULL AND exhausted;
CREATE INDEX grants_not_revoked ON grants (org_id, grant_id, expires_at) WHERE revoked_at IS NULL;

-- What has ended, and what has not, is told by an index alone, in the order of age. As columns of its key, not beside it:
-- what a condition of the index leaves out costs a third of what a filter of the statement does. That of the ends was of no use: behind
-- row-level security a condition with coalesce is none of an index.
DROP INDEX api_keys_by_end, api_keys_by_kind, api_keys_long_lived;
CREATE INDEX api_keys_not_revoked ON api_keys (org_id, key_id, expires_at) WHERE revoked_at IS NULL;
CREATE INDEX api_keys_by_kind ON api_keys (org_id, kind, key_id, revoked_at, expires_at);
CREATE INDEX api_keys_long_lived ON api_keys (org_id, key_id) INCLUDE (expires_at, created_at)
    WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at - created_at > interval '90 days');
