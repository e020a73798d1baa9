-- Turns the kept call of an action into an execution with a job, in the transaction of the decision or the vote. Returns false if
-- no call is kept (the agent makes it), or it is queued already.
CREATE OR REPLACE FUNCTION queue_execution(p_org text, p_action text, p_execution text, p_at timestamptz, p_priority integer) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    UPDATE execution_calls SET state = 'queued', execution_id = p_execution, priority = p_priority, queued_at = p_at,
                               due_at = p_at, updated_at = p_at
    WHERE org_id = p_org AND action_id = p_action AND state = 'kept';
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    INSERT INTO executions (org_id, execution_id, action_id, status, attempts) VALUES (p_org, p_execution, p_action, 'queued', 0);
    PERFORM defer_job('executions', 'action.execute', p_org, p_execution, p_priority, NULL, NULL, 'execute ' || p_execution);
    RETURN true;
END $$;
CALL callable_by('queue_execution', ARRAY['api', 'worker']);
