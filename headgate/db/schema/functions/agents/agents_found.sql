-- Returns the ids of agents by words, tag, status, owner and beginning of the id. It is the definer's, because behind row-level
-- security only leakproof operators use an index, and those of words and arrays are not leakproof. It reads the transaction's
-- organization only.
--
-- Statistics do not tell how many agents have a word or a tag. So it first counts each in a sample of the newest agents. From
-- these counts it chooses the cheaper way: read on from the newest, which finds frequent matches, or collect the rows that the
-- index names for the rarest condition and filter those by the rest.
CREATE OR REPLACE FUNCTION agents_found(p_words text, p_beginning text, p_status text, p_tag text, p_owner text, p_before text,
                             p_ordered boolean, p_limit integer, p_offset integer)
RETURNS SETOF text
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp SET enable_seqscan = off AS $$
DECLARE
    looked_at constant integer := 2000;
    fetching constant double precision := 4; -- cost of a row that an index names, in rows read in order
    collecting constant double precision := 0.4; -- cost of collecting a row that an index names
    common constant double precision := 0.05; -- for a larger share, filtering the remaining rows is cheaper than collecting
    plain constant text := 'SELECT a.agent_id, a.words, a.tags FROM agents a WHERE a.org_id = $1'
        || CASE WHEN p_beginning IS NULL THEN '' ELSE ' AND a.agent_id >= $3 AND a.agent_id < $3 || ''~''' END
        || CASE WHEN p_status IS NULL THEN '' ELSE ' AND a.status = $4' END
        || CASE WHEN p_owner IS NULL THEN '' ELSE ' AND a.owner = $6' END
        || CASE WHEN p_before IS NULL THEN '' ELSE ' AND a.agent_id < $7' END;
    newest_first constant text := plain || ' ORDER BY a.agent_id DESC';
    bounds constant text := CASE WHEN p_ordered THEN ' ORDER BY agent_id DESC' ELSE '' END || ' LIMIT $8 OFFSET $9';
    words constant tsquery[] := ARRAY(SELECT to_tsquery('simple', w) FROM unnest(string_to_array(p_words, ' & ')) AS w);
    needed constant double precision := p_limit::double precision + p_offset; -- null: all
    stored double precision;
    asked text[] := '{}'; -- conditions on a row
    sought text[] := '{}'; -- the same conditions on an index
    seen integer;
    hits integer;
    each integer[];
    rarest integer;
    every text;
    named text;
    query text;
BEGIN
    FOR i IN 1 .. cardinality(words) LOOP
        asked := asked || format('ts_match_vq(a.words, ($2)[%s])', i);
        sought := sought || format('a.words @@ ($2)[%s]', i);
    END LOOP;
    IF p_words IS NOT NULL AND cardinality(words) = 0 THEN
        RETURN;
    END IF;
    IF p_tag IS NOT NULL THEN
        asked := asked || 'arraycontains(a.tags, ARRAY[$5])'::text;
        sought := sought || 'a.tags @> ARRAY[$5]'::text;
    END IF;
    every := array_to_string(asked, ' AND ');
    IF asked = '{}' THEN
        query := plain || bounds;
    ELSE
        EXECUTE format('SELECT count(*), count(*) FILTER (WHERE %s), ARRAY[%s] FROM (%s LIMIT %s) a', every,
                (SELECT string_agg(format('count(*) FILTER (WHERE %s)', one), ', ') FROM unnest(asked) AS one),
                newest_first, looked_at)
            INTO seen, hits, each
            USING current_org(), words, p_beginning, p_status, p_tag, p_owner, p_before, p_limit, p_offset;
        rarest := (SELECT min(one) FROM unnest(each) AS one);
        stored := (SELECT greatest(c.reltuples, looked_at) FROM pg_class c WHERE c.oid = 'agents'::regclass);
        -- Reading on costs the rows until enough match. The index costs the rows that match the rarest condition, or, without
        -- an order, those until enough match.
        IF seen < looked_at OR rarest::double precision / seen > common AND hits > 0 OR hits > 0
           AND needed * seen / hits < stored * rarest / seen * (collecting + fetching
               * (CASE WHEN p_ordered THEN 1 ELSE least(1, needed / (stored * hits / seen)) END)) THEN
            query := format('SELECT a.agent_id FROM (%s OFFSET 0) a WHERE %s', newest_first, every) || bounds;
        ELSE
            named := (SELECT string_agg(CASE WHEN n = rarest OR n < common * seen AND hits < rarest THEN s ELSE q END, ' AND ')
                      FROM unnest(sought, asked, each) AS x(s, q, n));
            query := format('WITH a AS MATERIALIZED (%s AND %s) SELECT agent_id FROM a',
                replace(plain, ', a.words, a.tags', ''), named) || bounds;
        END IF;
    END IF;
    RETURN QUERY EXECUTE format('SELECT agent_id FROM (%s) found', query)
        USING current_org(), words, p_beginning, p_status, p_tag, p_owner, p_before, p_limit, p_offset;
END
$$;
CALL callable_by('agents_found', ARRAY['api']);
