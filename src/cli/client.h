/*
 * client.h - how commands reach the server.
 *
 *     address   --server, else server.json under --data, else $DROVER_SOCKET (inside a sandbox),
 *               else $DROVER_URL, else server.json of the data directory (paths.h), else
 *               http://127.0.0.1:8717
 *     token     --token-file, else $DROVER_TOKEN, else admin.token of the data directory
 *
 * admin.token goes only to this machine or to the server that server.json names: an address
 * given by hand must not be able to collect it.
 */
#ifndef CLI_CLIENT_H
#define CLI_CLIENT_H
#include "base/buf.h"
#include "base/js.h"
#include "base/jw.h"
#include "cli/command.h"

enum { CLI_PAGE_ITEMS = 200, CLI_LIMIT_DEFAULT = 50, CLI_LIMIT_MAX = 10000 };

/* By the rules above; the token may be NULL.  In the arena, or the environment's. */
MUST_USE enum rc cli_find_server(struct cli *cli, const char **ret_url, const char **ret_token,
                                 struct err *err);
/* The same for an HTTP client: its socket too, where that is the way.  The texts as above. */
MUST_USE enum rc cli_find_target(struct cli *cli, struct http_client_options *ret_options,
                                 struct err *err);
/* Makes cli->client if it is not there yet. */
MUST_USE enum rc cli_connect(struct cli *cli, struct err *err);

/* The token for a server that is named by hand; NULL: there is none. */
MUST_USE enum rc cli_token_for(struct cli *cli, const char *url, const char **ret_token,
                               struct err *err);

/* The default name of a worker: HOST-PID. */
const char *cli_own_name(struct arena *arena);

struct cli_answer {
    struct buf body; /* As received. */
    struct js *tree; /* NULL when there was no body. */
};
void cli_answer_release(struct cli_answer *answer); /* For CLEANUP; start from {0}. */

/* The answer is a JSON document, or empty. */
MUST_USE enum rc cli_call(struct cli *cli, const struct http_call *call,
                          struct cli_answer *ret_answer, struct err *err);
MUST_USE enum rc cli_get(struct cli *cli, const char *path, struct cli_answer *ret_answer,
                         struct err *err);
/* The body of calls that take a reason: the text of --reason, or {}; in the arena. */
struct str cli_reason_body(struct cli *cli);
/* POST of {key: text}, where text is the words of the command line from `first` on, or standard
   input for "-". */
struct cli_text_post {
    const char *path;
    const char *key;
    size_t first;
};
MUST_USE enum rc cli_post_text(struct cli *cli, const struct cli_text_post *post,
                               struct cli_answer *ret_answer, struct err *err);
/* "key": [values of a repeated option]; nothing at all when it was not given. */
void cli_write_list(const struct cli *cli, struct jw *jw, const char *option, const char *key);
/* prefix + escaped name + suffix, in the arena. */
const char *cli_path(struct cli *cli, const char *prefix, const char *name, const char *suffix);
/* Prints the body as received, and a newline. */
void cli_print_json(const struct cli_answer *answer);

/* A listing, page by page, newest first. */
struct cli_pager {
    const char *path; /* With its filters. */
    int64_t left;     /* Items still wanted. */
    bool ended;
    const char *cursor; /* NULL: the first page. */
};
/* Reads the next page; an ended pager answers with no items (a NULL tree). */
MUST_USE enum rc cli_pager_next(struct cli *cli, struct cli_pager *pager,
                                struct cli_answer *ret_answer, struct err *err);

/* All pages up to the limit. */
struct cli_listing {
    struct cli_answer *pages; /* In the arena. */
    size_t page_count;
    const struct js **items;
    size_t count;
    const char *cursor; /* Where it continues, or NULL. */
};
void cli_listing_release(struct cli_listing *listing); /* For CLEANUP; start from {0}. */
/* With --limit or its default. */
MUST_USE enum rc cli_list(struct cli *cli, const char *path, struct cli_listing *listing,
                          struct err *err);
/* One page as received, several merged into one. */
void cli_listing_print_json(struct cli *cli, const struct cli_listing *listing);
/* The option that goes with cli_list. */
#define CLI_LIMIT_OPTION                                                                       \
    {                                                                                          \
        "limit", "N", "at most so many, newest first (default 50)", ARG_INT, 1, CLI_LIMIT_MAX, \
            NULL                                                                               \
    }
#endif
