-- Returns how many rows of the journal, and how many entries that were set aside, are signed under a master key, over all
-- organizations, by the key's mark: bytes 45 to 48 of an entry (headgate.actions.entry_lane). One signer signs all entries of a row. A
-- single event that was set aside has no mark.
CREATE OR REPLACE FUNCTION journal_under_key(p_mark bytea, OUT waiting bigint, OUT set_aside bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT (SELECT count(*) FROM journal j WHERE substring(j.entries FROM 45 FOR 4) = p_mark),
           (SELECT count(*) FROM journal_set_aside a WHERE NOT a.is_event AND substring(a.entry FROM 45 FOR 4) = p_mark)
$$;
CALL callable_by('journal_under_key', ARRAY['api']);
