-- Calls hold_action, and limits the open approvals of an agent to p_most (null: no limit). It counts them under a lock of the
-- agent, so that concurrent calls cannot exceed the limit. Returns what hold_action returns, or full (nothing was recorded).
CREATE OR REPLACE FUNCTION hold_action_in_room(
    p_org text, p_generation bigint, p_action text, p_agent text, p_key text, p_source text,
    p_tool text, p_operation text, p_digest bytea, p_request text, p_decision text, p_risk text, p_parent text,
    p_created timestamptz, p_idempotency text, p_request_digest bytea, p_submitted text, p_decided text, p_requested text,
    p_approval text, p_requirements text, p_required integer, p_reason text, p_policy text, p_expires timestamptz,
    p_previous text, p_superseded text, p_most integer
) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    outcome text;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('headgate.room ' || p_org || p_agent, 0));
    BEGIN
        outcome := hold_action(
            p_org, p_generation, p_action, p_agent, p_key, p_source, p_tool, p_operation, p_digest, p_request, p_decision,
            p_risk, p_parent, p_created, p_idempotency, p_request_digest, p_submitted, p_decided, p_requested, p_approval,
            p_requirements, p_required, p_reason, p_policy, p_expires, p_previous, p_superseded);
        IF outcome = 'held' AND p_most < (
            SELECT count(*) FROM (SELECT FROM approvals a WHERE a.org_id = p_org AND a.agent_id = p_agent
            AND a.status = 'pending' AND a.expires_at > clock_timestamp() LIMIT p_most + 1) AS open_approvals
        ) THEN
            RAISE EXCEPTION SQLSTATE 'HG001';
        END IF;
    EXCEPTION WHEN SQLSTATE 'HG001' THEN
        RETURN 'full';
    END;
    RETURN outcome;
END $$;
CALL callable_by('hold_action_in_room', ARRAY['proxy', 'api']);
