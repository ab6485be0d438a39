/*
 * ids.h - which task, run, dead letter, saga, memory or batch a word on the command line means.
 *
 *     a whole id          that one; a task where a run is wanted means its latest run, and a run
 *                         where a task is wanted means its task
 *     the start of an id  (at least ID_PREFIX_MIN characters) if only one begins like that
 *     latest              the newest one
 *
 * Ids begin with their time, so ids of one moment have a long common prefix: tables show as many
 * characters as distinguish them.
 */
#ifndef CLI_IDS_H
#define CLI_IDS_H
#include "base/id.h"
#include "base/js.h"
#include "cli/command.h"

enum { ID_PREFIX_MIN = 6, ID_SHORT_MIN = 13, ID_CANDIDATES_MAX = 8 };

/* RC_NOT_FOUND, or RC_MALFORMED: INVALID_ID, AMBIGUOUS_ID with the candidates. */
MUST_USE enum rc cli_resolve_task(struct cli *cli, const char *word, struct id *ret_id,
                                  struct err *err);
MUST_USE enum rc cli_resolve_run(struct cli *cli, const char *word, struct id *ret_id,
                                 struct err *err);
/* A job that is a dead letter, a saga, a memory, a batch; a whole id is not looked up. */
MUST_USE enum rc cli_resolve_dead_letter(struct cli *cli, const char *word, struct id *ret_id,
                                         struct err *err);
MUST_USE enum rc cli_resolve_saga(struct cli *cli, const char *word, struct id *ret_id,
                                  struct err *err);
MUST_USE enum rc cli_resolve_memory(struct cli *cli, const char *word, struct id *ret_id,
                                    struct err *err);
MUST_USE enum rc cli_resolve_batch(struct cli *cli, const char *word, struct id *ret_id,
                                   struct err *err);
/* What waits for a person: the start of its id, or of that of its run or task; latest: the newest
   that waits.  A whole id is sent to the server as it is. */
struct cli_waiting {
    const char *noun;    /* "approval" */
    const char *listing; /* "/v1/approvals" */
    bool also_past;      /* One that does not wait any more, too. */
};
MUST_USE enum rc cli_resolve_waiting(struct cli *cli, const struct cli_waiting *what,
                                     const char *word, struct id *ret_id, struct err *err);
/* The newest run of a task document; none when it has none. */
struct id cli_latest_run(const struct js *task);

/* Ids that match a word, each once. */
struct id_search {
    const char *word;
    struct id found[ID_CANDIDATES_MAX];
    size_t count; /* May be larger than found: the rest is counted only. */
};
/* Can the word be the start of an id? */
bool id_prefix_valid(const char *word);
void id_search_add(struct id_search *search, const struct id *id);
/* Adds the items of a listing that match. */
struct item_walk {
    const char *path;
    int64_t max; /* Items that are examined. */
    bool (*is_meant)(const struct js *item, const struct id_search *search, const void *ctx);
    const void *ctx;
};
MUST_USE enum rc id_search_items(struct cli *cli, const struct item_walk *walk,
                                 struct id_search *search, struct err *err);
MUST_USE enum rc id_search_end(const struct id_search *search, const char *what, struct id *ret_id,
                               struct err *err);

/* How many characters distinguish the ids of a listing, at least ID_SHORT_MIN. */
size_t id_short_len(const struct js *const *items, size_t count, const char *key);
/* The member, short on a terminal that is not wide. */
const char *cli_id_shown(struct cli *cli, const struct js *item, const char *key, size_t len);
#endif
