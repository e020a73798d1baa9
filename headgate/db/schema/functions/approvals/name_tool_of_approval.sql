-- Copies the tool of the action, which is written first, to its approval.
RESET ROLE;
CREATE OR REPLACE FUNCTION name_tool_of_approval() RETURNS trigger
LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
    SELECT a.tool INTO NEW.tool FROM actions a WHERE a.org_id = NEW.org_id AND a.action_id = NEW.action_id;
    RETURN NEW;
END $$;
