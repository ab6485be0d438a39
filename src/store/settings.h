/*
 * settings.h - small durable facts about this installation: node id, token secret.
 */
#ifndef STORE_SETTINGS_H
#define STORE_SETTINGS_H
#include "store/db.h"

MUST_USE enum rc settings_get(struct db *db, const char *key, struct arena *arena,
                              const char **ret_value, struct err *err); /* RC_NOT_FOUND */
MUST_USE enum rc settings_put(struct db *db, const char *key, const char *value, struct err *err);
/* Only where it is missing: the first server to write it decides. */
MUST_USE enum rc settings_make(struct db *db, const char *key, const char *value, struct err *err);
/* Until the end of the transaction; RC_NOT_FOUND. */
MUST_USE enum rc settings_lock(struct db *db, const char *key, struct err *err);

/* Locked by those that append many events of clients at once. */
#define SETTING_EVENT_BATCHES "event_batches"
#endif
