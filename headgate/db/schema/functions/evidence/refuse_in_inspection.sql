-- Makes this database one that only shows what was imported: it records nothing and changes nothing. Called once, by the
-- import; other databases have no such triggers, and pay nothing for them.
RESET ROLE;
CREATE OR REPLACE FUNCTION refuse_in_inspection() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
    -- That somebody looked is an event elsewhere; here it would become part of another's record.
    IF TG_TABLE_NAME = 'audit_inbox' THEN
        IF NEW.event_type = 'user.created' OR NEW.event_type ~ '[.](exported|read|viewed|opened|searched|downloaded)$' THEN
            RETURN NULL;
        END IF;
    END IF;
    RAISE EXCEPTION 'this instance is for inspection only: it holds another one''s record, and changes nothing'
        USING ERRCODE = 'read_only_sql_transaction';
END $$;
