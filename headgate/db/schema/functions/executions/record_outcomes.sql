-- Appends how executions ended to the journal, with their events. The applier takes the first outcome of an execution and leaves out
-- every later one: a retry after a lost answer, or the worker's for a process that it took for dead. If nothing was sent, the use
-- of an approval or exemption is given back at once (semantics.md, "Retry, use, expiry"), and the execution ends at once:
-- its rows exist, as the use wrote them. Returns which rows were given back, from 1, separated by commas. Settings: as record_actions.
--   p_give_back  the approval or exemption whose use is given back; null: none
--   p_payload    of the event that the execution ended so
CREATE OR REPLACE FUNCTION record_outcomes(
    p_org text[], p_execution text[], p_action text[], p_agent text[], p_completed timestamptz[], p_error text[], p_result text[],
    p_payload text[], p_give_back text[], p_entry bytea[]
) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    given record;
    given_back bigint[] := '{}';
BEGIN
    INSERT INTO journal (org_id, created_at, entries)
    SELECT t.org_id, clock_timestamp(), string_agg(t.entry, ''::bytea ORDER BY t.position)
    FROM unnest(p_org, p_entry, p_give_back) WITH ORDINALITY AS t(org_id, entry, give_back, position)
    WHERE t.give_back IS NULL GROUP BY t.org_id;

    IF cardinality(array_remove(p_give_back, NULL)) > 0 THEN
        FOR given IN SELECT * FROM unnest(p_org, p_execution, p_action, p_agent, p_completed, p_error, p_result, p_payload,
                                            p_give_back) WITH ORDINALITY
                         AS t(org_id, execution_id, action_id, agent_id, completed_at, error, result, payload, give_back, position)
                     WHERE t.give_back IS NOT NULL ORDER BY t.org_id, t.give_back LOOP
            -- Locked as a use locks them: first the approval or exemption, then the execution.
            PERFORM FROM approvals a WHERE a.org_id = given.org_id AND a.approval_id = given.give_back FOR UPDATE;
            PERFORM FROM executions e WHERE e.org_id = given.org_id AND e.execution_id = given.execution_id
                                        AND e.completed_at IS NULL FOR UPDATE;
            CONTINUE WHEN NOT FOUND;
            UPDATE approvals a SET used_at = NULL, used_by = NULL
            WHERE a.org_id = given.org_id AND a.approval_id = given.give_back AND a.used_by = given.execution_id;
            IF given.give_back LIKE 'grt\_%' OR given.give_back LIKE 'brk\_%' THEN
                PERFORM give_back_exemption(given.org_id, given.give_back, given.action_id, given.execution_id,
                                            given.completed_at);
            END IF;
            PERFORM end_executions(given.org_id, ARRAY[given.execution_id], ARRAY[false], ARRAY[given.completed_at],
                                   ARRAY[given.error], ARRAY[given.result]);
            INSERT INTO journal (org_id, event_type, action_id, agent_id, created_at, payload)
            VALUES (given.org_id, 'execution.failed', given.action_id, given.agent_id, given.completed_at, given.payload);
            given_back := given_back || given.position;
        END LOOP;
    END IF;
    RETURN array_to_string(given_back, ',');
END $$;
CALL callable_by('record_outcomes', ARRAY['proxy']);
