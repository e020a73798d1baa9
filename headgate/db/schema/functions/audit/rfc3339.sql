-- Formats a time as RFC 3339 with microseconds. STABLE, so that the planner inlines it: to_char depends on a setting, and an
-- IMMUTABLE function that calls it is not inlined but called for each row. This format has no names of months or days, so the
-- setting has no effect.
CREATE OR REPLACE FUNCTION rfc3339(p_time timestamptz) RETURNS text
LANGUAGE sql STABLE
RETURN to_char(p_time AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"');
