-- Returns the lock that makes placing a legal hold and erasure exclusive: erasure takes it shared, and reads the holds under it.
CREATE OR REPLACE FUNCTION hold_lock(p_org text) RETURNS bigint
LANGUAGE sql IMMUTABLE
RETURN hashtextextended('headgate.hold ' || p_org, 0);
