/*
 * token.c - tokens: token create, list, revoke.
 *
 * A new token goes to a file that only its owner can read (--out), or to stdout and nothing else
 * with it.
 */
#include "base/clock.h"
#include "base/fd.h"
#include "base/jw.h"
#include "base/str.h"
#include "cli/client.h"
#include "cli/span.h"
#include "cli/table.h"
#include "core/role.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BODY_BYTES = 1024, DAYS_MAX = 3660, TOKEN_LINE_BYTES = 512 };

/* "A,B" */
static void write_list(struct jw *jw, const char *key, const char *list)
{
    if (list == NULL)
        return;
    jw_key(jw, key);
    jw_begin(jw, '[');
    for (const char *at = list; at != NULL;
         at = strchr(at, ',') != NULL ? strchr(at, ',') + 1 : NULL)
        jw_strn(jw, at, strcspn(at, ","));
    jw_end(jw, ']');
}

/* Made before the token is: a token that cannot be kept must not exist. */
static enum rc open_out(const char *path, int *ret_fd, struct err *err)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd >= 0) {
        *ret_fd = fd;
        return RC_OK;
    }
    if (errno == EEXIST)
        return err_set(err, RC_CONFLICT, "FILE_EXISTS",
                       "%.300s is there already: name another file, or remove it first", path);
    return err_set(err, RC_IO, "IO_ERROR", "cannot make %.300s: %s", path, strerror(errno));
}

static enum rc write_out(int fd, const char *token, struct err *err)
{
    char line[TOKEN_LINE_BYTES];
    int len = snprintf(line, sizeof line, "%s\n", token);
    enum rc rc = fd_write_all(fd, line, (size_t)len, err);
    explicit_bzero(line, sizeof line);
    if (rc == RC_OK && fsync(fd) != 0)
        rc = err_set(err, RC_IO, "IO_ERROR", "cannot write the token's file: %s", strerror(errno));
    return rc;
}

static void warn_of_open_file(void)
{
    struct stat status;
    if (fstat(STDOUT_FILENO, &status) == 0 && S_ISREG(status.st_mode) && (status.st_mode & 077))
        (void)fprintf(stderr, "Other users may be able to read this file: make it with --out FILE, "
                              "or chmod 600.\n");
}

/* Where the answer goes. */
static enum rc keep_answer(const struct cli *cli, const struct cli_answer *answer, int out_fd,
                           struct err *err)
{
    const char *token = js_get_str(answer->tree, "token", "");
    const char *id = js_get_str(answer->tree, "id", "");
    if (cli->json) {
        cli_print_json(answer);
        return RC_OK;
    }
    if (out_fd >= 0) {
        enum rc rc = write_out(out_fd, token, err);
        if (rc == RC_OK)
            (void)printf("%s\n", id);
        return rc;
    }
    (void)printf("%s\n", token);
    warn_of_open_file();
    (void)fprintf(stderr, "Keep it: it is shown only now. Revoke it with: drover token revoke %s\n",
                  id);
    return RC_OK;
}

static enum rc create(struct cli *cli, const struct http_call *call, const char *out,
                      struct err *err)
{
    CLEANUP(cli_answer_release) struct cli_answer answer = {0};
    CLEANUP(fd_closep) int out_fd = -1;
    enum rc rc = out != NULL ? open_out(out, &out_fd, err) : RC_OK;
    if (rc != RC_OK)
        return rc;
    rc = cli_call(cli, call, &answer, err);
    if (rc == RC_OK)
        rc = keep_answer(cli, &answer, out_fd, err);
    if (rc == RC_OK && out != NULL)
        (void)fprintf(
            stderr,
            "The token is in %s, readable by its owner only. Revoke it with: drover token "
            "revoke %s\n",
            out, js_get_str(answer.tree, "id", ""));
    if (rc != RC_OK && out != NULL)
        (void)unlink(out);
    return rc;
}

static int run_create(struct cli *cli)
{
    struct err err = {0};
    const char *out = args_text(&cli->args, "out", NULL);
    const char *name = args_text(&cli->args, "name", NULL);
    const char *role = args_text(&cli->args, "role", NULL);
    const char *expires = args_text(&cli->args, "expires", NULL);
    int64_t span_us = 0;
    if (name == NULL || role == NULL)
        return cli_usage(cli, "say --name and --role");
    if (out != NULL && cli->json)
        return cli_usage(cli, "say --out or --json, not both");
    bool fits = expires == NULL ||
                (span_parse(expires, &span_us) && span_us > 0 && span_us <= DAYS_MAX * US_PER_DAY);
    if (!fits)
        return cli_usage(cli, "--expires is like 30d, 12h or 45m, not %s", expires);
    CLEANUP(buf_release) struct buf body;
    char at[TIME_TEXT_BYTES];
    struct clock clock = clock_real();
    buf_init(&body, BODY_BYTES);
    struct jw jw = jw_to(&body);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "name", name);
    jw_kstr(&jw, "role", role);
    write_list(&jw, "queues", args_text(&cli->args, "queues", NULL));
    write_list(&jw, "writes", args_text(&cli->args, "writes", NULL));
    jw_optstr(&jw, "agent", args_text(&cli->args, "agent", NULL));
    if (span_us > 0)
        jw_kstr(&jw, "expiresAt", time_format(at, clock_now_us(&clock) + span_us));
    jw_end(&jw, '}');
    if (body.overflow)
        return cli_usage(cli, "--name and --queues are too long: up to 64 and 200 bytes");
    const struct http_call call = {.method = "POST", .path = "/v1/tokens", .body = buf_str(&body)};
    enum rc rc = create(cli, &call, out, &err);
    return rc == RC_OK ? CLI_DONE : cli_fail(cli, rc, &err);
}

/* "A,B", as token create takes it; "-": every queue. */
static const char *queues_text(struct cli *cli, const struct js *item)
{
    const struct js *queues = js_get(item, "queues");
    const char *text = "-";
    for (size_t i = 0; i < js_count(queues); i++) {
        const char *name = js_str(js_at(queues, i), "");
        text = i == 0 ? name : arena_printf(&cli->arena, "%s,%s", text, name);
    }
    return text;
}

static void tokens_table(struct cli *cli, const struct cli_listing *listing)
{
    static const struct table_column columns[] = {
        {"ID", false, false},      {"NAME", false, true},       {"ROLE", false, false},
        {"CREATED", false, false}, {"LAST USED", false, false}, {"EXPIRES", false, false},
        {"REVOKED", false, false}, {"QUEUES", false, false},
    };
    static const char *const times[] = {"createdAt", "lastUsedAt", "expiresAt", "revokedAt"};
    struct table table;
    table_init(&table, &cli->term, columns, COUNT_OF(columns), &cli->arena);
    for (size_t i = 0; i < listing->count; i++) {
        const struct js *item = listing->items[i];
        table_cell(&table, js_get_str(item, "id", ""), TONE_DIM);
        table_cell(&table, js_get_str(item, "name", ""), TONE_BOLD);
        table_cell(&table, js_get_str(item, "role", ""), TONE_PLAIN);
        for (size_t j = 0; j < COUNT_OF(times); j++)
            table_cell(&table, term_time(&cli->term, js_get_str(item, times[j], NULL), &cli->arena),
                       TONE_DIM);
        table_cell(&table, queues_text(cli, item), TONE_PLAIN);
    }
    table_print(&table, stdout);
}

static int run_list(struct cli *cli)
{
    struct err err = {0};
    CLEANUP(cli_listing_release) struct cli_listing listing = {0};
    enum rc rc = cli_list(cli, "/v1/tokens", &listing, &err);
    if (rc != RC_OK)
        return cli_fail(cli, rc, &err);
    if (cli->json)
        cli_listing_print_json(cli, &listing);
    else if (listing.count == 0)
        (void)printf("No tokens but admin.token.\n");
    else
        tokens_table(cli, &listing);
    return CLI_DONE;
}

static int run_revoke(struct cli *cli)
{
    struct err err = {0};
    CLEANUP(cli_answer_release) struct cli_answer answer = {0};
    const char *id = args_word(&cli->args, 0);
    const struct http_call call = {.method = "DELETE",
                                   .path = cli_path(cli, "/v1/tokens/", id, "")};
    enum rc rc = cli_call(cli, &call, &answer, &err);
    if (rc != RC_OK)
        return cli_fail(cli, rc, &err);
    (void)printf("Revoked %s.\n", id);
    return CLI_DONE;
}

static const struct arg_option create_options[] = {
    {"name", "NAME", "who it is for; events name it as their actor", ARG_TEXT, 0, 0, NULL},
    {"role", "ROLE", "viewer, operator, worker or admin", ARG_CHOICE, 0, 0, role_token_names},
    {"queues", "A,B",
     "role worker: for jobs of these queues (full names) only; not for drover worker", ARG_TEXT, 0,
     0, NULL},
    {"writes", "A,B",
     "writes events of issues as cto, dev-agent, review-agent or ci (role worker or operator)",
     ARG_TEXT, 0, 0, NULL},
    {"agent", "NAME", "with --writes: for this agent only", ARG_TEXT, 0, 0, NULL},
    {"out", "FILE", "write the token to this new file, mode 0600, and print its id", ARG_TEXT, 0, 0,
     NULL},
    {"expires", "TIME", "how long it is good, like 30d, 12h or 45m (default: for ever)", ARG_TEXT,
     0, 0, NULL},
    {0},
};
static const struct arg_option list_options[] = {CLI_LIMIT_OPTION, {0}};

const struct cli_command cli_token_commands[] = {
    {"token create", "make a token and print it; it is shown only once",
     "--name NAME --role ROLE [--queues A,B] [--writes A,B [--agent NAME]] [--expires TIME] [--out "
     "FILE] [--json]",
     create_options,
     "drover token create --name build-1 --role worker --expires 30d --out worker.token", NULL, 0,
     0, CLI_REMOTE | CLI_JSON, run_create},
    {"token list", "list the tokens, without their secrets", "[--limit N] [--json]", list_options,
     "drover token list", NULL, 0, 0, CLI_REMOTE | CLI_JSON, run_list},
    {"token revoke", "make a token worthless at once", "ID", NULL,
     "drover token revoke 01a1e111-4280-788b-8f9d-658fd086a1f4", "drover token list", 1, 1,
     CLI_REMOTE, run_revoke},
    {0},
};
