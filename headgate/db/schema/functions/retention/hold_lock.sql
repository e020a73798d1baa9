-- Placing a hold and forgetting exclude each other: whoever forgets holds this shared, and looks at the holds under it.
CREATE OR REPLACE FUNCTION hold_lock(p_org text) RETURNS bigint
LANGUAGE sql IMMUTABLE
RETURN hashtextextended('headgate.hold ' || p_org, 0);
