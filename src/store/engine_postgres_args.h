/*
 * engine_postgres_args.h - parameters as libpq takes them, in binary: eight bytes for numbers, the
 * bytes themselves for everything else.
 */
#ifndef STORE_ENGINE_POSTGRES_ARGS_H
#define STORE_ENGINE_POSTGRES_ARGS_H
#include "store/db.h"

enum { PG_PARAMS_MAX = 64, PG_PARAM_BYTES_MAX = 512 * 1024 * 1024 };

struct pg_args {
    const char *values[PG_PARAMS_MAX]; /* Texts are borrowed, numbers point into `numbers`. */
    int lengths[PG_PARAMS_MAX];
    int formats[PG_PARAMS_MAX];
    uint64_t numbers[PG_PARAMS_MAX];
    int count;
    size_t bytes;
};

/* RC_INVALID: text that is none; PostgreSQL holds UTF-8 without NUL. */
MUST_USE enum rc pg_args_fill(const struct sql *sql, const struct param *params, struct pg_args *to,
                              struct err *err);
/* What PostgreSQL calls a type of struct sql. */
unsigned pg_type_oid(char type);
#endif
