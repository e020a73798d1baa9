-- Holds calls in batches: one commit serves all calls that arrive while the last one is written. With a transaction for each,
-- some hundred were held per second, and more than half of a burst of 3,000 was refused. All batches lock in one order, so that
-- those of two processes do not deadlock. Returns one outcome of hold_action per row, in the order of the rows, separated
-- by commas.
CREATE OR REPLACE FUNCTION hold_actions(
    p_org text[], p_generation bigint[], p_action text[], p_agent text[], p_key text[], p_source text[],
    p_tool text[], p_operation text[], p_digest bytea[], p_request text[], p_decision text[], p_risk text[], p_parent text[],
    p_created timestamptz[], p_idempotency text[], p_request_digest bytea[], p_submitted text[], p_decided text[],
    p_requested text[], p_approval text[], p_requirements text[], p_required bigint[], p_reason text[], p_policy text[],
    p_expires timestamptz[], p_previous text[], p_superseded text[], p_most bigint[], p_names text[],
    p_escalate timestamptz[], p_remind_after bigint[], p_remind timestamptz[], p_held timestamptz[]
) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    outcomes text[] := array_fill(NULL::text, ARRAY[cardinality(p_org)]);
    one record;
BEGIN
    FOR one IN
        SELECT * FROM unnest(
            p_org, p_generation, p_action, p_agent, p_key, p_source, p_tool, p_operation, p_digest, p_request, p_decision,
            p_risk, p_parent, p_created, p_idempotency, p_request_digest, p_submitted, p_decided, p_requested, p_approval,
            p_requirements, p_required, p_reason, p_policy, p_expires, p_previous, p_superseded, p_most, p_names,
            p_escalate, p_remind_after, p_remind, p_held
        ) WITH ORDINALITY AS n(
            org_id, generation, action_id, agent_id, key_id, source, tool, operation, digest, request, decision,
            risk_level, parent, created_at, idempotency, request_digest, submitted, decided, requested, approval_id,
            requirements, required, reason, policy_id, expires_at, previous, superseded, most, names,
            escalate_at, remind_after, remind_at, held_until, position)
        ORDER BY n.org_id, n.agent_id, n.digest, n.position
    LOOP
        -- Checked without a lock. hold_action locks the newest approval, in the order of digests, and use_approvals locks in
        -- the order of approvals: a deadlock would refuse both batches.
        IF one.source = 'proxy' AND one.previous IS NULL AND EXISTS (
            SELECT FROM approvals a WHERE a.org_id = one.org_id AND a.agent_id = one.agent_id AND a.digest = one.digest
              AND a.source = 'proxy'
        ) THEN
            outcomes[one.position] := 'changed';
            CONTINUE;
        END IF;
        outcomes[one.position] := hold_action(
            one.org_id, one.generation, one.action_id, one.agent_id, one.key_id, one.source, one.tool, one.operation,
            one.digest, one.request, one.decision, one.risk_level, one.parent, one.created_at, one.idempotency,
            one.request_digest, one.submitted, one.decided, one.requested, one.approval_id, one.requirements,
            one.required::integer, one.reason, one.policy_id, one.expires_at, one.previous, one.superseded,
            one.most::integer, one.names, one.escalate_at, one.remind_after::integer, one.remind_at, one.held_until);
    END LOOP;
    RETURN array_to_string(outcomes, ',');
END $$;
CALL callable_by('hold_actions', ARRAY['proxy']);
