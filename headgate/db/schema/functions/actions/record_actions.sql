-- Appends the actions decided by requests in flight to the journal, in one transaction (group commit): one row for each
-- organization. Arrays are parallel, one element per request. Returns one outcome per request, in their order, separated by commas:
--   recorded
--   stale      the generation has changed since the decision: reload and decide again
--   duplicate  the idempotency key is taken
--   unknown    the organization has no such active agent
-- The proxy has no INSERT on any table: it records through functions like this one. The settings give one plan for good, which
-- finds by index what is small today. Planning each call costs as much as writing.
CREATE OR REPLACE FUNCTION record_actions(
    p_org text[], p_generation bigint[], p_agent text[], p_action text[], p_idempotency text[], p_request_digest bytea[],
    p_entry bytea[]
) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    outcomes text[];
BEGIN
    SELECT array_agg(CASE WHEN a.agent_id IS NULL THEN 'unknown' WHEN s.org_id IS NULL THEN 'stale' ELSE 'recorded' END
                     ORDER BY d.position)
    INTO outcomes
    FROM unnest(p_org, p_generation, p_agent) WITH ORDINALITY AS d(org_id, generation, agent_id, position)
    LEFT JOIN org_state s ON s.org_id = d.org_id AND s.generation = d.generation
    LEFT JOIN agents a ON a.org_id = d.org_id AND a.agent_id = d.agent_id AND a.status = 'active';

    -- Only explicit submissions may have idempotency keys.
    IF cardinality(array_remove(p_idempotency, NULL)) > 0 THEN
        WITH claimed AS (
            INSERT INTO idempotency_keys AS k (org_id, agent_id, idempotency_key, request_digest, action_id)
            SELECT d.org_id, d.agent_id, d.idempotency_key, d.request_digest, d.action_id
            FROM unnest(p_org, p_agent, p_idempotency, p_request_digest, p_action, outcomes)
                AS d(org_id, agent_id, idempotency_key, request_digest, action_id, outcome)
            WHERE d.outcome = 'recorded' AND d.idempotency_key IS NOT NULL
            ON CONFLICT DO NOTHING
            RETURNING k.action_id
        )
        SELECT array_agg(CASE WHEN d.outcome = 'recorded' AND d.idempotency_key IS NOT NULL
                                   AND d.action_id NOT IN (SELECT c.action_id FROM claimed c)
                              THEN 'duplicate' ELSE d.outcome END ORDER BY d.position)
        INTO outcomes
        FROM unnest(p_idempotency, p_action, outcomes) WITH ORDINALITY AS d(idempotency_key, action_id, outcome, position);
    END IF;

    INSERT INTO journal (org_id, created_at, entries)
    SELECT d.org_id, clock_timestamp(), string_agg(d.entry, ''::bytea ORDER BY d.position)
    FROM unnest(p_org, p_entry, outcomes) WITH ORDINALITY AS d(org_id, entry, outcome, position)
    WHERE d.outcome = 'recorded' GROUP BY d.org_id;
    RETURN array_to_string(outcomes, ',');
END $$;
CALL callable_by('record_actions', ARRAY['proxy', 'api']);
