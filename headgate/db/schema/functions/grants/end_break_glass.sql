-- Ends a break-glass use that was not used and not reviewed. Returns false if there is none that could be used.
CREATE OR REPLACE FUNCTION end_break_glass(p_org text, p_pass text, p_at timestamptz) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    UPDATE break_glass b SET expires_at = greatest(p_at, b.created_at + interval '1 microsecond')
    WHERE b.org_id = p_org AND b.pass_id = p_pass AND b.used_at IS NULL AND b.reviewed_at IS NULL AND b.expires_at > p_at;
    RETURN FOUND;
END $$;
CALL callable_by('end_break_glass', ARRAY['api']);
