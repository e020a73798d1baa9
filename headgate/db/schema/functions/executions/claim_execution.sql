-- Claims an attempt before the first byte is sent. p_generation: of the policies that just decided again. Returns:
--   claimed
--   stale
--   gone     the execution does not wait any more
--   refused  its approval is not usable, or its agent is not active
--   busy     wait_seconds: until its time, or for the destination's breaker, rate or concurrency
CREATE OR REPLACE FUNCTION claim_execution(
    p_org text, p_execution text, p_generation bigint, p_instance text, p_at timestamptz, p_redecided text, p_started text,
    p_agent_most integer, p_destination_most integer, p_per_second double precision, p_breaker_failures integer
) RETURNS TABLE (outcome text, wait_seconds double precision, attempt integer)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    waiting execution_calls;
    approval approvals;
    target destinations;
    moment timestamptz := clock_timestamp();
    pause interval := make_interval(secs => 1 / p_per_second);
BEGIN
    outcome := 'gone'; wait_seconds := 0; attempt := 0;
    SELECT * INTO waiting FROM execution_calls c WHERE c.org_id = p_org AND c.execution_id = p_execution FOR UPDATE;
    IF waiting.state IS DISTINCT FROM 'queued' THEN
        RETURN NEXT; RETURN;
    END IF;
    IF waiting.due_at > moment + interval '50 milliseconds' THEN
        outcome := 'busy'; wait_seconds := extract(epoch FROM waiting.due_at - moment);
        RETURN NEXT; RETURN;
    END IF;
    IF NOT EXISTS (SELECT FROM agents a WHERE a.org_id = p_org AND a.agent_id = waiting.agent_id AND a.status = 'active') THEN
        outcome := 'refused';
        RETURN NEXT; RETURN;
    END IF;
    IF NOT EXISTS (SELECT FROM org_state s WHERE s.org_id = p_org AND s.generation = p_generation) THEN
        outcome := 'stale';
        RETURN NEXT; RETURN;
    END IF;
    SELECT p.* INTO approval FROM actions a JOIN approvals p ON p.org_id = a.org_id AND p.approval_id = a.approval_id
    WHERE a.org_id = p_org AND a.action_id = waiting.action_id FOR UPDATE OF p;
    IF approval.approval_id IS NOT NULL AND approval.used_by IS DISTINCT FROM p_execution
       AND (approval.status <> 'approved' OR approval.used_at IS NOT NULL
            OR moment >= approval_use_ends(approval.expires_at, approval.decided_at)) THEN
        outcome := 'refused';
        RETURN NEXT; RETURN;
    END IF;
    -- The lock serializes claims of one destination, so that the counts are exact.
    INSERT INTO destinations (org_id, destination) VALUES (p_org, waiting.destination) ON CONFLICT DO NOTHING;
    SELECT * INTO target FROM destinations d WHERE d.org_id = p_org AND d.destination = waiting.destination FOR UPDATE;
    moment := clock_timestamp();
    outcome := 'busy';
    IF target.open_until > moment THEN
        wait_seconds := extract(epoch FROM target.open_until - moment);
        RETURN NEXT; RETURN;
    END IF;
    IF target.caught_up_at > moment + greatest(interval '1 second', pause) THEN
        wait_seconds := extract(epoch FROM target.caught_up_at - moment - interval '1 second');
        RETURN NEXT; RETURN;
    END IF;
    wait_seconds := 0.25;
    PERFORM pg_advisory_xact_lock(hashtextextended('headgate.executions ' || p_org || waiting.agent_id, 0));
    IF (SELECT count(*) FROM execution_calls c WHERE c.org_id = p_org AND c.destination = waiting.destination AND c.state = 'running')
           -- Half open: one call probes the destination.
           >= (CASE WHEN target.failures >= p_breaker_failures THEN 1 ELSE p_destination_most END)
       OR (SELECT count(*) FROM execution_calls c WHERE c.org_id = p_org AND c.agent_id = waiting.agent_id AND c.state = 'running')
           >= p_agent_most THEN
        RETURN NEXT; RETURN;
    END IF;
    UPDATE destinations d SET caught_up_at = greatest(d.caught_up_at, moment) + pause, updated_at = moment
    WHERE d.org_id = p_org AND d.destination = waiting.destination;
    UPDATE execution_calls c SET state = 'running', updated_at = p_at WHERE c.org_id = p_org AND c.action_id = waiting.action_id;
    UPDATE executions e SET status = 'running', instance_id = p_instance, attempts = e.attempts + 1, started_at = p_at,
                            completed_at = NULL, error = NULL, result = NULL
    WHERE e.org_id = p_org AND e.execution_id = p_execution RETURNING e.attempts INTO attempt;
    UPDATE actions a SET status = 'executing', updated_at = p_at WHERE a.org_id = p_org AND a.action_id = waiting.action_id;
    IF approval.approval_id IS NOT NULL THEN
        UPDATE approvals p SET used_at = coalesce(p.used_at, moment), used_by = p_execution
        WHERE p.org_id = p_org AND p.approval_id = approval.approval_id;
    END IF;
    INSERT INTO journal (org_id, event_type, action_id, agent_id, created_at, payload)
    VALUES (p_org, 'decision.made', waiting.action_id, waiting.agent_id, p_at, p_redecided),
           (p_org, 'execution.started', waiting.action_id, waiting.agent_id, p_at, p_started);
    outcome := 'claimed'; wait_seconds := 0;
    RETURN NEXT;
END $$;
CALL callable_by('claim_execution', ARRAY['worker']);
