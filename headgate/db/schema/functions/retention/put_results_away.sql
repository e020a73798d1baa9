-- Replaces a kept body with one that contains later results too, from a retry or an agent's report. The caller has read these under
-- lock in this transaction. Returns false if the bodies were erased since.
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
