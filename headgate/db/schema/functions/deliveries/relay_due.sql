-- Returns consumers with events to read: sealed after their cursor, or about to be sealed.
CREATE OR REPLACE FUNCTION relay_due() RETURNS TABLE (org_id text, consumer text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp SET enable_seqscan = off AS $$
    SELECT c.org_id, c.consumer FROM event_cursors c
    WHERE EXISTS (SELECT FROM audit_chain a WHERE a.org_id = c.org_id AND a.seq > c.seq)
       OR EXISTS (SELECT FROM journal i WHERE i.org_id = c.org_id)
    ORDER BY random()
$$;
CALL callable_by('relay_due', ARRAY['worker']);
