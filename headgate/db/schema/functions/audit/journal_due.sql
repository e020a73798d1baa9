-- Returns the organizations with rows in the journal, in random order, so that a busy one does not delay the others.
CREATE OR REPLACE FUNCTION journal_due() RETURNS TABLE (org_id text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp SET enable_seqscan = off SET enable_hashjoin = off
SET enable_mergejoin = off SET enable_bitmapscan = off AS $$
    SELECT o.org_id FROM organizations o WHERE EXISTS (SELECT FROM journal j WHERE j.org_id = o.org_id) ORDER BY random()
$$;
CALL callable_by('journal_due', ARRAY['worker']);
