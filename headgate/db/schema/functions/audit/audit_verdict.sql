-- The verdict of a stored decision: canonical JSON, in which nothing before this member has one of that name, and no
-- string can look like one. Not by a JSON operator: these refuse a NUL, which a reason may hold.
CREATE OR REPLACE FUNCTION audit_verdict(p_decision text) RETURNS text
LANGUAGE sql IMMUTABLE
RETURN substring(p_decision FROM '"decision":"([a-z_]+)"');
