#include "tests/store/store_fault.h"
#include "store/engine.h"
#include <assert.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

static enum store_fault now;

static void script(struct db *db, const char *text)
{
    struct err err = {0};
    if (db_script(db, "fault", text, &err) == RC_OK)
        return;
    fprintf(stderr, "%s: %s\n", text, err.text);
    abort();
}

/* The hook is also called when nothing was written, which a full disk does not refuse. */
static int changes_at_end;

bool store_fault_refuses(struct sqlite3 *handle)
{
    bool refuses = now == FAULT_COMMIT && sqlite3_total_changes(handle) != changes_at_end;
    if (!refuses)
        changes_at_end = sqlite3_total_changes(handle);
    return refuses;
}

void store_fault_rolled_back(struct sqlite3 *handle)
{
    changes_at_end = sqlite3_total_changes(handle);
}

static int on_commit(void *handle)
{
    return store_fault_refuses(handle);
}

static void on_rollback(void *handle)
{
    store_fault_rolled_back(handle);
}

static int on_open(sqlite3 *handle, char **ret_error, const void *api)
{
    (void)ret_error;
    (void)api;
    sqlite3_commit_hook(handle, on_commit, handle);
    sqlite3_rollback_hook(handle, on_rollback, handle);
    return SQLITE_OK;
}

void store_fault_install(void)
{
    int code = sqlite3_auto_extension((void (*)(void))on_open);
    assert(code == SQLITE_OK);
}

#define WHEN(word) " WHEN (current_setting(''drover.fault'', true) = ''" word "'') "

static const char *const triggers[] = {
    "CREATE OR REPLACE FUNCTION fault_strike() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
    " RAISE EXCEPTION 'a fault was asked for' USING ERRCODE = '53100'; END $$",
    "DO $$ DECLARE name text; BEGIN"
    " IF EXISTS (SELECT FROM pg_trigger WHERE tgfoid = to_regproc('fault_strike')) THEN"
    "  RETURN; END IF;" /* The schema has had them before. */
    " FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = current_schema() LOOP"
    "  EXECUTE format('CREATE CONSTRAINT TRIGGER fault_commit"
    "   AFTER INSERT OR UPDATE OR DELETE ON %I DEFERRABLE INITIALLY DEFERRED"
    "   FOR EACH ROW" WHEN(
        "1") "EXECUTE FUNCTION fault_strike()', name);"
             "  EXECUTE format('CREATE TRIGGER fault_full BEFORE INSERT OR UPDATE OR DELETE ON %I"
             "   FOR EACH STATEMENT" WHEN("2") "EXECUTE FUNCTION fault_strike()', name);"
                                               " END LOOP; END $$",
};

void store_fault_arm(struct db *db)
{
    for (size_t i = 0; db_is_shared(db) && i < COUNT_OF(triggers); i++)
        script(db, triggers[i]);
}

void store_fault_set(struct db *db, enum store_fault fault)
{
    char text[64];
    if (now == fault)
        return;
    bool full = now == FAULT_FULL || fault == FAULT_FULL;
    now = fault;
    if (db_is_shared(db))
        snprintf(text, sizeof text, "SET drover.fault = '%d'", (int)fault);
    else /* At least what there is; 0 pages would leave it as it was. */
        snprintf(text, sizeof text, "PRAGMA max_page_count = %d",
                 fault == FAULT_FULL ? 1 : 1073741823);
    if (full || db_is_shared(db))
        script(db, text);
}
