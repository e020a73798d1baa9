-- Stores captured exchanges, in parallel arrays; returns how many are stored now. Exchanges that exist, also erased ones, stay as
-- they are: a spool is read again after a crash. Exchanges of an unknown agent are left out. Of an action that was erased since,
-- only metadata is stored, as after a later erasure.
CREATE OR REPLACE FUNCTION record_exchanges(
    p_org text[], p_exchange text[], p_created timestamptz[], p_agent text[], p_action text[], p_tool text[],
    p_operation text[], p_decision text[], p_level text[], p_method text[], p_scheme text[], p_host text[], p_port integer[],
    p_target text[], p_status integer[], p_duration double precision[], p_request_bytes bigint[], p_response_bytes bigint[],
    p_masking text[], p_omitted text[], p_error text[], p_key text[], p_wrapped bytea[], p_content bytea[]
) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    known integer;
    gone text[];
BEGIN
    -- Locked: this waits for an erasure in progress, and a later erasure finds these rows.
    SELECT array_agg(a.action_id) FILTER (WHERE a.body_state = 'erased') INTO gone
    FROM (SELECT x.action_id, x.body_state FROM actions x
          WHERE (x.org_id, x.action_id) IN (SELECT e.org_id, e.action_id FROM unnest(p_org, p_action) AS e(org_id, action_id))
          ORDER BY x.org_id, x.action_id FOR SHARE) a;
    INSERT INTO traffic_exchanges (org_id, exchange_id, created_at, agent_id, action_id, tool, operation, decision, level,
                                   method, scheme, host, port, status, duration_ms, request_bytes, response_bytes,
                                   masking, omitted, target, error, key_id, wrapped_key, content, erased_at)
    SELECT e.org_id, e.exchange_id, e.created_at, e.agent_id, e.action_id, e.tool, e.operation, e.decision, e.level,
           e.method, e.scheme, e.host, e.port, e.status, e.duration_ms, e.request_bytes, e.response_bytes, e.masking, e.omitted,
           CASE WHEN g.gone THEN NULL ELSE e.target END, CASE WHEN g.gone THEN NULL ELSE e.error END,
           CASE WHEN g.gone THEN NULL ELSE e.key_id END, CASE WHEN g.gone THEN NULL ELSE e.wrapped_key END,
           CASE WHEN g.gone THEN NULL ELSE e.content END, CASE WHEN g.gone THEN clock_timestamp() END
    FROM unnest(p_org, p_exchange, p_created, p_agent, p_action, p_tool, p_operation, p_decision, p_level, p_method,
                p_scheme, p_host, p_port, p_target, p_status, p_duration, p_request_bytes, p_response_bytes, p_masking,
                p_omitted, p_error, p_key, p_wrapped, p_content)
        AS e(org_id, exchange_id, created_at, agent_id, action_id, tool, operation, decision, level, method, scheme, host,
             port, target, status, duration_ms, request_bytes, response_bytes, masking, omitted, error, key_id, wrapped_key,
             content)
         CROSS JOIN LATERAL (SELECT coalesce(e.action_id = ANY (gone), false) AS gone) g
    WHERE EXISTS (SELECT FROM agents a WHERE a.org_id = e.org_id AND a.agent_id = e.agent_id)
    ON CONFLICT DO NOTHING;
    SELECT count(*) INTO known
    FROM unnest(p_org, p_agent) AS e(org_id, agent_id)
    WHERE EXISTS (SELECT FROM agents a WHERE a.org_id = e.org_id AND a.agent_id = e.agent_id);
    RETURN known;
END $$;
CALL callable_by('record_exchanges', ARRAY['proxy']);
