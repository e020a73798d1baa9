-- Moves bodies to kept_bodies. The caller has read them under lock in this transaction, and encrypted them. Returns how many.
CREATE OR REPLACE FUNCTION put_bodies_away(p_org text, p_action text[], p_key_id text[], p_wrapped bytea[], p_ciphertext bytea[])
RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    away text[];
BEGIN
    WITH moved AS (
        UPDATE actions a SET request = body_stub('kept'), body_state = 'kept'
        WHERE a.org_id = p_org AND a.action_id = ANY (p_action) AND a.body_state = 'clear'
        RETURNING a.action_id, a.approval_id, a.created_at
    ), keyed AS (
        INSERT INTO body_keys (org_id, action_id, kind, key_id, wrapped_key)
        SELECT p_org, u.action_id, 'action', u.key_id, u.wrapped_key
        FROM unnest(p_action, p_key_id, p_wrapped) AS u(action_id, key_id, wrapped_key) JOIN moved USING (action_id)
    ), stored AS (
        INSERT INTO kept_bodies (org_id, action_id, kind, made_at, ciphertext)
        SELECT p_org, u.action_id, 'action', m.created_at, u.ciphertext
        FROM unnest(p_action, p_ciphertext) AS u(action_id, ciphertext) JOIN moved m USING (action_id)
    ), edited AS (
        UPDATE approvals p SET edited_request = body_stub('kept')
        FROM moved m WHERE p.org_id = p_org AND p.approval_id = m.approval_id AND p.edited_request IS NOT NULL
    )
    SELECT array_agg(m.action_id) INTO away FROM moved m;
    UPDATE executions e SET result = NULL WHERE e.org_id = p_org AND e.action_id = ANY (away) AND e.result IS NOT NULL;
    RETURN coalesce(cardinality(away), 0);
END $$;
CALL callable_by('put_bodies_away', ARRAY['worker']);
