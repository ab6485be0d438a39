/*
 * cmd_prune.c - drover prune: lists what runs have left on this machine, and deletes it with --yes.
 *
 * It works on the data directory of a server or a worker, not through the server: what a worker has
 * left is on the worker's own disk, may be read by its operators only, and must be accessible also
 * when the server or the worker is down.  A server or a worker may run meanwhile: mirrors are
 * changed under their lock, and nothing of a run with a directory at work is listed.  If a server
 * answers here, what its retention keeps past its time is shown as well.
 */
#include "base/clock.h"
#include "base/fd.h"
#include "base/jw.h"
#include "base/str.h"
#include "cli/client.h"
#include "cli/paths.h"
#include "cli/retention.h"
#include "cli/show.h"
#include "cli/table.h"
#include "work/tree/retention.h"
#include <stdio.h>

enum { SERVER_MS = 5000, PLACES_MAX = 2, DAYS_MAX = 36500, JSON_BYTES_MAX = 64 * 1024 * 1024 };

/* A work directory, and what is in it. */
struct place {
    struct retention retention;
    const char *worker;
    const struct retention_item *items;
};

struct prune {
    struct cli *cli;
    struct place places[PLACES_MAX];
    size_t place_count;
    int64_t now_us;
    int64_t before_us; /* Only what is older. */
    const char *repository;
    int64_t count, bytes, unpublished; /* Of what was chosen. */
    int64_t deleted, failed;
    int64_t withheld; /* Not listed: their runs have a directory. */
};

/* ---- what there is ---- */

static void add_place(struct prune *prune, const char *work_dir)
{
    struct cli *cli = prune->cli;
    if (prune->place_count == PLACES_MAX || !file_exists(work_dir))
        return;
    int64_t withheld = 0;
    struct place *place = &prune->places[prune->place_count++];
    place->retention = (struct retention){.work_dir = work_dir, .cancel = cli->stop};
    place->worker = retention_worker(&place->retention, &cli->arena);
    place->items = retention_list(&place->retention, &cli->arena, &withheld);
    prune->withheld += withheld;
}

/* Without --data: where `drover serve` and `drover worker` keep theirs by default. */
static enum rc find_places(struct prune *prune, struct err *err)
{
    struct cli *cli = prune->cli;
    const char *flag = args_text(&cli->args, "data", NULL), *data = NULL;
    enum rc rc = cli_data_dir(flag, &cli->arena, &data, err);
    if (rc != RC_OK)
        return rc;
    add_place(prune, arena_printf(&cli->arena, "%s/work", data));
    if (flag == NULL)
        add_place(prune, arena_printf(&cli->arena, "%s/worker/work", data));
    if (prune->place_count == 0)
        return err_set(err, RC_NOT_FOUND, "NO_WORK_DIRECTORY",
                       "%.300s has no work directory: give the data directory of the server or the "
                       "worker on this machine with --data",
                       data);
    return RC_OK;
}

static bool is_chosen(const struct prune *prune, const struct retention_item *item)
{
    const struct args *args = &prune->cli->args;
    bool named = args->word_count == 0;
    for (size_t i = 0; i < args->word_count && !named; i++)
        named = text_same(args->words[i], item->run_id.text);
    return named && item->put_us <= prune->before_us &&
           (prune->repository == NULL || text_same(prune->repository, item->repository));
}

/* Calls visit for all that was chosen. */
static void each_item(struct prune *prune,
                      void (*visit)(struct prune *prune, const struct place *place,
                                    const struct retention_item *item, void *ctx),
                      void *ctx)
{
    for (size_t i = 0; i < prune->place_count; i++) {
        const struct place *place = &prune->places[i];
        for (const struct retention_item *item = place->items; item != NULL; item = item->next) {
            if (is_chosen(prune, item))
                visit(prune, place, item, ctx);
        }
    }
}

static void count_item(struct prune *prune, const struct place *place,
                       const struct retention_item *item, void *ctx)
{
    (void)place, (void)ctx;
    prune->count++;
    prune->bytes += item->bytes;
    prune->unpublished += !item->published;
}

/* ---- what is shown ---- */

static void add_row(struct prune *prune, const struct place *place,
                    const struct retention_item *item, void *ctx)
{
    struct table *table = ctx;
    struct arena *arena = &prune->cli->arena;
    table_cell(table, retention_kind_name(item->kind), TONE_PLAIN);
    table_cell(table, item->run_id.text, TONE_PLAIN);
    table_cell(table, item->repository != NULL ? item->repository : "-", TONE_PLAIN);
    table_cell(table, place->worker, TONE_PLAIN);
    table_cell(table, term_ago(arena, prune->now_us, item->put_us), TONE_DIM);
    table_cell(table, term_bytes(arena, item->bytes), TONE_PLAIN);
    table_cell(table, item->published ? "yes" : "no", item->published ? TONE_PLAIN : TONE_YELLOW);
    table_cell(table, item->path, TONE_DIM);
}

static void print_table(struct prune *prune)
{
    static const struct table_column columns[] = {
        {"KIND", false, false},      {"RUN", false, false}, {"REPOSITORY", false, false},
        {"WORKER", false, false},    {"PUT", false, false}, {"SIZE", true, false},
        {"PUBLISHED", false, false}, {"PATH", false, true},
    };
    struct table table;
    table_init(&table, &prune->cli->term, columns, COUNT_OF(columns), &prune->cli->arena);
    each_item(prune, add_row, &table);
    table_print(&table, stdout);
}

static void write_item(struct prune *prune, const struct place *place,
                       const struct retention_item *item, void *ctx)
{
    (void)prune;
    struct jw *jw = ctx;
    jw_begin(jw, '{');
    jw_kstr(jw, "kind", retention_kind_name(item->kind));
    jw_kstr(jw, "runId", item->run_id.text);
    jw_kstr(jw, "repository", item->repository);
    jw_kstr(jw, "worker", place->worker);
    jw_ktime(jw, "putAt", item->put_us);
    jw_kint(jw, "bytes", item->bytes);
    jw_kint(jw, "count", item->count);
    jw_kbool(jw, "published", item->published);
    jw_kstr(jw, "path", item->path);
    jw_end(jw, '}');
}

/* What the server of this machine keeps past its time; without a server nothing is shown. */
static void ask_server(struct prune *prune, struct cli_answer *answer)
{
    struct err err = {0};
    const struct http_call call = {
        .method = "GET", .path = "/v1/retention", .timeout_ms = SERVER_MS};
    if (cli_call(prune->cli, &call, answer, &err) != RC_OK) {
        cli_answer_release(answer);
        *answer = (struct cli_answer){0};
    }
}

static void print_json(struct prune *prune, const struct cli_answer *answer)
{
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, JSON_BYTES_MAX);
    struct jw jw = jw_to(&text);
    jw_begin(&jw, '{');
    jw_key(&jw, "items");
    jw_begin(&jw, '[');
    each_item(prune, write_item, &jw);
    jw_end(&jw, ']');
    jw_kint(&jw, "deleted", prune->deleted);
    jw_kint(&jw, "failed", prune->failed);
    jw_kint(&jw, "withheld", prune->withheld);
    jw_kraw(&jw, "retention", answer->tree != NULL ? buf_str(&answer->body) : (struct str){0});
    jw_end(&jw, '}');
    (void)printf("%s\n", buf_text(&text));
}

static void print_text(struct prune *prune, bool yes)
{
    struct arena *arena = &prune->cli->arena;
    if (prune->withheld > 0)
        (void)printf("Not listed: %lld that belong to runs with a directory here. A run is at "
                     "work, or the worker removes its directory after a day without use.\n",
                     (long long)prune->withheld);
    if (prune->count == 0) {
        (void)printf("There is nothing to delete.\n");
        return;
    }
    print_table(prune);
    (void)printf("%lld %s, %s; %lld not published.\n", (long long)prune->count,
                 prune->count == 1 ? "item" : "items", term_bytes(arena, prune->bytes),
                 (long long)prune->unpublished);
    if (yes)
        (void)printf("%lld deleted.\n", (long long)prune->deleted);
    else
        (void)printf("Nothing was deleted. The same command with --yes deletes what is listed.\n");
}

/* ---- deleting ---- */

static void delete_item(struct prune *prune, const struct place *place,
                        const struct retention_item *item, void *ctx)
{
    (void)ctx;
    struct err err = {0};
    if (retention_remove(&place->retention, item, &err) == RC_OK) {
        prune->deleted++;
        return;
    }
    prune->failed++;
    (void)fprintf(stderr, "drover: %s of run %s stays: %s\n", retention_kind_name(item->kind),
                  item->run_id.text, err.text);
}

static int run_prune(struct cli *cli)
{
    struct err err = {0};
    struct clock clock = clock_real();
    struct prune prune = {.cli = cli,
                          .now_us = clock_now_us(&clock),
                          .repository = args_text(&cli->args, "repo", NULL)};
    prune.before_us = prune.now_us - args_int(&cli->args, "older-than", 0) * US_PER_DAY;
    for (size_t i = 0; i < cli->args.word_count; i++) {
        struct id id;
        if (!id_parse(cli->args.words[i], &id))
            return cli_usage(cli, "%.60s is not the id of a run", cli->args.words[i]);
    }
    enum rc rc = find_places(&prune, &err);
    if (rc != RC_OK)
        return cli_fail(cli, rc, &err);
    bool yes = args_has(&cli->args, "yes");
    each_item(&prune, count_item, NULL);
    if (yes)
        each_item(&prune, delete_item, NULL);
    CLEANUP(cli_answer_release) struct cli_answer answer = {0};
    ask_server(&prune, &answer);
    if (cli->json)
        print_json(&prune, &answer);
    else
        print_text(&prune, yes);
    if (!cli->json)
        cli_print_kept(cli, answer.tree);
    return prune.failed > 0 ? CLI_FAILED : CLI_DONE;
}

static const struct arg_option prune_options[] = {
    {"data", "DIR",
     "the data directory of the server or worker on this machine (default: $DROVER_DATA, or where "
     "both keep theirs)",
     ARG_TEXT, 0, 0, NULL},
    {"older-than", "DAYS", "only what was put there so many days ago, or earlier", ARG_INT, 0,
     DAYS_MAX, NULL},
    {"repo", "NAME", "only of this repository", ARG_TEXT, 0, 0, NULL},
    {"yes", NULL, "delete what is listed; without it nothing is deleted", ARG_FLAG, 0, 0, NULL},
    {"server", "URL", "the server whose retention is shown (default: as for other commands)",
     ARG_TEXT, 0, 0, NULL},
    {"token-file", "FILE", "read the token for it there", ARG_TEXT, 0, 0, NULL},
    {0},
};

const struct cli_command cli_prune_commands[] = {
    {"prune", "list and delete the work that runs have left on this machine",
     "[RUN...] [--data DIR] [--older-than DAYS] [--repo NAME] [--yes] [--json]", prune_options,
     "drover prune --older-than 90", "drover doctor", 0, 100, CLI_JSON, run_prune},
    {0},
};
