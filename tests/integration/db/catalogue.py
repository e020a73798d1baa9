"""Everything that a database's catalogue says of our schema, as lines that two databases can be compared by.

The order of columns is left out: ``ALTER TABLE`` adds a column at the end, the declared schema shows it in its place.
"""

import re
from typing import Final

import psycopg

_RIGHTS_OF: Final = re.compile(r"RIGHTS\(([\w.]+)\)")
_RIGHTS: Final = (
    "(SELECT string_agg(r, ' ' ORDER BY r) FROM (SELECT concat(x.grantee::regrole, ':', x.privilege_type,"
    " CASE WHEN x.is_grantable THEN '*' END) AS r FROM aclexplode(@) x) rights)"
)

_QUESTIONS: Final = {
    "schema": """
        SELECT nspname, nspowner::regrole, RIGHTS(nspacl) FROM pg_namespace WHERE nspname IN ('public', 'queue')""",
    "relation": """
        SELECT c.oid::regclass, c.relkind, c.relowner::regrole, c.relrowsecurity, c.relforcerowsecurity, c.relreplident,
               c.reloptions, pg_get_expr(c.relpartbound, c.oid), pg_get_partkeydef(c.oid), RIGHTS(c.relacl)
        FROM pg_class c WHERE c.relnamespace::regnamespace::text IN ('public', 'queue')
          AND c.relkind NOT IN ('i', 'I')""",
    "column": """
        SELECT a.attrelid::regclass, a.attname, format_type(a.atttypid, a.atttypmod), a.attcollation::regcollation,
               a.attnotnull, a.attidentity, a.attgenerated, a.attstorage, pg_get_expr(d.adbin, d.adrelid),
               RIGHTS(a.attacl)
        FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
        LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
        WHERE c.relnamespace::regnamespace::text IN ('public', 'queue') AND c.relkind IN ('r', 'p') AND a.attnum > 0
          AND NOT a.attisdropped""",
    "constraint": """
        SELECT conrelid::regclass, conname, pg_get_constraintdef(oid) FROM pg_constraint
        WHERE connamespace::regnamespace::text IN ('public', 'queue')""",
    "index": """
        SELECT c.oid::regclass, pg_get_indexdef(c.oid), c.reloptions FROM pg_class c
        WHERE c.relnamespace::regnamespace::text IN ('public', 'queue') AND c.relkind IN ('i', 'I')""",
    "policy": "SELECT * FROM pg_policies WHERE schemaname IN ('public', 'queue')",
    "function": """
        SELECT p.oid::regprocedure, p.proowner::regrole, RIGHTS(p.proacl), pg_get_functiondef(p.oid)
        FROM pg_proc p WHERE p.pronamespace::regnamespace::text IN ('public', 'queue') AND p.prokind IN ('f', 'p')""",
    "trigger": """
        SELECT t.tgrelid::regclass, t.tgname, t.tgenabled, pg_get_triggerdef(t.oid)
        FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
        WHERE c.relnamespace::regnamespace::text IN ('public', 'queue') AND NOT t.tgisinternal""",
    "statistics": """
        SELECT stxname, pg_get_statisticsobjdef(oid) FROM pg_statistic_ext
        WHERE stxnamespace::regnamespace::text IN ('public', 'queue')""",
    "type": """
        SELECT t.typname, t.typowner::regrole, array_agg(e.enumlabel ORDER BY e.enumsortorder)
        FROM pg_type t JOIN pg_enum e ON e.enumtypid = t.oid
        WHERE t.typnamespace::regnamespace::text IN ('public', 'queue') GROUP BY t.oid""",
}  # fmt: skip


def catalogue(connection: psycopg.Connection[tuple[object, ...]]) -> set[str]:
    """One line for each object of ours, with its definition, owner and rights."""
    return {
        f"{kind}: {' | '.join(str(value) for value in row)}"
        for kind, question in _QUESTIONS.items()
        for row in connection.execute(_RIGHTS_OF.sub(_rights, question).encode()).fetchall()
    }


def _rights(column: re.Match[str]) -> str:
    return _RIGHTS.replace("@", column[1])
