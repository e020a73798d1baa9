-- Makes this database read-only: it shows an imported record, and records and changes nothing. The import calls it once. Other
-- databases have no such triggers and no cost.
RESET ROLE;
CREATE OR REPLACE PROCEDURE begin_inspection()
LANGUAGE plpgsql AS $$
DECLARE
    target text;
BEGIN
    CREATE TRIGGER inspection_only BEFORE INSERT ON journal FOR EACH ROW EXECUTE FUNCTION refuse_in_inspection();
    FOREACH target IN ARRAY ARRAY['organizations', 'agents', 'api_keys', 'actions', 'executions', 'approvals', 'policies',
                                  'settings', 'audit_chain', 'audit_events', 'vault_secrets'] LOOP
        EXECUTE format('CREATE TRIGGER inspection_only BEFORE INSERT OR UPDATE OR DELETE ON %I'
                       ' FOR EACH STATEMENT EXECUTE FUNCTION refuse_in_inspection()', target);
    END LOOP;
END $$;
REVOKE ALL ON PROCEDURE begin_inspection() FROM PUBLIC;
