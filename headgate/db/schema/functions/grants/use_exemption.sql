-- Records an action that a grant or break-glass lets through: claims the use, records the action and, if Headgate makes the call,
-- starts the execution. All or nothing. Returns the payload of the use's event, whether the grant is exhausted with it, and:
--   used
--   stale, unknown, duplicate  as record_actions
--   unusable                   revoked, expired, used up, or too little left of its sum
--   asked                      an approval of this very call is open, unused or denied: it takes precedence over a grant; a
--                              denial also over a break-glass use
CREATE OR REPLACE FUNCTION use_exemption(
    p_org text, p_generation bigint, p_exemption text, p_amount numeric,
    p_action text, p_agent text, p_key text, p_source text, p_tool text, p_operation text, p_status text,
    p_digest bytea, p_request text, p_decision text, p_risk text, p_parent text, p_created timestamptz,
    p_execution text, p_instance text, p_idempotency text, p_request_digest bytea,
    p_submitted text, p_decided text, p_started text, OUT outcome text, OUT told text, OUT is_exhausted boolean
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    held grants;
    pass break_glass;
    newest approvals;
    verb text;
BEGIN
    -- Locked first: a revocation, another proxy's use and this one are serialized.
    IF p_exemption LIKE 'grt\_%' THEN
        SELECT * INTO held FROM grants g
        WHERE g.org_id = p_org AND g.grant_id = p_exemption AND g.agent_id = p_agent
          AND g.tool = p_tool AND g.operation = p_operation FOR UPDATE;
        IF held.grant_id IS NULL OR held.revoked_at IS NOT NULL OR clock_timestamp() >= held.expires_at
           OR held.uses >= held.max_uses OR p_amount < 0 OR (held.max_sum IS NOT NULL AND p_amount IS NULL)
           OR held.used_sum + coalesce(p_amount, 0) > held.max_sum THEN
            outcome := 'unusable';
            RETURN;
        END IF;
        -- Each explicit action has its own approval. An open or unused one of another action does not count; a denial does.
        SELECT * INTO newest FROM approvals a
        WHERE a.org_id = p_org AND a.agent_id = p_agent AND a.digest = p_digest AND a.source = p_source
          AND (p_source = 'proxy' OR a.status IN ('approved', 'denied'))
        ORDER BY a.approval_id DESC LIMIT 1;
        IF (newest.status IN ('pending', 'denied') AND clock_timestamp() < newest.expires_at)
           OR (p_source = 'proxy' AND newest.status = 'approved' AND newest.used_at IS NULL
               AND clock_timestamp() < approval_use_ends(newest.expires_at, newest.decided_at)) THEN
            outcome := 'asked';
            RETURN;
        END IF;
    ELSE
        SELECT * INTO pass FROM break_glass b
        WHERE b.org_id = p_org AND b.pass_id = p_exemption AND b.agent_id = p_agent AND b.digest = p_digest FOR UPDATE;
        IF pass.pass_id IS NULL OR pass.used_at IS NOT NULL OR pass.reviewed_at IS NOT NULL
           OR clock_timestamp() >= pass.expires_at THEN
            outcome := 'unusable';
            RETURN;
        END IF;
        -- A person's denial stays, whichever came first. standing_denial asks the same when a use is opened.
        SELECT * INTO newest FROM approvals a
        WHERE a.org_id = p_org AND a.agent_id = p_agent AND a.digest = p_digest AND a.status IN ('approved', 'denied')
        ORDER BY a.approval_id DESC LIMIT 1;
        IF newest.status = 'denied' AND clock_timestamp() < newest.expires_at THEN
            outcome := 'asked';
            RETURN;
        END IF;
    END IF;
    IF NOT EXISTS (SELECT FROM agents a WHERE a.org_id = p_org AND a.agent_id = p_agent AND a.status = 'active') THEN
        outcome := 'unknown';
        RETURN;
    END IF;
    IF NOT EXISTS (SELECT FROM org_state s WHERE s.org_id = p_org AND s.generation = p_generation) THEN
        outcome := 'stale';
        RETURN;
    END IF;
    IF p_idempotency IS NOT NULL THEN
        INSERT INTO idempotency_keys (org_id, agent_id, idempotency_key, request_digest, action_id)
        VALUES (p_org, p_agent, p_idempotency, p_request_digest, p_action) ON CONFLICT DO NOTHING;
        IF NOT FOUND THEN
            outcome := 'duplicate';
            RETURN;
        END IF;
    END IF;

    IF pass.pass_id IS NULL THEN
        UPDATE grants g SET uses = g.uses + 1, used_sum = g.used_sum + coalesce(p_amount, 0)
        WHERE g.org_id = p_org AND g.grant_id = p_exemption RETURNING * INTO held;
        INSERT INTO grant_uses (org_id, action_id, grant_id, execution_id, amount, used_at)
        VALUES (p_org, p_action, p_exemption, p_execution, coalesce(p_amount, 0), p_created);
        verb := 'grant.used';
        told := '{"grant_id":"' || p_exemption || '","max_uses":' || held.max_uses
                || CASE WHEN held.max_sum IS NULL THEN '' ELSE ',"used_sum":"' || held.used_sum || '"' END
                || ',"uses":' || held.uses || '}';
    ELSE
        UPDATE break_glass b SET used_at = clock_timestamp(), used_action_id = p_action
        WHERE b.org_id = p_org AND b.pass_id = p_exemption;
        verb := 'break_glass.used';
        told := '{"denied_action_id":"' || pass.action_id || '","opened_by":"' || pass.opened_by
                || '","pass_id":"' || p_exemption || '"}';
    END IF;
    told := '{"actor":{"id":"headgate","type":"system"},"data":' || told || '}';

    INSERT INTO actions (org_id, action_id, agent_id, key_id, source, tool, operation, status, digest, request,
                         decision, risk_level, parent_action_id, created_at, updated_at)
    VALUES (p_org, p_action, p_agent, p_key, p_source, p_tool, p_operation, p_status, p_digest, p_request,
            p_decision, p_risk, p_parent, p_created, p_created);
    IF p_execution IS NOT NULL THEN
        INSERT INTO executions (org_id, execution_id, action_id, instance_id, status, attempts, started_at)
        VALUES (p_org, p_execution, p_action, p_instance, 'running', 1, p_created);
    END IF;
    INSERT INTO journal (org_id, event_type, action_id, agent_id, created_at, payload)
    SELECT p_org, e.event_type, p_action, p_agent, p_created, e.payload
    FROM (VALUES (1, 'action.submitted', p_submitted), (2, 'decision.made', p_decided), (3, verb, told),
                 (4, 'execution.started', p_started)) AS e(step, event_type, payload)
    WHERE e.payload IS NOT NULL ORDER BY e.step;
    is_exhausted := pass.pass_id IS NULL AND coalesce(held.uses >= held.max_uses OR held.used_sum >= held.max_sum, false);
    IF is_exhausted THEN
        INSERT INTO journal (org_id, event_type, action_id, agent_id, created_at, payload)
        VALUES (p_org, 'grant.exhausted', p_action, p_agent, p_created, told);
    END IF;
    outcome := 'used';
END $$;
CALL callable_by('use_exemption', ARRAY['proxy', 'api']);
