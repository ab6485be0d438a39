/*
 * scratch_config.h - what the commands of a run get for themselves on their worker, for as long as
 * they need it: port numbers, and databases that are made before and dropped afterwards.
 *
 *   scratch: {ports: 2,
 *             databases: [{name, create, drop, url, variable, env, steps, timeoutSeconds},
 *                         {name, directory: true, variable, steps}]}
 */
#ifndef CORE_CONFIG_SCRATCH_CONFIG_H
#define CORE_CONFIG_SCRATCH_CONFIG_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SCRATCH_PORTS_MAX = 16,
    SCRATCH_DATABASES_MAX = 4,
    SCRATCH_NAME_BYTES_MAX = 32, /* A database's own name has 24 bytes more: 63 is the least limit
                                    of the databases that people have. */
    SCRATCH_ENV_MAX = 16,
    SCRATCH_ENV_ALL_MAX = SCRATCH_PORTS_MAX + SCRATCH_DATABASES_MAX, /* What commands get. */
};

/* Commands that may need a database; a set of these is a sum of (1 << user). */
enum scratch_user {
    SCRATCH_AGENT, /* Its plan too. */
    SCRATCH_SETUP,
    SCRATCH_VERIFY, /* Also of a merge train, and of a head that a person pushed. */
    SCRATCH_JUDGE,
    SCRATCH_CUSTOM,
    SCRATCH_USER_COUNT,
};

struct database_config {
    const char *name;
    bool directory;                       /* A directory of the worker; the rest is for commands. */
    const char *create, *drop;            /* By /bin/sh -c, with $DROVER_DATABASE. */
    const char *url;                      /* {database} in it; NULL: the database's name alone. */
    const char *variable;                 /* Where commands find url. */
    const char *env[SCRATCH_ENV_MAX + 1]; /* Names that create and drop get of the worker's. */
    int64_t timeout_ms;                   /* Of each. */
    unsigned users;                       /* enum scratch_user */
};

struct scratch_config {
    int64_t ports;
    struct database_config databases[SCRATCH_DATABASES_MAX];
    size_t database_count;
};
#endif
