-- Returns keys that are old or about to end, for a reminder, over all organizations.
CREATE OR REPLACE FUNCTION key_reminders_due(p_older_than timestamptz, p_ends_before timestamptz)
RETURNS TABLE (org_id text, key_id text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    (SELECT k.org_id, k.key_id FROM api_keys k
     WHERE k.revoked_at IS NULL AND k.reminded_at IS NULL AND k.created_at <= p_older_than
       AND (k.expires_at IS NULL OR k.expires_at > clock_timestamp())
     ORDER BY k.created_at LIMIT 500)
    UNION
    (SELECT k.org_id, k.key_id FROM api_keys k
     WHERE k.revoked_at IS NULL AND k.reminded_at IS NULL AND k.expires_at > clock_timestamp()
       AND k.expires_at <= p_ends_before AND k.expires_at - k.created_at > interval '14 days'
     ORDER BY k.expires_at LIMIT 500)
$$;
CALL callable_by('key_reminders_due', ARRAY['worker']);
