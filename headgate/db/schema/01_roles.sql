-- Roles, and the procedures that give tables and functions their rights (docs/decisions/0003-database-roles.md).
--
-- Each part logs in with a role of its own. headgate_definer has no login: it owns the SECURITY DEFINER functions, which
-- are the only way across organizations. No role has BYPASSRLS. Tables FORCE row-level security, so that their owner sees
-- one organization at a time too.

DO $$
DECLARE
    part text;
BEGIN
    FOREACH part IN ARRAY ARRAY['api', 'proxy', 'worker', 'auditor', 'definer'] LOOP
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'headgate_' || part) THEN
            BEGIN
                EXECUTE format('CREATE ROLE headgate_%s NOLOGIN NOBYPASSRLS', part);
            EXCEPTION WHEN duplicate_object OR unique_violation THEN
                NULL; -- another database of this cluster is migrated at the same time
            END;
        END IF;
    END LOOP;
END $$;

-- SET lets the owner create functions as the definer. Without INHERIT the definer's policies do not apply to the owner.
GRANT headgate_definer TO CURRENT_USER WITH INHERIT FALSE, SET TRUE;

REVOKE CREATE ON SCHEMA public FROM PUBLIC;
GRANT USAGE ON SCHEMA public TO headgate_api, headgate_proxy, headgate_worker, headgate_auditor, headgate_definer;
GRANT CREATE ON SCHEMA public TO headgate_definer;

-- Returns the organization of the transaction. headgate.db.database sets it for each transaction, so that a transaction
-- pooler does not carry it over. If it is not set, it matches no row.
CREATE FUNCTION current_org() RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
RETURN nullif(current_setting('app.org_id', true), '');

-- Enables row-level security on a table, with the two policies that all tables have. The auditor reads every table but
-- those that hold secrets, ciphertexts, hashes or salts: an audit does not need them.
CREATE PROCEDURE isolate_organizations(target regclass, auditor_reads boolean DEFAULT true)
LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY', target);
    EXECUTE format('CREATE POLICY one_organization ON %s'
                   ' USING (org_id = current_org()) WITH CHECK (org_id = current_org())', target);
    EXECUTE format('CREATE POLICY definer_functions ON %s TO headgate_definer USING (true) WITH CHECK (true)', target);
    IF auditor_reads THEN
        EXECUTE format('GRANT SELECT ON %s TO headgate_auditor', target);
    END IF;
END $$;

-- Lets these parts call a function of headgate_definer, and no other part. The owner of the tables may call it too: an
-- operator may give every part the owner's address. The caller is headgate_definer: only the owner of a function can take
-- from PUBLIC the right to call it. A REVOKE by another role is only a warning.
CREATE PROCEDURE callable_by(target regproc, parts text[])
LANGUAGE plpgsql AS $$
DECLARE
    tables_owner constant regrole := (SELECT c.relowner FROM pg_class c WHERE c.oid = 'public.organizations'::regclass);
    callers constant text := (SELECT string_agg('headgate_' || part || ', ', '') FROM unnest(parts) AS part);
BEGIN
    EXECUTE format('REVOKE ALL ON FUNCTION %s FROM PUBLIC,'
                   ' headgate_api, headgate_proxy, headgate_worker, headgate_auditor', target);
    EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO %s%s', target, callers, tables_owner);
END $$;
