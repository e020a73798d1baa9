-- Returns the organization and channel of a chat platform's connection.
CREATE OR REPLACE FUNCTION chat_connection_owner(p_connection text) RETURNS TABLE (org_id text, channel text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT c.org_id, c.channel FROM chat_connections c WHERE c.connection_id = p_connection
$$;
CALL callable_by('chat_connection_owner', ARRAY['api']);
