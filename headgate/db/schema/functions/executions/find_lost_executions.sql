-- Adds a job for each queued execution that is overdue and has none; returns how many. A safety net for lost jobs.
CREATE OR REPLACE FUNCTION find_lost_executions() RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    lost execution_calls;
    count integer := 0;
BEGIN
    FOR lost IN SELECT * FROM execution_calls c WHERE c.state = 'queued' AND c.due_at < clock_timestamp() - interval '2 minutes' LIMIT 500 LOOP
        IF defer_job('executions', 'action.execute', lost.org_id, lost.execution_id, lost.priority, NULL, NULL, 'execute ' || lost.execution_id) THEN
            count := count + 1;
        END IF;
    END LOOP;
    RETURN count;
END $$;
CALL callable_by('find_lost_executions', ARRAY['worker']);
