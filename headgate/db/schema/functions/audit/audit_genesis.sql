-- Returns the prev_hash of the first event, which differs for each organization.
CREATE OR REPLACE FUNCTION audit_genesis(p_org text) RETURNS bytea
LANGUAGE sql IMMUTABLE
RETURN sha256(convert_to('headgate audit genesis v1 ' || p_org, 'UTF8'));
