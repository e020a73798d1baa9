-- Returns the verdict of a stored decision. The text is canonical JSON: no member before this one has its name, and no string
-- can look like it. JSON operators refuse a NUL, which a reason may contain.
CREATE OR REPLACE FUNCTION audit_verdict(p_decision text) RETURNS text
LANGUAGE sql IMMUTABLE
RETURN substring(p_decision FROM '"decision":"([a-z_]+)"');
