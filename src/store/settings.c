/*
 * settings.c - small durable facts.
 */
#include "store/settings.h"
#include "store/query.h"
#include "store/shapes.h"

static const struct sql sql_get = {
    "setting_get",
    "SELECT value FROM settings WHERE key = $1",
    "t",
};
static const struct sql sql_put = {
    "setting_put",
    "INSERT INTO settings (key, value) VALUES ($1, $2)"
    " ON CONFLICT (key) DO UPDATE SET value = excluded.value",
    "tt",
};

static const struct sql sql_make = {
    "setting_make",
    "INSERT INTO settings (key, value) VALUES ($1, $2) ON CONFLICT (key) DO NOTHING",
    "tt",
};

static const struct sql sql_lock = {
    "setting_lock",
    "SELECT value FROM settings WHERE key = $1 {for_update}",
    "t",
};

static enum rc value_decode(struct row_reader *reader, void *to, struct err *err)
{
    (void)err;
    *(const char **)to = read_text(reader);
    return RC_OK;
}
static const struct shape value_shape = SHAPE_OF_RESULT("setting", const char *, value_decode);

enum rc settings_get(struct db *db, const char *key, struct arena *arena, const char **ret_value,
                     struct err *err)
{
    return query_one(db, &sql_get, P_LIST(P_TEXT(key)), &value_shape, arena, ret_value, err);
}

enum rc settings_put(struct db *db, const char *key, const char *value, struct err *err)
{
    return db_exec(db, &sql_put, P_LIST(P_TEXT(key), P_TEXT(value)), NULL, err);
}

enum rc settings_make(struct db *db, const char *key, const char *value, struct err *err)
{
    return db_exec(db, &sql_make, P_LIST(P_TEXT(key), P_TEXT(value)), NULL, err);
}

enum rc settings_lock(struct db *db, const char *key, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const char *value;
    return query_one(db, &sql_lock, P_LIST(P_TEXT(key)), &value_shape, &arena, &value, err);
}
