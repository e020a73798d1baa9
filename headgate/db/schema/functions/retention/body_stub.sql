-- Returns what replaces a body: an object as readers expect it, with the reason.
CREATE OR REPLACE FUNCTION body_stub(p_state text) RETURNS text
LANGUAGE sql IMMUTABLE
RETURN '{"body":"' || p_state || '","params":{}}';
