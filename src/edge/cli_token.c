/*
 * cli_token.c - tokens: token create, list, revoke.
 *
 * A new token goes to stdout and nothing else does, so that `drover token create ... >FILE` makes
 * a token file.
 */
#include "base/clock.h"
#include "base/jw.h"
#include "base/str.h"
#include "core/role.h"
#include "edge/cli_client.h"
#include "edge/cli_span.h"
#include "edge/cli_table.h"
#include <stdio.h>
#include <string.h>

enum { BODY_BYTES = 1024, DAYS_MAX = 3660 };

/* "A,B" */
static void write_queues(struct jw *jw, const char *list)
{
    if (list == NULL)
        return;
    jw_key(jw, "queues");
    jw_begin(jw, '[');
    for (const char *at = list; at != NULL; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        jw_strn(jw, at, strcspn(at, ","));
    jw_end(jw, ']');
}

static int run_create(struct cli *cli)
{
    struct err err = {0};
    const char *name = args_text(&cli->args, "name", NULL);
    const char *role = args_text(&cli->args, "role", NULL);
    const char *expires = args_text(&cli->args, "expires", NULL);
    int64_t span_us = 0;
    if (name == NULL || role == NULL)
        return cli_usage(cli, "say --name and --role");
    bool fits = expires == NULL ||
                (span_parse(expires, &span_us) && span_us > 0 && span_us <= DAYS_MAX * US_PER_DAY);
    if (!fits)
        return cli_usage(cli, "--expires is like 30d, 12h or 45m, not %s", expires);
    CLEANUP(buf_release) struct buf body;
    CLEANUP(cli_answer_release) struct cli_answer answer = {0};
    char at[TIME_TEXT_BYTES];
    struct clock clock = clock_real();
    buf_init(&body, BODY_BYTES);
    struct jw jw = jw_to(&body);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "name", name);
    jw_kstr(&jw, "role", role);
    write_queues(&jw, args_text(&cli->args, "queues", NULL));
    if (span_us > 0)
        jw_kstr(&jw, "expiresAt", time_format(at, clock_now_us(&clock) + span_us));
    jw_end(&jw, '}');
    if (body.overflow)
        return cli_usage(cli, "--name and --queues are too long: up to 64 and 200 bytes");
    const struct http_call call = {.method = "POST", .path = "/v1/tokens", .body = buf_str(&body)};
    enum rc rc = cli_call(cli, &call, &answer, &err);
    if (rc != RC_OK)
        return cli_fail(cli, rc, &err);
    if (cli->json)
        cli_print_json(&answer);
    else
        (void)printf("%s\n", js_get_str(answer.tree, "token", ""));
    if (!cli->json)
        (void)fprintf(stderr,
                      "Keep it: it is shown only now. Revoke it with: drover token revoke "
                      "%s\n",
                      js_get_str(answer.tree, "id", ""));
    return CLI_DONE;
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
    {"expires", "TIME", "how long it is good, like 30d, 12h or 45m (default: for ever)", ARG_TEXT,
     0, 0, NULL},
    {0},
};
static const struct arg_option list_options[] = {CLI_LIMIT_OPTION, {0}};

const struct cli_command cli_token_commands[] = {
    {"token create", "make a token and print it; it is shown only once",
     "--name NAME --role ROLE [--queues A,B] [--expires TIME] [--json]", create_options,
     "drover token create --name build-1 --role worker --expires 30d >worker.token", NULL, 0, 0,
     CLI_REMOTE | CLI_JSON, run_create},
    {"token list", "list the tokens, without their secrets", "[--limit N] [--json]", list_options,
     "drover token list", NULL, 0, 0, CLI_REMOTE | CLI_JSON, run_list},
    {"token revoke", "make a token worthless at once", "ID", NULL,
     "drover token revoke 01a1e111-4280-788b-8f9d-658fd086a1f4", "drover token list", 1, 1,
     CLI_REMOTE, run_revoke},
    {0},
};
