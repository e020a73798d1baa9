-- STABLE, as to_char depends on a setting: a function that says IMMUTABLE and calls it is not put in place by the planner,
-- and writing a time was a call in every row. It depends on none here: the form has no names of months or days.
CREATE OR REPLACE FUNCTION rfc3339(p_time timestamptz) RETURNS text
LANGUAGE sql STABLE
RETURN to_char(p_time AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"');
