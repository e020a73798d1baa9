-- Applies outcomes of all organizations, up to about p_limit. failure: why one organization failed.
CREATE OR REPLACE FUNCTION fold_due(p_limit integer) RETURNS TABLE (org_id text, folded integer, failure text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET enable_hashjoin = off SET enable_mergejoin = off
SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
    remaining integer := p_limit;
BEGIN
    FOR org_id IN SELECT o.org_id FROM organizations o
                  WHERE EXISTS (SELECT FROM execution_outcomes x WHERE x.org_id = o.org_id) ORDER BY random() LOOP
        BEGIN
            folded := fold_outcomes(org_id, remaining);
            failure := NULL;
        EXCEPTION WHEN OTHERS THEN
            folded := 0;
            failure := SQLERRM;
        END;
        RETURN NEXT;
        remaining := remaining - folded;
        EXIT WHEN remaining <= 0;
    END LOOP;
END $$;
CALL callable_by('fold_due', ARRAY['worker']);
