-- Keeps an entry that could not be applied, with the reason. The caller's transaction deletes its row of the journal.
CREATE OR REPLACE FUNCTION set_aside_entry(
    p_org text, p_journal bigint, p_position integer, p_entry bytea, p_failure text, p_event boolean
) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
    INSERT INTO journal_set_aside (org_id, journal_id, position, is_event, entry, failure)
    VALUES (p_org, p_journal, p_position, p_event, p_entry, p_failure)
$$;
CALL callable_by('set_aside_entry', ARRAY['api', 'worker']);
