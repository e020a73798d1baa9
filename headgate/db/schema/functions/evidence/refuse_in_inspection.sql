-- Refuses a change of a database that is for inspection only.
RESET ROLE;
CREATE OR REPLACE FUNCTION refuse_in_inspection() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
    -- Reading is an event in other databases. Here it would become part of another instance's record.
    IF TG_TABLE_NAME = 'journal' THEN
        IF NEW.event_type = 'user.created' OR NEW.event_type ~ '[.](exported|read|viewed|opened|searched|downloaded)$' THEN
            RETURN NULL;
        END IF;
    END IF;
    RAISE EXCEPTION 'this instance is for inspection only: it holds another one''s record, and changes nothing'
        USING ERRCODE = 'read_only_sql_transaction';
END $$;
