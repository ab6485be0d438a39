/*
 * space.h - what the store takes on disk.
 */
#ifndef STORE_SPACE_H
#define STORE_SPACE_H
#include "store/db.h"

struct space {
    int64_t database_bytes;
    int64_t free_bytes;              /* Of these: hold nothing; -1: not known. */
    bool gives_back;                 /* By retention, or the engine by itself. */
    int64_t content_bytes, contents; /* Of artifacts that are rows; -1: they are files. */
};
MUST_USE enum rc space_of(struct db *db, struct space *ret_space, struct err *err);
#endif
