-- Keeps that single events of the journal were applied, as codes (headgate.journal.applied_events). The caller holds the chain's lock.
CREATE OR REPLACE FUNCTION keep_applied_events(p_org text, p_code bytea[]) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
    INSERT INTO journal_applied (org_id, code) SELECT p_org, c.code FROM unnest(p_code) AS c(code) ON CONFLICT DO NOTHING
$$;
CALL callable_by('keep_applied_events', ARRAY['api', 'worker']);
