-- In place of what was put away before, encrypted anew by the caller together with what came since, from a retry or
-- from an agent's own report, which is read under lock in this transaction. False: the action's bodies have been forgotten meanwhile.
CREATE OR REPLACE FUNCTION put_results_away(p_org text, p_action text, p_key_id text, p_wrapped bytea, p_ciphertext bytea) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    IF NOT keep_body(p_org, p_action, 'action', p_key_id, p_wrapped, p_ciphertext) THEN
        RETURN false;
    END IF;
    UPDATE executions e SET result = NULL WHERE e.org_id = p_org AND e.action_id = p_action AND e.result IS NOT NULL;
    RETURN true;
END $$;
CALL callable_by('put_results_away', ARRAY['worker']);
