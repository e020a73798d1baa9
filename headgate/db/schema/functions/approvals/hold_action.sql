-- Records a require_approval decision: the action, its approval with the assignees, and their events. Everything is checked before
-- anything is written. Returns:
--   held                       followed by the action whose approval ended with it, if there is one
--   stale, unknown, duplicate  as record_actions
--   changed                    a newer approval of this digest exists: read it
--   full                       the agent has p_most open approvals: it must not flood its reviewers
--
--   p_previous      the newest approval of the digest that the caller has read; null: none
--   p_superseded    payload of the event that the previous approval is superseded, as the policies now require more; null: it is not
--   p_most          null: no limit
--   p_names         assignees, a JSON array
--   p_escalate, p_remind_after, p_remind  when the worker escalates the approval, and reminds of it
--   p_held          how long the call waits for the decision; null: it does not
CREATE OR REPLACE FUNCTION hold_action(
    p_org text, p_generation bigint, p_action text, p_agent text, p_key text, p_source text,
    p_tool text, p_operation text, p_digest bytea, p_request text, p_decision text, p_risk text, p_parent text,
    p_created timestamptz, p_idempotency text, p_request_digest bytea, p_submitted text, p_decided text, p_requested text,
    p_approval text, p_requirements text, p_required integer, p_reason text, p_policy text, p_expires timestamptz,
    p_previous text, p_superseded text, p_most integer, p_names text, p_escalate timestamptz, p_remind_after integer,
    p_remind timestamptz, p_held timestamptz
) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    newest approvals;
BEGIN
    -- Serializes the holds of an agent: approvals of one digest are opened one after the other, and concurrent calls cannot
    -- exceed p_most.
    PERFORM pg_advisory_xact_lock(hashtextextended('headgate.room ' || p_org || p_agent, 0));
    IF NOT EXISTS (SELECT FROM agents a WHERE a.org_id = p_org AND a.agent_id = p_agent AND a.status = 'active') THEN
        RETURN 'unknown';
    END IF;
    IF NOT EXISTS (SELECT FROM org_state s WHERE s.org_id = p_org AND s.generation = p_generation) THEN
        RETURN 'stale';
    END IF;
    IF p_source = 'proxy' THEN
        SELECT * INTO newest FROM approvals a
        WHERE a.org_id = p_org AND a.agent_id = p_agent AND a.digest = p_digest AND a.source = 'proxy'
        ORDER BY a.approval_id DESC LIMIT 1 FOR UPDATE;
        IF newest.approval_id IS DISTINCT FROM p_previous THEN
            RETURN 'changed';
        END IF;
        -- An open approval is superseded only if the policies now require more than it asks for.
        IF newest.status = 'pending' AND newest.expires_at > clock_timestamp() AND p_superseded IS NULL THEN
            RETURN 'changed';
        END IF;
    END IF;
    IF p_idempotency IS NOT NULL AND EXISTS (
        SELECT FROM idempotency_keys k
        WHERE k.org_id = p_org AND k.agent_id = p_agent AND k.idempotency_key = p_idempotency
    ) THEN
        RETURN 'duplicate';
    END IF;
    IF p_most IS NOT NULL AND p_most <= (
        SELECT count(*) FROM (
            SELECT FROM approvals a
            WHERE a.org_id = p_org AND a.agent_id = p_agent AND a.status = 'pending' AND a.expires_at > clock_timestamp()
              AND a.approval_id IS DISTINCT FROM newest.approval_id LIMIT p_most) AS open_approvals
    ) THEN
        RETURN 'full';
    END IF;
    IF p_idempotency IS NOT NULL THEN
        INSERT INTO idempotency_keys (org_id, agent_id, idempotency_key, request_digest, action_id)
        VALUES (p_org, p_agent, p_idempotency, p_request_digest, p_action) ON CONFLICT DO NOTHING;
        IF NOT FOUND THEN
            RETURN 'duplicate';
        END IF;
    END IF;
    IF newest.status = 'pending' THEN
        UPDATE approvals SET status = 'expired' WHERE org_id = p_org AND approval_id = newest.approval_id;
        INSERT INTO journal (org_id, event_type, action_id, agent_id, created_at, payload)
        VALUES (p_org, CASE WHEN p_superseded IS NULL THEN 'approval.expired' ELSE 'approval.superseded' END,
                newest.action_id, p_agent, p_created,
                coalesce(p_superseded, '{"actor":{"id":"headgate","type":"system"},"data":{"approval_id":"'
                                       || newest.approval_id || '"}}'));
        UPDATE actions SET status = 'denied', updated_at = p_created
        WHERE org_id = p_org AND action_id = newest.action_id AND status = 'pending_approval';
    END IF;
    INSERT INTO actions (org_id, action_id, agent_id, key_id, source, tool, operation, status, digest, request,
                         decision, risk_level, approval_id, parent_action_id, created_at, updated_at)
    VALUES (p_org, p_action, p_agent, p_key, p_source, p_tool, p_operation, 'pending_approval', p_digest, p_request,
            p_decision, p_risk, p_approval, p_parent, p_created, p_created);
    INSERT INTO approvals (org_id, approval_id, action_id, agent_id, source, digest, status, requirements,
                           required_approvals, reason, risk_level, policy_id, repeats, created_at, expires_at,
                           escalate_at, remind_after_seconds, remind_at, held_until)
    VALUES (p_org, p_approval, p_action, p_agent, p_source, p_digest, 'pending', p_requirements,
            p_required, p_reason, p_risk, p_policy, p_previous, p_created, p_expires,
            p_escalate, p_remind_after, p_remind, p_held);
    IF p_names <> '[]' THEN
        INSERT INTO approval_assignees (org_id, name, approval_id)
        SELECT DISTINCT p_org, n.name, p_approval FROM jsonb_array_elements_text(p_names::jsonb) AS n(name);
    END IF;
    INSERT INTO journal (org_id, event_type, action_id, agent_id, created_at, payload)
    VALUES (p_org, 'action.submitted', p_action, p_agent, p_created, p_submitted),
           (p_org, 'decision.made', p_action, p_agent, p_created, p_decided),
           (p_org, 'approval.requested', p_action, p_agent, p_created, p_requested);
    RETURN CASE WHEN newest.status = 'pending' THEN 'held ' || newest.action_id ELSE 'held' END;
END $$;
CALL callable_by('hold_action', ARRAY['proxy', 'api']);
