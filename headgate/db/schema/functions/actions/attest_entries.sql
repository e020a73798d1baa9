-- Appends what processes attest of their entries to the journal (headgate.actions.entry_lane): one row for each organization.
CREATE OR REPLACE FUNCTION attest_entries(p_org text[], p_entry bytea[]) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
    INSERT INTO journal (org_id, created_at, entries)
    SELECT a.org_id, clock_timestamp(), string_agg(a.entry, ''::bytea)
    FROM unnest(p_org, p_entry) AS a(org_id, entry) GROUP BY a.org_id
$$;
CALL callable_by('attest_entries', ARRAY['proxy', 'api', 'worker']);
