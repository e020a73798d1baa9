-- Returns the organization and integration of an inbound address.
CREATE OR REPLACE FUNCTION integration_connection_owner(p_connection text) RETURNS TABLE (org_id text, integration text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT c.org_id, c.integration FROM integration_connections c WHERE c.connection_id = p_connection
$$;
CALL callable_by('integration_connection_owner', ARRAY['api']);
