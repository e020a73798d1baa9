-- Ends running executions and their actions; returns the executions that were ended now. An execution ends once: one that has ended
-- already, or does not exist, is left out. Actions change by the transition table of headgate.actions.model. If the use of an
-- approval was given back, its action waits for the next use. Row by row, by primary key: a join is planned while the tables are
-- small, and later reads all rows of the organization.
CREATE OR REPLACE FUNCTION end_executions(
    p_org text, p_execution text[], p_succeeded boolean[], p_completed timestamptz[], p_error text[], p_result text[]
) RETURNS text[]
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
    outcome record;
    ended_action text;
    ended text[] := '{}';
BEGIN
    FOR outcome IN SELECT * FROM unnest(p_execution, p_succeeded, p_completed, p_error, p_result)
                       WITH ORDINALITY AS t(execution_id, succeeded, completed_at, error, result, position)
                   ORDER BY t.position LOOP
        UPDATE executions e SET status = CASE WHEN outcome.succeeded THEN 'succeeded' ELSE 'failed' END,
                                completed_at = outcome.completed_at, error = outcome.error, result = outcome.result
        WHERE e.org_id = p_org AND e.execution_id = outcome.execution_id AND e.completed_at IS NULL
        RETURNING e.action_id INTO ended_action;
        CONTINUE WHEN NOT FOUND;
        ended := ended || outcome.execution_id;
        UPDATE actions a SET updated_at = outcome.completed_at, status = CASE
            WHEN outcome.succeeded THEN 'completed'
            WHEN a.approval_id IS NULL THEN 'failed'
            WHEN EXISTS (SELECT FROM approvals p WHERE p.org_id = p_org AND p.approval_id = a.approval_id
                         AND p.status = 'approved' AND p.used_at IS NULL) THEN 'approved'
            ELSE 'failed' END
        WHERE a.org_id = p_org AND a.action_id = ended_action AND a.status = 'executing'
          -- Given back and used again before this was applied: the later use decides how the action ends.
          AND (a.approval_id IS NULL
               OR NOT EXISTS (SELECT FROM approvals p WHERE p.org_id = p_org AND p.approval_id = a.approval_id
                              AND p.used_by <> outcome.execution_id));
    END LOOP;
    RETURN ended;
END $$;
CALL callable_by('end_executions', ARRAY['api', 'worker']);
