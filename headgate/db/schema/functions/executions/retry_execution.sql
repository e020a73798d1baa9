-- Queues a failed execution again, by a person's order. Returns: queued | gone (not failed) | forgotten (its call was deleted).
CREATE OR REPLACE FUNCTION retry_execution(p_org text, p_execution text, p_at timestamptz, p_reset boolean, p_payload text) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    kept execution_calls;
BEGIN
    SELECT * INTO kept FROM execution_calls c WHERE c.org_id = p_org AND c.execution_id = p_execution FOR UPDATE;
    IF NOT EXISTS (SELECT FROM executions e WHERE e.org_id = p_org AND e.execution_id = p_execution AND e.status = 'failed')
       OR (kept.action_id IS NOT NULL AND kept.state <> 'failed') THEN
        RETURN 'gone';
    END IF;
    IF kept.action_id IS NULL THEN
        RETURN 'forgotten';
    END IF;
    UPDATE execution_calls c SET state = 'queued', queued_at = p_at, due_at = p_at, updated_at = p_at
    WHERE c.org_id = p_org AND c.action_id = kept.action_id;
    UPDATE executions e SET status = 'queued', instance_id = NULL, completed_at = NULL,
                            attempts = CASE WHEN p_reset THEN 0 ELSE e.attempts END
    WHERE e.org_id = p_org AND e.execution_id = p_execution;
    UPDATE actions a SET status = 'executing', updated_at = p_at WHERE a.org_id = p_org AND a.action_id = kept.action_id;
    -- The retention task has passed it, and must process it again.
    INSERT INTO retention_waiting (org_id, task, action_id)
    SELECT p_org, 'encrypt', a.action_id FROM actions a
    WHERE a.org_id = p_org AND a.action_id = kept.action_id AND a.body_state = 'kept'
    ON CONFLICT DO NOTHING;
    INSERT INTO journal (org_id, event_type, action_id, agent_id, created_at, payload)
    VALUES (p_org, 'execution.retried', kept.action_id, kept.agent_id, p_at, p_payload);
    PERFORM defer_job('executions', 'action.execute', p_org, p_execution, kept.priority, NULL, NULL, 'execute ' || p_execution);
    RETURN 'queued';
END $$;
CALL callable_by('retry_execution', ARRAY['api']);
