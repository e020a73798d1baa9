-- Seals up to about p_limit events of all organizations, in random order, so that a busy organization does not delay the others.
-- failure: why one organization failed; the others are sealed. A batch that fails is tried again with fewer events, down to one:
-- events before a bad one are sealed, and so are payloads that are too large together.
CREATE OR REPLACE FUNCTION seal_due(p_limit integer) RETURNS TABLE (org_id text, sealed integer, failure text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET enable_hashjoin = off SET enable_mergejoin = off
SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
    remaining integer := p_limit;
    at_once integer;
BEGIN
    FOR org_id IN SELECT o.org_id FROM organizations o
                  WHERE EXISTS (SELECT FROM audit_inbox i WHERE i.org_id = o.org_id) ORDER BY random() LOOP
        at_once := remaining;
        LOOP
            BEGIN
                sealed := seal_audit_events(org_id, at_once, false);
                failure := NULL;
                EXIT;
            EXCEPTION WHEN OTHERS THEN
                sealed := 0;
                failure := SQLERRM;
                EXIT WHEN at_once <= 1;
                at_once := greatest(at_once / 8, 1);
            END;
        END LOOP;
        RETURN NEXT;
        remaining := remaining - sealed;
        EXIT WHEN remaining <= 0;
    END LOOP;
END $$;
CALL callable_by('seal_due', ARRAY['worker']);
