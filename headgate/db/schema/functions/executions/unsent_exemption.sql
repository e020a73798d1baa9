-- Returns the grant or break-glass that let an execution through which is about to fail and was never sent, if its use is not
-- given back. The call stays locked for the transaction.
CREATE OR REPLACE FUNCTION unsent_exemption(p_org text, p_execution text, p_state text) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    unsent execution_calls;
BEGIN
    SELECT * INTO unsent FROM execution_calls c
    WHERE c.org_id = p_org AND c.execution_id = p_execution AND c.state = p_state AND NOT c.may_be_sent FOR UPDATE;
    RETURN coalesce(
        (SELECT u.grant_id FROM grant_uses u
         WHERE u.org_id = p_org AND u.action_id = unsent.action_id AND u.given_back_at IS NULL),
        (SELECT b.pass_id FROM break_glass b WHERE b.org_id = p_org AND b.used_action_id = unsent.action_id));
END $$;
CALL callable_by('unsent_exemption', ARRAY['worker', 'api']);
