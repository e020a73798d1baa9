-- Notes the tools that a server offers an agent. A tool that is new is kept as it is. One whose definition differs from the last
-- one becomes changed, with an event, and the generation rises: no decision is made as if it had not changed. Returns how many
-- were new, which are changed, whether there is no room for those that are new (nothing is noted then), and the payloads of the
-- events. A payload is canonical JSON (RFC 8785): to_json writes a string in the same way.
CREATE OR REPLACE FUNCTION note_mcp_tools(
    p_org text, p_agent text, p_action text, p_server text, p_at timestamptz,
    p_id text[], p_name text[], p_sha256 bytea[], p_definition text[], p_most_of_server integer, p_most integer
) RETURNS TABLE (first_seen integer, changed text[], is_full boolean, told text[])
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    is_own constant boolean := position('/' IN p_server) > 0; -- what the agent says of a server that it runs itself
    known integer;
    raised boolean := false;
BEGIN
    first_seen := 0;
    is_full := false;
    told := '{}';
    IF NOT EXISTS (SELECT FROM agents a WHERE a.org_id = p_org AND a.agent_id = p_agent) THEN
        RAISE EXCEPTION 'no such agent';
    END IF;
    IF EXISTS (SELECT FROM mcp_tools t JOIN unnest(p_name, p_sha256) AS o(name, sha256) ON t.name = o.name
               WHERE t.org_id = p_org AND t.server = p_server AND t.seen_sha256 <> o.sha256 AND t.changed_at IS NULL) THEN
        -- Locked before the tools, as everywhere.
        UPDATE org_state SET generation = generation + 1 WHERE org_id = p_org;
        raised := true;
    END IF;

    SELECT count(*) INTO first_seen FROM unnest(p_name) AS o(name)
    WHERE NOT EXISTS (SELECT FROM mcp_tools t WHERE t.org_id = p_org AND t.server = p_server AND t.name = o.name);
    IF first_seen > 0 THEN
        SELECT count(*) INTO known FROM mcp_tools t WHERE t.org_id = p_org AND t.server = p_server;
        is_full := known + first_seen > p_most_of_server;
        IF NOT is_full THEN
            -- Of what it says itself an agent has a share of its own: it must not take the room of all others.
            SELECT count(*) INTO known FROM mcp_tools t WHERE t.org_id = p_org
                AND CASE WHEN is_own THEN starts_with(t.server, p_agent || '/') ELSE position('/' IN t.server) = 0 END;
            is_full := known + first_seen > p_most;
        END IF;
        IF is_full THEN
            changed := '{}';
            RETURN NEXT;
            RETURN;
        END IF;
        INSERT INTO mcp_tools (org_id, tool_id, server, name, accepted_sha256, accepted_definition, accepted_at,
                               seen_sha256, seen_definition, seen_at)
        SELECT p_org, o.id, p_server, o.name, o.sha256, o.definition, p_at, o.sha256, o.definition, p_at
        FROM unnest(p_id, p_name, p_sha256, p_definition) AS o(id, name, sha256, definition)
        ORDER BY o.name ON CONFLICT (org_id, server, name) DO NOTHING;
    END IF;

    PERFORM FROM mcp_tools t JOIN unnest(p_name, p_sha256) AS o(name, sha256) ON t.name = o.name
    WHERE t.org_id = p_org AND t.server = p_server AND t.seen_sha256 <> o.sha256 ORDER BY t.name FOR UPDATE OF t;
    -- Noted by another process in the meantime.
    UPDATE org_state SET generation = generation + 1 WHERE org_id = p_org AND NOT raised AND EXISTS (
        SELECT FROM mcp_tools t JOIN unnest(p_name, p_sha256) AS o(name, sha256) ON t.name = o.name
        WHERE t.org_id = p_org AND t.server = p_server AND t.seen_sha256 <> o.sha256 AND t.changed_at IS NULL);
    told := ARRAY (
        SELECT '{"actor":{"id":"headgate","type":"system"},"data":{"accepted_sha256":"sha256:' || encode(t.accepted_sha256, 'hex')
               || '","name":' || to_json(t.name) || ',"seen_sha256":"sha256:' || encode(o.sha256, 'hex')
               || '","server":' || to_json(t.server) || ',"tool_id":"' || t.tool_id || '"}}'
        FROM mcp_tools t JOIN unnest(p_name, p_sha256) AS o(name, sha256) ON t.name = o.name
        WHERE t.org_id = p_org AND t.server = p_server AND t.seen_sha256 <> o.sha256 AND t.changed_at IS NULL ORDER BY t.name);
    INSERT INTO journal (org_id, event_type, action_id, agent_id, created_at, payload)
    SELECT p_org, 'mcp_tool.changed', p_action, p_agent, p_at, n.payload FROM unnest(told) AS n(payload);
    -- Until a person accepts it, a tool stays changed, whatever is seen next: it says so once.
    UPDATE mcp_tools t SET seen_sha256 = o.sha256, seen_definition = o.definition, seen_at = p_at,
                           changed_at = coalesce(t.changed_at, p_at)
    FROM unnest(p_name, p_sha256, p_definition) AS o(name, sha256, definition)
    WHERE t.org_id = p_org AND t.server = p_server AND t.name = o.name AND t.seen_sha256 <> o.sha256;

    changed := ARRAY (SELECT t.name FROM mcp_tools t
                      WHERE t.org_id = p_org AND t.server = p_server AND t.name = ANY (p_name) AND t.changed_at IS NOT NULL);
    RETURN NEXT;
END $$;
CALL callable_by('note_mcp_tools', ARRAY['proxy', 'api']);
