-- Returns when an approved use ends: an approval that was decided late can still be used for 15 minutes. The same rule in Python
-- is headgate.approvals.model.usable_until; a test compares both. STABLE, so that the planner inlines it.
CREATE OR REPLACE FUNCTION approval_use_ends(p_expires timestamptz, p_decided timestamptz) RETURNS timestamptz
LANGUAGE sql STABLE
RETURN greatest(p_expires, p_decided + interval '15 minutes');
