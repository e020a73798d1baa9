-- Gives a use back, once, because nothing was sent. p_execution: null for an explicit action. Processes drop a grant that is used
-- up, so a grant that becomes usable again raises the generation.
CREATE OR REPLACE FUNCTION give_back_exemption(p_org text, p_exemption text, p_action text, p_execution text, p_at timestamptz) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    held grants;
    returned numeric;
BEGIN
    IF p_exemption LIKE 'brk\_%' THEN
        UPDATE break_glass b SET used_at = NULL, used_action_id = NULL
        WHERE b.org_id = p_org AND b.pass_id = p_exemption AND b.used_action_id = p_action AND b.used_at IS NOT NULL;
        RETURN;
    END IF;
    SELECT * INTO held FROM grants g WHERE g.org_id = p_org AND g.grant_id = p_exemption FOR UPDATE;
    UPDATE grant_uses u SET given_back_at = p_at
    WHERE u.org_id = p_org AND u.action_id = p_action AND u.grant_id = p_exemption
      AND u.execution_id IS NOT DISTINCT FROM p_execution
      AND u.given_back_at IS NULL
    RETURNING u.amount INTO returned;
    IF returned IS NULL THEN
        RETURN;
    END IF;
    UPDATE grants g SET uses = g.uses - 1, used_sum = g.used_sum - returned
    WHERE g.org_id = p_org AND g.grant_id = p_exemption;
    IF held.uses >= held.max_uses OR held.used_sum >= held.max_sum THEN
        UPDATE org_state s SET generation = s.generation + 1 WHERE s.org_id = p_org;
    END IF;
END $$;
CALL callable_by('give_back_exemption', ARRAY[]::text[]);
