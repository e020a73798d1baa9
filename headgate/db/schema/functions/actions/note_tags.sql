-- Labels actions with tags, each once. Arrays are parallel. The caller holds the lock of the organization's chain.
CREATE OR REPLACE FUNCTION note_tags(p_org text, p_action text[], p_tag text[]) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
    INSERT INTO action_tags (org_id, action_id, tag)
    SELECT p_org, n.action_id, n.tag FROM unnest(p_action, p_tag) AS n(action_id, tag) ON CONFLICT DO NOTHING
$$;
CALL callable_by('note_tags', ARRAY['api', 'worker']);
