-- Returns the generations of the organizations that a process has in memory, in one query.
CREATE OR REPLACE FUNCTION generations(p_org text[]) RETURNS TABLE (org_id text, generation bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT s.org_id, s.generation FROM org_state s WHERE s.org_id = ANY (p_org)
$$;
CALL callable_by('generations', ARRAY['proxy', 'api', 'worker']);
