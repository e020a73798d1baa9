-- Deletes the kept call of an approval that a reviewer edited.
CREATE OR REPLACE FUNCTION forget_kept_call(p_org text, p_action text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    DELETE FROM execution_calls c WHERE c.org_id = p_org AND c.action_id = p_action AND c.state = 'kept';
END $$;
CALL callable_by('forget_kept_call', ARRAY['api']);
