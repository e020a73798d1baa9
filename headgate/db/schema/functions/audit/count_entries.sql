-- Keeps how many entries of each writer were applied. The caller holds the chain's lock.
CREATE OR REPLACE FUNCTION count_entries(
    p_org text, p_writer bytea[], p_applied bigint[], p_digest bytea[], p_before bigint[], p_position bigint[], p_missing bigint[],
    p_mark bytea[], p_code bytea[]
) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
    INSERT INTO journal_writers AS w (org_id, writer, applied, digest, before, position, missing, mark, code)
    SELECT p_org, c.* FROM unnest(p_writer, p_applied, p_digest, p_before, p_position, p_missing, p_mark, p_code) AS c
    ON CONFLICT (org_id, writer) DO UPDATE
    SET applied = excluded.applied, digest = excluded.digest, before = excluded.before, position = excluded.position,
        missing = excluded.missing, mark = excluded.mark, code = excluded.code, applied_at = clock_timestamp()
$$;
CALL callable_by('count_entries', ARRAY['api', 'worker']);
