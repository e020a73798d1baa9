-- Returns running executions whose process is dead (no row, or no heartbeat for p_dead_after) or no longer has them in flight.
-- p_grace: for executions that are being recorded. What an agent has taken to carry out by itself has no process: it is given up
-- after a day.
CREATE OR REPLACE FUNCTION executions_orphaned_due(p_dead_after interval, p_grace interval)
RETURNS TABLE (org_id text, execution_id text, instance_id text, started_at timestamptz)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT e.org_id, e.execution_id, e.instance_id, e.started_at
    FROM executions e LEFT JOIN instances i ON i.instance_id = e.instance_id
    WHERE e.status = 'running'
      AND (e.instance_id IS NOT NULL OR e.started_at < clock_timestamp() - interval '1 day')
      AND (i.instance_id IS NULL
           OR i.heartbeat_at < clock_timestamp() - p_dead_after
           OR e.started_at < least(i.oldest_in_flight_started_at, i.heartbeat_at) - p_grace)
      AND e.started_at < clock_timestamp() - p_grace
    LIMIT 1000
$$;
CALL callable_by('executions_orphaned_due', ARRAY['worker']);
