-- Deletes an entry that was set aside. The caller holds the chain's lock, and applies the entry in the same transaction.
CREATE OR REPLACE FUNCTION take_set_aside(p_org text, p_journal bigint, p_position integer) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
    DELETE FROM journal_set_aside s WHERE s.org_id = p_org AND s.journal_id = p_journal AND s.position = p_position
$$;
CALL callable_by('take_set_aside', ARRAY['api']);
