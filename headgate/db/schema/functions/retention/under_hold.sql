-- Returns whether a legal hold in force covers an action; with the caller's rights.
CREATE OR REPLACE FUNCTION under_hold(p_org text, p_action text, p_agent text) RETURNS boolean
LANGUAGE sql STABLE
RETURN EXISTS (SELECT FROM legal_holds h WHERE h.org_id = p_org AND h.lifted_at IS NULL
               AND (h.scope = 'organization' OR (h.scope = 'agent' AND h.target = p_agent)
                    OR (h.scope = 'action' AND h.target = p_action)));
