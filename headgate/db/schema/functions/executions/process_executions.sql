-- Makes queued executions due now, in their order (p_execution null: all); returns how many.
CREATE OR REPLACE FUNCTION process_executions(p_org text, p_execution text, p_at timestamptz) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    waiting execution_calls;
    count integer := 0;
BEGIN
    FOR waiting IN SELECT * FROM execution_calls c WHERE c.org_id = p_org AND c.state = 'queued'
                   AND (p_execution IS NULL OR c.execution_id = p_execution) ORDER BY c.due_at FOR UPDATE LOOP
        UPDATE execution_calls c SET due_at = least(c.due_at, p_at) WHERE c.org_id = p_org AND c.action_id = waiting.action_id;
        -- Another name than that of the waiting job, which would prevent this one. That job finds nothing to do later.
        PERFORM defer_job('executions', 'action.execute', p_org, waiting.execution_id, waiting.priority, NULL, NULL,
                          'process ' || waiting.execution_id);
        count := count + 1;
    END LOOP;
    RETURN count;
END $$;
CALL callable_by('process_executions', ARRAY['api']);
