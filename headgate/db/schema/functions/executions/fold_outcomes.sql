-- Applies outcomes to executions and actions; returns how many. Actions change by the transition table of
-- headgate.actions.model. If the use of an approval was given back, its action waits for the next use. Row by row, by primary
-- key: a join is planned while the tables are small, and later reads all rows of the organization.
CREATE OR REPLACE FUNCTION fold_outcomes(p_org text, p_limit integer) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
    ended execution_outcomes[];
    outcome execution_outcomes;
BEGIN
    IF NOT pg_try_advisory_xact_lock(hashtextextended('headgate.fold ' || p_org, 0)) THEN
        RETURN 0;
    END IF;
    SELECT array_agg(o) INTO ended
    FROM (SELECT x FROM execution_outcomes x WHERE x.org_id = p_org ORDER BY x.execution_id LIMIT p_limit) AS t(o);
    IF ended IS NULL THEN
        RETURN 0;
    END IF;
    FOREACH outcome IN ARRAY ended LOOP
        DELETE FROM execution_outcomes o WHERE o.org_id = p_org AND o.execution_id = outcome.execution_id;
        UPDATE executions e SET status = CASE WHEN outcome.succeeded THEN 'succeeded' ELSE 'failed' END,
                                completed_at = outcome.completed_at, error = outcome.error, result = outcome.result
        WHERE e.org_id = p_org AND e.execution_id = outcome.execution_id AND e.completed_at IS NULL;
        UPDATE actions a SET updated_at = outcome.completed_at, status = CASE
            WHEN outcome.succeeded THEN 'completed'
            WHEN a.approval_id IS NULL THEN 'failed'
            WHEN EXISTS (SELECT FROM approvals p WHERE p.org_id = p_org AND p.approval_id = a.approval_id
                         AND p.status = 'approved' AND p.used_at IS NULL) THEN 'approved'
            ELSE 'failed' END
        WHERE a.org_id = p_org AND a.action_id = outcome.action_id AND a.status = 'executing'
          -- Given back and used again before this was applied: the later use decides how the action ends.
          AND (a.approval_id IS NULL
               OR NOT EXISTS (SELECT FROM approvals p WHERE p.org_id = p_org AND p.approval_id = a.approval_id
                              AND p.used_by <> outcome.execution_id));
    END LOOP;
    RETURN cardinality(ended);
END $$;
CALL callable_by('fold_outcomes', ARRAY['api', 'worker']);
