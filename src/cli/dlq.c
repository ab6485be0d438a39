/*
 * dlq.c - dead letters: dlq list, show, analyze, replay, archive, purge.
 *
 * Commands that change dead letters take ids, or a filter, or --all, and have no default.  The
 * server takes a thousand in one call; with a filter the call is repeated until none remains.
 */
#include "base/clock.h"
#include "base/fd.h"
#include "base/jw.h"
#include "base/str.h"
#include "cli/client.h"
#include "cli/ids.h"
#include "cli/show.h"
#include "cli/span.h"
#include "cli/table.h"
#include "net/url.h"
#include <stdio.h>
#include <string.h>

enum {
    PATH_BYTES_MAX = 4096,
    BODY_BYTES_MAX = 1024 * 1024,
    PATCH_BYTES_MAX = 512 * 1024,
    IDS_MAX = 1000,
    CALLS_MAX = 1000,
    REFUSED_SHOWN_MAX = 20,
    REFUSED_BYTES_MAX = 16 * 1024
};

/* ---- filters ---- */

static const char *const reasons[] = {"max_attempts",   "expired", "rejected", "non_retryable",
                                      "policy_blocked", "poison",  NULL};
static const char *const archived_words[] = {"true", "false", "all", NULL};

#define FILTER_OPTIONS                                                                             \
    {"queue", "NAME", "only of this queue", ARG_TEXT, 0, 0, NULL},                                 \
        {"type", "TYPE", "only jobs of this type", ARG_TEXT, 0, 0, NULL},                          \
        {"reason", "REASON", "only those that died of this", ARG_CHOICE, 0, 0, reasons},           \
        {"error-code", "CODE", "only those whose last error has this code", ARG_TEXT, 0, 0, NULL}, \
        {"pattern", "TEXT", "only those of this error pattern, as dlq analyze shows it",           \
         ARG_TEXT,  0,      0,                                                                     \
         NULL},                                                                                    \
        {"since",  "TIME", "only those that died since (2026-07-03T12:00:00Z, or an age: 2h)",     \
         ARG_TEXT, 0,      0,                                                                      \
         NULL},                                                                                    \
    {                                                                                              \
        "until", "TIME", "only those that died before", ARG_TEXT, 0, 0, NULL                       \
    }
#define ARCHIVED_OPTION                                                               \
    {                                                                                 \
        "archived", "WHICH", "those put aside: true, false or all", ARG_CHOICE, 0, 0, \
            archived_words                                                            \
    }

static const struct {
    const char *option, *field;
} text_fields[] = {{"queue", "queue"},
                   {"type", "type"},
                   {"reason", "reason"},
                   {"error-code", "errorCode"},
                   {"pattern", "pattern"}};
static const char *const time_fields[] = {"since", "until"};

struct filter {
    const char *times[COUNT_OF(time_fields)]; /* In the server's format; NULL: not given. */
    const char *archived;                     /* NULL: not given. */
    bool given;                               /* Any of it. */
};

/* false: the usage was printed. */
static bool read_filter(struct cli *cli, bool archived, struct filter *ret_filter)
{
    struct filter filter = {.given = false};
    for (size_t i = 0; i < COUNT_OF(text_fields); i++)
        filter.given |= args_has(&cli->args, text_fields[i].option);
    for (size_t i = 0; i < COUNT_OF(time_fields); i++) {
        const char *text = args_text(&cli->args, time_fields[i], NULL);
        int64_t time_us = 0;
        char shown[TIME_TEXT_BYTES];
        if (text == NULL)
            continue;
        if (!span_time_parse(text, cli->term.now_us, &time_us)) {
            (void)cli_usage(cli, "--%s takes a time (2026-07-03T12:00:00Z) or an age (2h), not %s",
                            time_fields[i], text);
            return false;
        }
        filter.times[i] = arena_strdup(&cli->arena, time_format(shown, time_us));
        filter.given = true;
    }
    filter.archived = archived ? args_text(&cli->args, "archived", NULL) : NULL;
    filter.given |= filter.archived != NULL;
    *ret_filter = filter;
    return true;
}

static void filter_to_query(struct cli *cli, const struct filter *filter, struct buf *path)
{
    for (size_t i = 0; i < COUNT_OF(text_fields); i++) {
        const char *text = args_text(&cli->args, text_fields[i].option, NULL);
        if (text != NULL)
            url_add_query(path, text_fields[i].field, text);
    }
    for (size_t i = 0; i < COUNT_OF(time_fields); i++) {
        if (filter->times[i] != NULL)
            url_add_query(path, time_fields[i], filter->times[i]);
    }
    if (filter->archived != NULL)
        url_add_query(path, "archived", filter->archived);
}

static void filter_to_body(struct cli *cli, const struct filter *filter, struct jw *jw)
{
    jw_key(jw, "filter");
    jw_begin(jw, '{');
    for (size_t i = 0; i < COUNT_OF(text_fields); i++)
        jw_optstr(jw, text_fields[i].field, args_text(&cli->args, text_fields[i].option, NULL));
    for (size_t i = 0; i < COUNT_OF(time_fields); i++)
        jw_optstr(jw, time_fields[i], filter->times[i]);
    jw_optstr(jw, "archived", filter->archived);
    jw_end(jw, '}');
}

/* ---- list, show, analyze ---- */

static void letters_table(struct cli *cli, const struct cli_listing *listing)
{
    static const struct table_column columns[] = {
        {"ID", false, false},     {"QUEUE", false, false},   {"TYPE", false, false},
        {"REASON", false, false}, {"ATTEMPTS", true, false}, {"DIED", false, false},
        {"ERROR", false, true},
    };
    struct table table;
    size_t len = id_short_len(listing->items, listing->count, "id");
    table_init(&table, &cli->term, columns, COUNT_OF(columns), &cli->arena);
    for (size_t i = 0; i < listing->count; i++) {
        const struct js *item = listing->items[i];
        bool archived = js_get(item, "archivedAt") != NULL;
        table_cell(&table, cli_id_shown(cli, item, "id", len), archived ? TONE_DIM : TONE_PLAIN);
        table_cell(&table, js_get_str(item, "queue", ""), TONE_BOLD);
        table_cell(&table, js_get_str(item, "type", ""), TONE_PLAIN);
        table_cell(&table, js_get_str(item, "reason", ""), TONE_RED);
        table_cell(&table, js_text(js_get(item, "attemptCount"), &cli->arena), TONE_PLAIN);
        table_cell(&table, term_time(&cli->term, js_get_str(item, "diedAt", NULL), &cli->arena),
                   TONE_DIM);
        const char *message = js_get_str(item, "errorMessage", "");
        table_cell(&table, *message != '\0' ? message : js_get_str(item, "errorCode", ""),
                   TONE_PLAIN);
    }
    table_print(&table, stdout);
}

static int run_list(struct cli *cli)
{
    struct filter filter;
    if (!read_filter(cli, true, &filter))
        return CLI_USAGE;
    CLEANUP(buf_release) struct buf path;
    buf_init(&path, PATH_BYTES_MAX);
    buf_adds(&path, "/v1/dead-letters");
    filter_to_query(cli, &filter, &path);
    return show_list(cli, &(struct show_list){buf_text(&path), "No dead letters.", letters_table});
}

static void attempts_table(struct cli *cli, const struct js *attempts)
{
    static const struct table_column columns[] = {
        {"ATTEMPT", true, false},  {"WORKER", false, false}, {"STARTED", false, false},
        {"OUTCOME", false, false}, {"CODE", false, false},   {"MESSAGE", false, true},
    };
    struct table table;
    table_init(&table, &cli->term, columns, COUNT_OF(columns), &cli->arena);
    for (size_t i = 0; i < js_count(attempts); i++) {
        const struct js *each = js_at(attempts, i), *error = js_get(each, "error");
        table_cell(&table, js_text(js_get(each, "attempt"), &cli->arena), TONE_PLAIN);
        table_cell(&table, js_get_str(each, "worker", ""), TONE_PLAIN);
        table_cell(&table, term_time(&cli->term, js_get_str(each, "startedAt", NULL), &cli->arena),
                   TONE_DIM);
        table_cell(&table, js_get_str(each, "outcome", ""), TONE_PLAIN);
        table_cell(&table, js_get_str(error, "code", ""), TONE_RED);
        table_cell(&table, js_get_str(error, "message", ""), TONE_PLAIN);
    }
    table_print(&table, stdout);
}

static void letter_details(struct cli *cli, const struct id *id, const struct js *letter)
{
    show_line(cli, "Dead letter", id->text, TONE_BOLD);
    show_member(cli, "Queue", letter, "queue");
    show_member(cli, "Type", letter, "type");
    show_line(cli, "Reason", js_get_str(letter, "reason", ""), TONE_RED);
    show_error(cli, letter);
    show_member(cli, "Pattern", letter, "errorPattern");
    show_member(cli, "Run", letter, "runId");
    show_member(cli, "Saga", letter, "sagaId");
    show_member(cli, "Ordering key", letter, "orderingKey");
    show_member(cli, "Dedup key", letter, "dedupKey");
    show_time(cli, "Enqueued", letter, "enqueuedAt");
    show_time(cli, "First try", letter, "firstAt");
    show_time(cli, "Died", letter, "diedAt");
    show_time(cli, "Archived", letter, "archivedAt");
    show_member(cli, "Headers", letter, "headers");
    show_member(cli, "Payload", letter, "payload");
    if (js_count(js_get(letter, "attempts")) > 0) {
        (void)printf("\n");
        attempts_table(cli, js_get(letter, "attempts"));
    }
    (void)printf("\n");
    show_next(cli, "Try it again", "drover dlq replay %s", id->text);
}

static int run_show(struct cli *cli)
{
    return show_one(cli, &(struct show_one){.resolve = cli_resolve_dead_letter,
                                            .prefix = "/v1/dead-letters/",
                                            .suffix = "",
                                            .print = letter_details});
}

static void groups_table(struct cli *cli, const struct js *groups)
{
    static const struct table_column columns[] = {
        {"COUNT", true, false},   {"QUEUE", false, false}, {"TYPE", false, false},
        {"REASON", false, false}, {"FIRST", false, false}, {"LAST", false, false},
        {"PATTERN", false, true},
    };
    struct table table;
    table_init(&table, &cli->term, columns, COUNT_OF(columns), &cli->arena);
    for (size_t i = 0; i < js_count(groups); i++) {
        const struct js *each = js_at(groups, i);
        table_cell(&table, js_text(js_get(each, "count"), &cli->arena), TONE_BOLD);
        table_cell(&table, js_get_str(each, "queue", ""), TONE_PLAIN);
        table_cell(&table, js_get_str(each, "type", ""), TONE_PLAIN);
        table_cell(&table, js_get_str(each, "reason", ""), TONE_RED);
        table_cell(&table, term_time(&cli->term, js_get_str(each, "firstAt", NULL), &cli->arena),
                   TONE_DIM);
        table_cell(&table, term_time(&cli->term, js_get_str(each, "lastAt", NULL), &cli->arena),
                   TONE_DIM);
        table_cell(&table, js_get_str(each, "errorPattern", ""), TONE_PLAIN);
    }
    table_print(&table, stdout);
}

static int run_analyze(struct cli *cli)
{
    struct filter filter;
    struct err err = {0};
    if (!read_filter(cli, true, &filter))
        return CLI_USAGE;
    CLEANUP(buf_release) struct buf path;
    CLEANUP(cli_answer_release) struct cli_answer answer = {0};
    buf_init(&path, PATH_BYTES_MAX);
    buf_adds(&path, "/v1/dead-letters/analysis");
    filter_to_query(cli, &filter, &path);
    enum rc rc = cli_get(cli, buf_text(&path), &answer, &err);
    if (rc != RC_OK)
        return cli_fail(cli, rc, &err);
    const struct js *groups = js_get(answer.tree, "groups");
    if (cli->json) {
        cli_print_json(&answer);
    } else if (js_count(groups) == 0) {
        (void)printf("No dead letters.\n");
    } else {
        groups_table(cli, groups);
        show_next(cli, "One of them", "drover dlq show %s",
                  shell_quote(js_get_str(js_at(groups, 0), "exampleId", ""), &cli->arena));
    }
    return CLI_DONE;
}

/* ---- replay, archive, purge ---- */

struct change {
    const char *path;
    const char *done;         /* "replayed": the member of the answer. */
    const char *told, *dry;   /* "Replayed", "Would replay" */
    bool patches, ages, asks; /* Takes --patch; --older-than; --yes. */
};

/* JSON, or @FILE that holds it. */
static enum rc read_patch(const char *text, struct js **ret_tree, struct err *err)
{
    if (text[0] != '@') {
        enum rc rc = js_parse(text, strlen(text), ret_tree, err);
        return rc == RC_OK ? RC_OK : err_wrap(err, rc, "--patch");
    }
    CLEANUP(buf_release) struct buf file;
    buf_init(&file, PATCH_BYTES_MAX);
    enum rc rc = file_read(text + 1, &file, err);
    if (rc == RC_NOT_FOUND)
        return err_set(err, RC_MALFORMED, "NO_SUCH_FILE", "there is no file %s", text + 1);
    if (rc == RC_OK)
        rc = js_parse(buf_text(&file), file.len, ret_tree, err);
    return rc == RC_OK ? RC_OK : err_wrap(err, rc, text + 1);
}

static enum rc write_ids(struct cli *cli, struct jw *jw, struct err *err)
{
    jw_key(jw, "ids");
    jw_begin(jw, '[');
    for (size_t i = 0; i < cli->args.word_count; i++) {
        struct id id;
        enum rc rc = cli_resolve_dead_letter(cli, args_word(&cli->args, i), &id, err);
        if (rc != RC_OK)
            return rc;
        jw_str(jw, id.text);
    }
    jw_end(jw, ']');
    return RC_OK;
}

static enum rc write_body(struct cli *cli, const struct change *change, const struct filter *filter,
                          int64_t older_us, struct buf *body, struct err *err)
{
    struct jw jw = jw_to(body);
    enum rc rc = RC_OK;
    jw_begin(&jw, '{');
    if (cli->args.word_count > 0)
        rc = write_ids(cli, &jw, err);
    else
        filter_to_body(cli, filter, &jw);
    if (older_us >= 0)
        jw_kint(&jw, "olderThanMs", older_us / US_PER_MS);
    jw_kbool(&jw, "dryRun", args_has(&cli->args, "dry-run"));
    if (rc == RC_OK && change->patches && args_has(&cli->args, "patch")) {
        CLEANUP(js_freep) struct js *patch = NULL;
        rc = read_patch(args_text(&cli->args, "patch", ""), &patch, err);
        jw_key(&jw, "patch");
        if (rc == RC_OK)
            js_write(&jw, patch);
    }
    jw_end(&jw, '}');
    return rc;
}

/* Those that were refused, and why; how many there are. */
static size_t print_refused(struct cli *cli, const struct js *items)
{
    size_t refused = 0;
    for (size_t i = 0; i < js_count(items); i++) {
        const struct js *item = js_at(items, i);
        if (js_get_bool(item, "ok", false))
            continue;
        if (refused++ >= REFUSED_SHOWN_MAX || cli->json)
            continue;
        CLEANUP(buf_release) struct buf safe;
        buf_init(&safe, REFUSED_BYTES_MAX);
        term_clean(&safe,
                   arena_printf(&cli->arena, "%s: %s (%s)", js_get_str(item, "id", ""),
                                js_get_str(item, "message", ""), js_get_str(item, "code", "")));
        (void)fprintf(stderr, "drover: %s\n", buf_text(&safe));
    }
    if (refused > REFUSED_SHOWN_MAX && !cli->json)
        (void)fprintf(stderr, "drover: and %zu more\n", refused - REFUSED_SHOWN_MAX);
    return refused;
}

struct total {
    int64_t matched, done, remaining;
    size_t refused;
};

/* Once, or with a filter until none remains or all that remain are refused. */
static enum rc call_server(struct cli *cli, const struct change *change, struct str body,
                           struct total *ret_total, struct err *err)
{
    bool dry = args_has(&cli->args, "dry-run");
    struct total total = {0};
    for (int i = 0; i < CALLS_MAX; i++) {
        CLEANUP(cli_answer_release) struct cli_answer answer = {0};
        const struct http_call call = {.method = "POST", .path = change->path, .body = body};
        enum rc rc = cli_call(cli, &call, &answer, err);
        if (rc != RC_OK)
            return rc;
        int64_t done = js_get_int(answer.tree, change->done, 0);
        if (i == 0)
            total.matched = js_get_int(answer.tree, "matched", 0);
        total.done += done;
        total.remaining = js_get_int(answer.tree, "remaining", 0);
        total.refused += print_refused(cli, js_get(answer.tree, "items"));
        if (cli->json)
            cli_print_json(&answer);
        if (dry || total.remaining == 0 || done == 0)
            break;
    }
    *ret_total = total;
    return RC_OK;
}

static void print_total(struct cli *cli, const struct change *change, const struct total *total)
{
    int64_t meant = total->done + total->remaining;
    if (args_has(&cli->args, "dry-run"))
        (void)printf("%s %lld dead letters. Nothing was changed.\n", change->dry, (long long)meant);
    else if (total->matched == 0 && total->refused == 0)
        (void)printf("No dead letters like that.\n");
    else
        (void)printf("%s %lld of %lld dead letters.\n", change->told, (long long)total->done,
                     (long long)total->matched);
}

/* CLI_DONE, or the usage was printed. */
static int check_choice(struct cli *cli, const struct change *change, const struct filter *filter,
                        bool aged)
{
    bool named = cli->args.word_count > 0, all = args_has(&cli->args, "all");
    if (named && (filter->given || all || aged))
        return cli_usage(cli, "give ids or a filter, not both");
    if (!named && !filter->given && !all && !aged)
        return cli_usage(cli, "give ids, a filter (--queue, --type, ...), or --all");
    if (change->asks && !named && !args_has(&cli->args, "yes") && !args_has(&cli->args, "dry-run"))
        return cli_usage(cli, "this deletes for good: look with --dry-run, then say --yes");
    return CLI_DONE;
}

static int run_change(struct cli *cli, const struct change *change)
{
    struct err err = {0};
    struct filter filter;
    struct total total = {0};
    const char *older = change->ages ? args_text(&cli->args, "older-than", NULL) : NULL;
    int64_t older_us = -1;
    if (older != NULL && !span_parse(older, &older_us))
        return cli_usage(cli, "--older-than is like 30d, 12h or 45m, not %s", older);
    if (!read_filter(cli, !text_same(change->done, "archived"), &filter))
        return CLI_USAGE;
    int status = check_choice(cli, change, &filter, older != NULL);
    if (status != CLI_DONE)
        return status;
    CLEANUP(buf_release) struct buf body;
    buf_init(&body, BODY_BYTES_MAX);
    enum rc rc = write_body(cli, change, &filter, older_us, &body, &err);
    if (rc == RC_OK)
        rc = call_server(cli, change, buf_str(&body), &total, &err);
    if (rc != RC_OK)
        return cli_fail(cli, rc, &err);
    if (!cli->json)
        print_total(cli, change, &total);
    return total.refused > 0 ? CLI_REFUSED : CLI_DONE;
}

static int run_replay(struct cli *cli)
{
    return run_change(cli, &(struct change){.path = "/v1/dead-letters/replay",
                                            .done = "replayed",
                                            .told = "Replayed",
                                            .dry = "Would replay",
                                            .patches = true});
}

static int run_archive(struct cli *cli)
{
    return run_change(cli, &(struct change){.path = "/v1/dead-letters/archive",
                                            .done = "archived",
                                            .told = "Archived",
                                            .dry = "Would archive"});
}

static int run_purge(struct cli *cli)
{
    return run_change(cli, &(struct change){.path = "/v1/dead-letters/purge",
                                            .done = "purged",
                                            .told = "Deleted",
                                            .dry = "Would delete",
                                            .ages = true,
                                            .asks = true});
}

#define CHOICE_OPTIONS                                                       \
    FILTER_OPTIONS, {"all", NULL, "all of them", ARG_FLAG, 0, 0, NULL},      \
    {                                                                        \
        "dry-run", NULL, "only say what would be done", ARG_FLAG, 0, 0, NULL \
    }

static const struct arg_option list_options[] = {
    FILTER_OPTIONS, ARCHIVED_OPTION, CLI_LIMIT_OPTION, {0}};
static const struct arg_option analyze_options[] = {FILTER_OPTIONS, ARCHIVED_OPTION, {0}};
static const struct arg_option replay_options[] = {
    CHOICE_OPTIONS,
    ARCHIVED_OPTION,
    {"patch", "JSON", "change the payload first: a JSON merge patch, or @FILE with one", ARG_TEXT,
     0, 0, NULL},
    {0},
};
static const struct arg_option archive_options[] = {CHOICE_OPTIONS, {0}};
static const struct arg_option purge_options[] = {
    CHOICE_OPTIONS,
    ARCHIVED_OPTION,
    {"older-than", "TIME", "only those that died so long ago, like 30d", ARG_TEXT, 0, 0, NULL},
    {"yes", NULL, "delete what the filter finds", ARG_FLAG, 0, 0, NULL},
    {0},
};

const struct cli_command cli_dlq_commands[] = {
    {"dlq list", "list the dead letters: jobs that gave up",
     "[FILTER] [--limit N] [--watch] [--json]", list_options,
     "drover dlq list --queue mail --reason max_attempts", NULL, 0, 0,
     CLI_REMOTE | CLI_JSON | CLI_REFRESH, run_list},
    {"dlq show", "show a dead letter with all its attempts", "ID [--json]", NULL,
     "drover dlq show latest", "drover dlq list", 1, 1, CLI_REMOTE | CLI_JSON, run_show},
    {"dlq analyze", "group the dead letters by what went wrong", "[FILTER] [--json]",
     analyze_options, "drover dlq analyze --since 24h", NULL, 0, 0, CLI_REMOTE | CLI_JSON,
     run_analyze},
    {"dlq replay", "send dead letters back to work, changed or not",
     "ID...|FILTER|--all [--patch JSON|@FILE] [--dry-run] [--json]", replay_options,
     "drover dlq replay --queue mail --patch '{\"host\":\"mx2\"}' --dry-run", "drover dlq list", 0,
     IDS_MAX, CLI_REMOTE | CLI_JSON, run_replay},
    {"dlq archive", "put dead letters aside", "ID...|FILTER|--all [--dry-run] [--json]",
     archive_options, "drover dlq archive --type welcome --until 7d", "drover dlq list", 0, IDS_MAX,
     CLI_REMOTE | CLI_JSON, run_archive},
    {"dlq purge", "delete dead letters for good",
     "ID...|FILTER|--older-than TIME|--all [--yes] [--dry-run] [--json]", purge_options,
     "drover dlq purge --older-than 30d --archived true --yes", "drover dlq list", 0, IDS_MAX,
     CLI_REMOTE | CLI_JSON, run_purge},
    {0},
};
