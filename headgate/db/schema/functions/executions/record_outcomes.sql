-- Appends how executions ended, with their events; returns how many were accepted. An execution ends once: an outcome that is
-- recorded already, by a retry after a lost answer or by the worker, is left out. Settings: as record_actions.
--   p_give_back  nothing was sent: the approval or exemption may be used again (semantics.md, "Retry, use, expiry"); null: none used
--   p_withheld   payload of the event that a content policy withheld the response; null: it did not
CREATE OR REPLACE FUNCTION record_outcomes(
    p_org text[], p_execution text[], p_action text[], p_agent text[], p_succeeded boolean[], p_completed timestamptz[],
    p_error text[], p_result text[], p_payload text[], p_give_back text[], p_withheld text[] DEFAULT NULL
) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    inserted_ids text[];
    taken text[];
    given record;
BEGIN
    WITH inserted AS (
        INSERT INTO execution_outcomes AS x (org_id, execution_id, action_id, succeeded, completed_at, error, result)
        SELECT t.org_id, t.execution_id, t.action_id, t.succeeded, t.completed_at, t.error, t.result
        FROM unnest(p_org, p_execution, p_action, p_succeeded, p_completed, p_error, p_result)
            AS t(org_id, execution_id, action_id, succeeded, completed_at, error, result)
        ON CONFLICT DO NOTHING
        RETURNING x.execution_id
    )
    SELECT coalesce(array_agg(i.execution_id), '{}') INTO inserted_ids FROM inserted i;

    -- A statement of its own, after the insert: the insert waits for an outcome that is being applied, and only a later
    -- statement sees that its execution has ended. Not "status = 'running'": the planner would scan all running executions.
    SELECT coalesce(array_agg(t.execution_id), '{}') INTO taken
    FROM unnest(p_org, p_execution) AS t(org_id, execution_id)
    WHERE (cardinality(inserted_ids) = cardinality(p_execution) OR t.execution_id = ANY (inserted_ids))
      AND EXISTS (SELECT FROM executions e
                  WHERE e.org_id = t.org_id AND e.execution_id = t.execution_id AND e.completed_at IS NULL);
    IF cardinality(taken) < cardinality(inserted_ids) THEN
        DELETE FROM execution_outcomes o USING unnest(p_org, p_execution) AS t(org_id, execution_id)
        WHERE t.execution_id = ANY (inserted_ids) AND NOT t.execution_id = ANY (taken)
          AND o.org_id = t.org_id AND o.execution_id = t.execution_id;
    END IF;

    IF cardinality(array_remove(p_withheld, NULL)) > 0 THEN
        INSERT INTO audit_inbox (org_id, event_type, action_id, agent_id, created_at, payload)
        SELECT t.org_id, 'response.withheld', t.action_id, t.agent_id, t.completed_at, t.withheld
        FROM unnest(p_org, p_execution, p_action, p_agent, p_completed, p_withheld)
            AS t(org_id, execution_id, action_id, agent_id, completed_at, withheld)
        WHERE t.withheld IS NOT NULL AND t.execution_id = ANY (taken);
    END IF;

    INSERT INTO audit_inbox (org_id, event_type, action_id, agent_id, created_at, payload)
    SELECT t.org_id, CASE WHEN t.succeeded THEN 'execution.completed' ELSE 'execution.failed' END,
           t.action_id, t.agent_id, t.completed_at, t.payload
    FROM unnest(p_org, p_execution, p_action, p_agent, p_succeeded, p_completed, p_payload)
        AS t(org_id, execution_id, action_id, agent_id, succeeded, completed_at, payload)
    WHERE cardinality(taken) = cardinality(p_execution) OR t.execution_id = ANY (taken);

    IF cardinality(array_remove(p_give_back, NULL)) > 0 THEN
        UPDATE approvals a SET used_at = NULL, used_by = NULL
        FROM unnest(p_org, p_execution, p_give_back) AS t(org_id, execution_id, give_back)
        WHERE t.give_back IS NOT NULL AND a.org_id = t.org_id AND a.approval_id = t.give_back AND a.used_by = t.execution_id
          AND t.execution_id = ANY (taken);
        -- Uses of grants and break-glass.
        FOR given IN SELECT t.org_id, t.execution_id, t.action_id, t.completed_at, t.give_back
                     FROM unnest(p_org, p_execution, p_action, p_completed, p_give_back)
                         AS t(org_id, execution_id, action_id, completed_at, give_back)
                     WHERE (t.give_back LIKE 'grt\_%' OR t.give_back LIKE 'brk\_%') AND t.execution_id = ANY (taken)
                     ORDER BY t.org_id, t.give_back LOOP
            PERFORM give_back_exemption(given.org_id, given.give_back, given.action_id, given.execution_id, given.completed_at);
        END LOOP;
    END IF;
    RETURN cardinality(taken);
END $$;
CALL callable_by('record_outcomes', ARRAY['proxy', 'worker']);
