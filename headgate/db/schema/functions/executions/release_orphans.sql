-- Releases attempts whose process is dead. It checks each again: another worker may have closed it since, and begun the next
-- attempt. An idempotent call with attempts left waits again, at once. Returns the executions that the caller must end as failed,
-- with those of calls that agents sent themselves.
CREATE OR REPLACE FUNCTION release_orphans(
    p_org text, p_executions text[], p_instances text[], p_started timestamptz[], p_most_attempts integer,
    p_at timestamptz, p_payload text
) RETURNS text[]
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    to_end text[] := '{}';
    orphan record;
    lost execution_calls;
    attempt integer;
BEGIN
    FOR orphan IN SELECT * FROM unnest(p_executions, p_instances, p_started) AS t(execution_id, instance_id, started_at)
                  ORDER BY t.execution_id LOOP
        SELECT * INTO lost FROM execution_calls c
        WHERE c.org_id = p_org AND c.execution_id = orphan.execution_id FOR UPDATE;
        SELECT e.attempts INTO attempt FROM executions e
        WHERE e.org_id = p_org AND e.execution_id = orphan.execution_id AND e.status = 'running'
          AND e.instance_id IS NOT DISTINCT FROM orphan.instance_id AND e.started_at = orphan.started_at;
        CONTINUE WHEN NOT FOUND;
        IF lost.action_id IS NULL THEN
            to_end := to_end || orphan.execution_id;
        ELSIF lost.state = 'running' THEN
            IF lost.repeatable AND attempt < p_most_attempts THEN
                PERFORM settle_execution(p_org, orphan.execution_id, 'running', p_at, false, NULL, NULL, p_payload, p_at,
                                         NULL, 1, 1);
            ELSE
                UPDATE execution_calls c SET state = 'failed', may_be_sent = true, updated_at = p_at
                WHERE c.org_id = p_org AND c.execution_id = orphan.execution_id;
                to_end := to_end || orphan.execution_id;
            END IF;
        END IF;
    END LOOP;
    RETURN to_end;
END $$;
CALL callable_by('release_orphans', ARRAY['worker']);
