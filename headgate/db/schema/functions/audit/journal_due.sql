-- Returns the organizations with rows in the journal, in random order, so that a busy one does not delay the others. It goes from one
-- organization of the journal's key to the next: its cost does not grow with the organizations that have nothing there.
CREATE OR REPLACE FUNCTION journal_due() RETURNS TABLE (org_id text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off AS $$
    WITH RECURSIVE due AS (
        (SELECT j.org_id FROM journal j ORDER BY j.org_id LIMIT 1)
        UNION ALL
        SELECT (SELECT j.org_id FROM journal j WHERE j.org_id > d.org_id ORDER BY j.org_id LIMIT 1)
        FROM due d WHERE d.org_id IS NOT NULL
    )
    SELECT d.org_id FROM due d WHERE d.org_id IS NOT NULL ORDER BY random()
$$;
CALL callable_by('journal_due', ARRAY['worker']);
