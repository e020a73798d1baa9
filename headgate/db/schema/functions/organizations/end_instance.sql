-- Deletes a process that ends.
CREATE OR REPLACE FUNCTION end_instance(p_instance text) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
    DELETE FROM instances WHERE instance_id = p_instance
$$;
CALL callable_by('end_instance', ARRAY['proxy', 'api', 'worker']);
