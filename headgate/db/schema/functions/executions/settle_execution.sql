-- Ends an attempt, or an execution that is not tried. Returns its action and agent; nothing if it was ended by another process:
-- nothing was written.
--   p_state              its state: running for an attempt, queued for one that is not tried
--   p_due                it waits again until then; null: it has ended
--   p_healthy            whether the destination was reached; null: not contacted
--   p_withheld           payload of the event that content policies withheld the response
--   p_nothing_sent       not a byte of this attempt was sent
--   p_give_back          what unsent_exemption returned
--   p_instance, p_started  process and start of the attempt. They identify it: the number of an attempt begins anew if a person
--                        retries with all attempts
CREATE OR REPLACE FUNCTION settle_execution(
    p_org text, p_execution text, p_state text, p_at timestamptz, p_succeeded boolean, p_error text, p_result text,
    p_payload text, p_due timestamptz, p_healthy boolean, p_breaker_failures integer, p_breaker_seconds integer,
    p_withheld text DEFAULT NULL, p_nothing_sent boolean DEFAULT false, p_give_back text DEFAULT NULL,
    p_instance text DEFAULT NULL, p_started timestamptz DEFAULT NULL
) RETURNS TABLE (of_action text, of_agent text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    ended execution_calls;
BEGIN
    SELECT * INTO ended FROM execution_calls c
    WHERE c.org_id = p_org AND c.execution_id = p_execution AND c.state = p_state FOR UPDATE;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    of_action := ended.action_id;
    of_agent := ended.agent_id;
    -- A worker that stalled and was taken for dead ends its own attempt, never the next one.
    IF p_instance IS NOT NULL AND NOT EXISTS (
        SELECT FROM executions e WHERE e.org_id = p_org AND e.execution_id = p_execution
          AND e.instance_id = p_instance AND e.started_at = p_started) THEN
        RETURN;
    END IF;
    IF p_healthy IS NOT NULL THEN
        UPDATE destinations d SET
            failures = CASE WHEN p_healthy THEN 0 ELSE d.failures + 1 END,
            open_until = CASE WHEN p_healthy OR d.failures + 1 < p_breaker_failures THEN NULL ELSE clock_timestamp()
                + make_interval(secs => p_breaker_seconds * 2 ^ least(d.failures + 1 - p_breaker_failures, 5)) END,
            updated_at = clock_timestamp()
        WHERE d.org_id = p_org AND d.destination = ended.destination
          AND (NOT p_healthy OR d.failures > 0 OR d.open_until IS NOT NULL);
    END IF;
    IF p_withheld IS NOT NULL THEN
        INSERT INTO journal (org_id, event_type, action_id, agent_id, created_at, payload)
        VALUES (p_org, 'response.withheld', ended.action_id, ended.agent_id, p_at, p_withheld);
    END IF;
    INSERT INTO journal (org_id, event_type, action_id, agent_id, created_at, payload)
    VALUES (p_org, CASE WHEN p_due IS NOT NULL THEN 'execution.rescheduled' WHEN p_succeeded THEN 'execution.completed'
                        ELSE 'execution.failed' END, ended.action_id, ended.agent_id, p_at, p_payload);
    IF p_due IS NOT NULL THEN
        UPDATE execution_calls c SET state = 'queued', due_at = p_due, updated_at = p_at,
                                     may_be_sent = c.may_be_sent OR (p_state = 'running' AND NOT p_nothing_sent)
        WHERE c.org_id = p_org AND c.action_id = ended.action_id;
        UPDATE executions e SET status = 'queued', instance_id = NULL, error = p_error, result = p_result
        WHERE e.org_id = p_org AND e.execution_id = p_execution;
        PERFORM defer_job('executions', 'action.execute', p_org, p_execution, ended.priority, p_due, NULL, 'execute ' || p_execution);
        RETURN NEXT;
        RETURN;
    END IF;
    UPDATE executions e SET status = CASE WHEN p_succeeded THEN 'succeeded' ELSE 'failed' END, completed_at = p_at,
                            started_at = coalesce(e.started_at, p_at), error = p_error, result = p_result
    WHERE e.org_id = p_org AND e.execution_id = p_execution;
    UPDATE actions a SET status = CASE WHEN p_succeeded THEN 'completed' ELSE 'failed' END, updated_at = p_at
    WHERE a.org_id = p_org AND a.action_id = ended.action_id;
    IF p_succeeded THEN
        DELETE FROM execution_calls c WHERE c.org_id = p_org AND c.action_id = ended.action_id;
        DELETE FROM vault_secrets v WHERE v.org_id = p_org AND v.name = 'call/' || ended.action_id;
    ELSE
        UPDATE execution_calls c SET state = 'failed', updated_at = p_at,
                                     may_be_sent = c.may_be_sent OR (p_state = 'running' AND NOT p_nothing_sent)
        WHERE c.org_id = p_org AND c.action_id = ended.action_id;
        IF p_give_back IS NOT NULL THEN
            PERFORM give_back_exemption(p_org, p_give_back, ended.action_id, NULL, p_at);
        END IF;
    END IF;
    RETURN NEXT;
END $$;
CALL callable_by('settle_execution', ARRAY['worker']);
