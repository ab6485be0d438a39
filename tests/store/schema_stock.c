#include "tests/store/schema_stock.h"
#include "base/hash.h"
#include "base/random.h"
#include "tests/store/fixture.h"
#include "tests/unit/memo.h"
#include <stdio.h>
#include <string.h>

/* Beside a schema that is in stock, %1$s, there is another one with what belongs into it. */
#define SEEDS "%1$s_seeds"
#define TABLES                                                                                    \
    "SELECT relname AS name FROM pg_class WHERE relnamespace = '%1$s'::regnamespace AND relkind " \
    "= 'r'"
#define WITH_ROWS TABLES " AND relname <> 'schema_migrations' AND pg_relation_size(oid) > 0"
/* Differs when tables, columns, functions, triggers or constraints were added or removed, or the
   migrations are others. */
#define FORM                                                                                   \
    "SELECT concat_ws(' ',"                                                                    \
    " (SELECT count(*) FROM pg_class WHERE relnamespace = '%1$s'::regnamespace),"              \
    " (SELECT count(*) FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid"              \
    "   WHERE c.relnamespace = '%1$s'::regnamespace AND NOT a.attisdropped),"                  \
    " (SELECT count(*) FROM pg_proc WHERE pronamespace = '%1$s'::regnamespace),"               \
    " (SELECT count(*) FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid"                 \
    "   WHERE c.relnamespace = '%1$s'::regnamespace),"                                         \
    " (SELECT count(*) FROM pg_constraint WHERE connamespace = '%1$s'::regnamespace),"         \
    " (SELECT md5(string_agg(m::text, ',' ORDER BY m.version)) FROM %1$s.schema_migrations m)" \
    ") AS form"

static const char sql_fill[] = "CREATE SCHEMA " SEEDS ";"
                               "CREATE TABLE " SEEDS ".form AS " FORM ";"
                               "CREATE TABLE " SEEDS ".tables AS " TABLES ";"
                               "CREATE TABLE " SEEDS ".seeds (name text, rows jsonb);"
                               "DO $$ DECLARE each record; BEGIN"
                               " FOR each IN " WITH_ROWS " LOOP"
                               "  EXECUTE format('INSERT INTO " SEEDS
                               ".seeds SELECT %%L, jsonb_agg(to_jsonb(x))"
                               "   FROM %1$s.%%I x HAVING count(*) > 0', each.name, each.name);"
                               " END LOOP; END $$";

/* Fails where the schema is not as it was. */
static const char sql_clean[] =
    "DO $$ DECLARE each record; BEGIN"
    " FOR each IN " TABLES " EXCEPT SELECT name FROM " SEEDS ".tables LOOP"
    "  EXECUTE format('DROP TABLE %1$s.%%I CASCADE', each.name);"
    " END LOOP;"
    " IF (SELECT form FROM " SEEDS ".form) <> (" FORM ") THEN"
    "  RAISE EXCEPTION 'changed'; END IF;"
    " PERFORM set_config('session_replication_role', 'replica', true);" /* Rows in any order. */
    " FOR each IN " WITH_ROWS " LOOP"
    "  EXECUTE format('DELETE FROM %1$s.%%I', each.name);"
    " END LOOP;"
    " FOR each IN SELECT name, rows FROM " SEEDS ".seeds LOOP"
    "  EXECUTE format('INSERT INTO %1$s.%%I OVERRIDING SYSTEM VALUE SELECT *"
    "   FROM jsonb_populate_recordset(NULL::%1$s.%%I, $1)', each.name, each.name) USING each.rows;"
    " END LOOP;"
    " PERFORM setval(seqrelid::regclass, seqstart, false) FROM pg_sequence s"
    "  JOIN pg_class c ON c.oid = s.seqrelid WHERE c.relnamespace = '%1$s'::regnamespace;"
    " END $$";

static const char sql_drop[] = "DROP SCHEMA IF EXISTS %1$s CASCADE;"
                               "DROP SCHEMA IF EXISTS " SEEDS " CASCADE";

static const char asked[] = "stock schema", filled[] = "schema filled"; /* In memo.h. */
static char stock[32];
static bool taken, is_new;

static void make_name(char *to, size_t bytes)
{
    unsigned char random[8];
    char text[2 * sizeof random + 1];
    secret_bytes(random, sizeof random);
    hex_encode(text, random, sizeof random);
    (void)snprintf(to, bytes, "test_%s", text);
}

void schema_stock_begin(void)
{
    make_name(stock, sizeof stock);
}

void schema_stock_empty(void)
{
    CLEANUP(arena_release) struct arena arena = {0};
    if (memo_get(asked, NULL, 0))
        (void)postgres_try(arena_printf(&arena, sql_drop, stock));
}

char *schema_take(struct arena *arena)
{
    char own[sizeof stock];
    bool second = taken;
    make_name(own, sizeof own);
    char *schema = arena_strdup(arena, second ? own : stock);
    taken = true;
    if (!second) {
        memo_put(asked, NULL, 0);
        if (memo_get(filled, NULL, 0) && postgres_try(arena_printf(arena, sql_clean, stock)))
            return schema;
        postgres_run(arena_printf(arena, sql_drop, stock));
        is_new = true;
    }
    postgres_run(arena_printf(arena, "CREATE SCHEMA %s", schema));
    return schema;
}

void schema_filled(const char *schema)
{
    CLEANUP(arena_release) struct arena arena = {0};
    if (!is_new || !text_same(schema, stock))
        return;
    is_new = false;
    if (postgres_try(arena_printf(&arena, sql_fill, stock)))
        memo_put(filled, NULL, 0);
}

void schema_keep(const char *schema)
{
    CLEANUP(arena_release) struct arena arena = {0};
    if (text_same(schema, stock) && memo_get(filled, NULL, 0))
        postgres_run(arena_printf(&arena, "UPDATE " SEEDS ".form SET form = (" FORM ")", stock));
}

void schema_return(const char *schema)
{
    CLEANUP(arena_release) struct arena arena = {0};
    if (text_same(schema, stock))
        taken = false;
    else
        postgres_run(arena_printf(&arena, "DROP SCHEMA %s CASCADE", schema));
}
