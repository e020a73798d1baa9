-- What stands where a body was: objects as readers expect them, and why there is nothing in them.
CREATE OR REPLACE FUNCTION body_stub(p_state text) RETURNS text
LANGUAGE sql IMMUTABLE
RETURN '{"body":"' || p_state || '","params":{}}';
