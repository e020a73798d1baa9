-- Returns how many rows of the journal are signed under a master key, over all organizations, by the key's mark: bytes 45 to 48 of an
-- entry (headgate.actions.entry_lane). One signer signs all entries of a row.
CREATE OR REPLACE FUNCTION journal_under_key(p_mark bytea) RETURNS bigint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT count(*) FROM journal j WHERE substring(j.entries FROM 45 FOR 4) = p_mark
$$;
CALL callable_by('journal_under_key', ARRAY['api']);
