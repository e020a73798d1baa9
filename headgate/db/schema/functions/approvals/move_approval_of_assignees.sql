-- Copies the status of an approval to the rows of its assignees.
RESET ROLE;
CREATE OR REPLACE FUNCTION move_approval_of_assignees() RETURNS trigger
LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
    UPDATE approval_assignees x SET status = NEW.status WHERE x.org_id = NEW.org_id AND x.approval_id = NEW.approval_id;
    RETURN NULL;
END $$;
