-- Writes one round of an organization's journal: sealed events, actions and executions, each once; and deletes the rows of the journal
-- that it was read from. The caller holds the chain's lock, and has made headers, hashes and salts (headgate.journal). Arrays
-- of one group are parallel. A chain that has grown since, or a row of the journal that is gone, refuses the round as a
-- serialization failure. It takes arrays, not COPY: COPY cannot write tables with row-level security.
CREATE OR REPLACE FUNCTION apply_journal(
    p_org text, p_journal bigint[], p_first_seq bigint, p_sealed timestamptz,
    p_event text[], p_header text[], p_hash bytea[], p_salt bytea[],
    p_event_type text[], p_event_action text[], p_event_agent text[], p_event_created timestamptz[], p_payload text[],
    p_action text[], p_agent text[], p_key text[], p_source text[], p_tool text[], p_operation text[], p_status text[],
    p_digest bytea[], p_request text[], p_decision text[], p_risk text[], p_parent text[], p_created timestamptz[],
    p_updated timestamptz[],
    p_execution text[], p_execution_action text[], p_instance text[], p_execution_status text[], p_started timestamptz[],
    p_completed timestamptz[], p_error text[], p_result text[]
) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
    head bigint;
    taken bigint;
BEGIN
    SELECT c.seq INTO head FROM audit_chain c WHERE c.org_id = p_org ORDER BY c.seq DESC LIMIT 1;
    IF coalesce(head, 0) + 1 <> p_first_seq THEN
        RAISE EXCEPTION 'the chain has grown to % since event % was made', head, p_first_seq USING ERRCODE = '40001';
    END IF;
    DELETE FROM journal j WHERE j.org_id = p_org AND j.journal_id = ANY (p_journal);
    GET DIAGNOSTICS taken = ROW_COUNT;
    IF taken <> cardinality(p_journal) THEN
        RAISE EXCEPTION 'rows of the journal are gone: % of %', cardinality(p_journal) - taken, cardinality(p_journal)
            USING ERRCODE = '40001';
    END IF;
    INSERT INTO actions (org_id, action_id, agent_id, key_id, source, tool, operation, status, digest, request, decision,
                         risk_level, parent_action_id, created_at, updated_at)
    SELECT p_org, n.* FROM unnest(p_action, p_agent, p_key, p_source, p_tool, p_operation, p_status, p_digest, p_request,
                                  p_decision, p_risk, p_parent, p_created, p_updated) AS n;
    INSERT INTO executions (org_id, execution_id, action_id, instance_id, status, attempts, started_at, completed_at, error, result)
    SELECT p_org, n.execution_id, n.action_id, n.instance_id, n.status, 1, n.started_at, n.completed_at, n.error, n.result
    FROM unnest(p_execution, p_execution_action, p_instance, p_execution_status, p_started, p_completed, p_error, p_result)
        AS n(execution_id, action_id, instance_id, status, started_at, completed_at, error, result);
    INSERT INTO audit_chain (org_id, seq, header, hash, sealed_at)
    SELECT p_org, p_first_seq + n.position - 1, n.header, n.hash, p_sealed
    FROM unnest(p_header, p_hash) WITH ORDINALITY AS n(header, hash, position);
    INSERT INTO audit_events (org_id, seq, event_id, event_type, action_id, agent_id, created_at, sealed_at, salt, payload)
    SELECT p_org, p_first_seq + n.position - 1, n.event_id, n.event_type, n.action_id, n.agent_id, n.created_at, p_sealed,
           n.salt, n.payload
    FROM unnest(p_event, p_event_type, p_event_action, p_event_agent, p_event_created, p_salt, p_payload)
        WITH ORDINALITY AS n(event_id, event_type, action_id, agent_id, created_at, salt, payload, position);
END $$;
CALL callable_by('apply_journal', ARRAY['api', 'worker']);
