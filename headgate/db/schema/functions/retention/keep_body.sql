-- Keeps one more body of an action, encrypted by the caller. Returns false if the bodies were dropped or erased: this one is not
-- kept either.
CREATE OR REPLACE FUNCTION keep_body(p_org text, p_action text, p_kind text, p_key_id text, p_wrapped bytea, p_ciphertext bytea)
RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    made timestamptz;
BEGIN
    SELECT a.created_at INTO made FROM actions a
    WHERE a.org_id = p_org AND a.action_id = p_action AND a.body_state IN ('clear', 'kept') FOR SHARE;
    IF made IS NULL THEN
        RETURN false;
    END IF;
    DELETE FROM kept_bodies b WHERE b.org_id = p_org AND b.action_id = p_action AND b.kind = p_kind;
    DELETE FROM body_keys k WHERE k.org_id = p_org AND k.action_id = p_action AND k.kind = p_kind;
    INSERT INTO body_keys (org_id, action_id, kind, key_id, wrapped_key) VALUES (p_org, p_action, p_kind, p_key_id, p_wrapped);
    INSERT INTO kept_bodies (org_id, action_id, kind, made_at, ciphertext) VALUES (p_org, p_action, p_kind, made, p_ciphertext);
    RETURN true;
END $$;
CALL callable_by('keep_body', ARRAY['worker', 'api']);
