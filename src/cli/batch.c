/*
 * batch.c - one piece of work over many repositories: batch, batch list, show, pause, resume,
 * cancel.
 *
 * The document of a batch is a file (YAML or JSON), or is made of --repos and other options.  A
 * file is checked by its schema before it is sent; errors that only the server can find, because
 * it has the repositories, are printed with the lines of the file too.
 */
#include "core/run/batch.h"
#include "base/buf.h"
#include "base/jw.h"
#include "base/str.h"
#include "cli/client.h"
#include "cli/faults.h"
#include "cli/ids.h"
#include "cli/input.h"
#include "cli/refresh.h"
#include "cli/show.h"
#include "cli/table.h"
#include "core/config/batch_document.h"
#include "net/url.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    BODY_BYTES_MAX = 1024 * 1024,
    ANSWER_BYTES_MAX = 16 * 1024 * 1024,
    PATH_BYTES_MAX = 1024,
    PAGE_MEMBERS = 200,
    NOTE_MAX = 70
};

/* ---- the document ---- */

static void write_int(struct cli *cli, struct jw *jw, const char *option, const char *key)
{
    if (args_has(&cli->args, option))
        jw_kint(jw, key, args_int(&cli->args, option, 0));
}

static void write_usd(struct cli *cli, struct jw *jw, const char *option, const char *key)
{
    if (args_has(&cli->args, option))
        jw_kreal(jw, key, args_real(&cli->args, option, 0));
}

static void write_task(struct cli *cli, struct jw *jw, const char *description)
{
    jw_key(jw, "task");
    jw_begin(jw, '{');
    jw_kstr(jw, "description", description);
    jw_optstr(jw, "taskType", args_text(&cli->args, "type", NULL));
    jw_optstr(jw, "executionMode", args_text(&cli->args, "mode", NULL));
    jw_optstr(jw, "riskLevel", args_text(&cli->args, "risk", NULL));
    write_int(cli, jw, "max-turns", "maxTurns");
    write_usd(cli, jw, "task-budget", "maxBudgetUsd");
    cli_write_list(cli, jw, "label", "labels");
    jw_kraw(jw, "channel", STR("{\"source\":\"cli\"}"));
    jw_end(jw, '}');
}

static void write_stop(struct cli *cli, struct jw *jw)
{
    if (args_has(&cli->args, "stop-failures") || args_has(&cli->args, "stop-percent")) {
        jw_key(jw, "stop");
        jw_begin(jw, '{');
        write_int(cli, jw, "stop-failures", "failures");
        write_int(cli, jw, "stop-percent", "failedPercent");
        write_int(cli, jw, "stop-after", "after");
        jw_end(jw, '}');
    }
    jw_optstr(jw, "onStop", args_text(&cli->args, "on-stop", NULL));
}

/* The first line of the text names it, unless --name does. */
static const char *name_of(struct cli *cli, const char *text)
{
    const char *given = args_text(&cli->args, "name", NULL);
    return given != NULL ? given : task_title(text, 0, &cli->arena);
}

static void write_document(struct cli *cli, const char *text, struct buf *body)
{
    struct jw jw = jw_to(body);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "name", name_of(cli, text));
    cli_write_list(cli, &jw, "repos", "repositories");
    write_task(cli, &jw, text);
    write_int(cli, &jw, "max-active", "maxActive");
    write_usd(cli, &jw, "max-budget", "maxBudgetUsd");
    write_stop(cli, &jw);
    jw_end(&jw, '}');
}

/* Options that only make sense without a file; NULL: none was given. */
static const char *option_beside_file(const struct cli *cli)
{
    static const char *const options[] = {
        "name",          "type",         "mode",       "risk",       "label",
        "max-turns",     "task-budget",  "max-active", "max-budget", "on-stop",
        "stop-failures", "stop-percent", "stop-after",
    };
    for (size_t i = 0; i < COUNT_OF(options); i++)
        if (args_has(&cli->args, options[i]))
            return options[i];
    return NULL;
}

/* False: it is printed what is wrong, and *ret_status is set. */
static bool read_file(struct cli *cli, struct cli_source *source, struct buf *body, int *ret_status)
{
    struct err err = {0};
    struct faults faults = {0};
    const char *file = args_word(&cli->args, 0), *beside = option_beside_file(cli);
    if (file == NULL || cli->args.word_count > 1) {
        *ret_status = cli_usage(cli, "give a FILE, or --repos GLOB and what to do");
        return false;
    }
    if (beside != NULL) {
        *ret_status = cli_usage(cli, "--%s goes with --repos; with a file it is said in there",
                                beside);
        return false;
    }
    if (!cli_source_read(cli, file, source, ret_status))
        return false;
    enum rc rc = batch_document_check(source->tree, &cli->arena, &faults, &err);
    if (rc != RC_OK) {
        *ret_status = faults.count > 0 ? cli_print_faults(cli, source, &faults)
                                       : cli_fail(cli, rc, &err);
        return false;
    }
    buf_adds(body, js_text(source->tree, &cli->arena));
    return true;
}

static bool read_words(struct cli *cli, struct buf *body, int *ret_status)
{
    CLEANUP(buf_release) struct buf text;
    struct err err = {0};
    buf_init(&text, BODY_BYTES_MAX);
    enum rc rc = cli_read_text(cli, 0, &text, &err);
    if (rc != RC_OK) {
        *ret_status = cli_fail(cli, rc, &err);
        return false;
    }
    if (text.len == 0) {
        *ret_status = cli_usage(cli, "say what to do in these repositories");
        return false;
    }
    write_document(cli, buf_text(&text), body);
    return true;
}

/* ---- submitting ---- */

static enum rc post(struct cli *cli, struct str body, struct cli_answer *ret_answer,
                    struct err *err)
{
    const char *key = args_text(&cli->args, "key", NULL);
    const struct http_field headers[] = {{key != NULL ? "Idempotency-Key" : NULL, key},
                                         {NULL, NULL}};
    const struct http_call call = {
        .method = "POST",
        .path = args_has(&cli->args, "dry-run") ? "/v1/batches?dryRun=true" : "/v1/batches",
        .headers = headers,
        .body = body,
    };
    struct http_reply head;
    buf_init(&ret_answer->body, ANSWER_BYTES_MAX);
    enum rc rc = cli_connect(cli, err);
    if (rc == RC_OK)
        rc = http_client_call(cli->client, &call, &ret_answer->body, &head, err);
    if (rc != RC_OK)
        return rc;
    return js_parse(buf_text(&ret_answer->body), ret_answer->body.len, &ret_answer->tree, err);
}

/* With the lines of the file, where there is one and the server names the place. */
static int fail_post(struct cli *cli, const struct cli_source *source,
                     const struct cli_answer *answer, enum rc rc, const struct err *err)
{
    struct faults faults = {0};
    if (rc == RC_INVALID && source->tree != NULL) {
        cli_problem_faults(cli, buf_str(&answer->body), &faults);
        if (faults.count == 0 && err->field[0] != '\0')
            faults_add(&faults, &cli->arena, err->field, err->text);
    }
    return faults.count > 0 ? cli_print_faults(cli, source, &faults) : cli_fail(cli, rc, err);
}

static void print_plan(struct cli *cli, const struct js *answer)
{
    static const struct table_column columns[] = {
        {"NO", true, false},          {"KEY", false, false},    {"REPOSITORY", false, false},
        {"DEPENDS ON", false, false}, {"PROBLEM", false, true},
    };
    const struct js *members = js_get(answer, "members");
    struct table table;
    size_t bad = 0;
    table_init(&table, &cli->term, columns, COUNT_OF(columns), &cli->arena);
    for (size_t i = 0; i < js_count(members); i++) {
        const struct js *member = js_at(members, i);
        const struct js *depends = js_get(member, "dependsOn");
        const char *problem = js_get_str(member, "problem", ""), *keys = "";
        for (size_t j = 0; j < js_count(depends); j++)
            keys = arena_printf(&cli->arena, "%s%s%s", keys, j > 0 ? ", " : "",
                                js_str(js_at(depends, j), ""));
        bad += *problem != '\0';
        table_cell(&table, arena_printf(&cli->arena, "%zu", i + 1), TONE_DIM);
        table_cell(&table, js_get_str(member, "key", ""), TONE_BOLD);
        table_cell(&table, js_get_str(member, "repository", ""), TONE_PLAIN);
        table_cell(&table, keys, TONE_PLAIN);
        table_cell(&table, problem, TONE_RED);
    }
    table_print(&table, stdout);
    (void)printf("%zu tasks would be submitted, of which %zu would be refused.\n",
                 js_count(members), bad);
}

static int draw_whole(struct cli *cli);

/* The command goes on as `batch show ID --watch`. */
static int watch_batch(struct cli *cli, const char *id)
{
    const char **words = arena_array(&cli->arena, 1, sizeof *words);
    words[0] = arena_strdup(&cli->arena, id);
    cli->args.words = words;
    cli->args.word_count = 1;
    return cli_refresh(cli, draw_whole);
}

static int print_submitted(struct cli *cli, const struct cli_answer *answer)
{
    const char *id = js_get_str(answer->tree, "id", "");
    bool watch = args_has(&cli->args, "watch");
    if (args_has(&cli->args, "dry-run")) {
        if (cli->json)
            cli_print_json(answer);
        else
            print_plan(cli, answer->tree);
        return CLI_DONE;
    }
    if (watch)
        return watch_batch(cli, id);
    if (cli->json) {
        cli_print_json(answer);
        return CLI_DONE;
    }
    show_line(cli, "Batch", id, TONE_BOLD);
    show_member(cli, "Members", answer->tree, "members");
    show_next(cli, "Watch it", "drover batch show %s --watch", shell_quote(id, &cli->arena));
    return CLI_DONE;
}

static int run_batch(struct cli *cli)
{
    int status = CLI_USAGE;
    struct err err = {0};
    CLEANUP(cli_source_release) struct cli_source source = {0};
    CLEANUP(cli_answer_release) struct cli_answer answer = {0};
    CLEANUP(buf_release) struct buf body;
    buf_init(&body, BODY_BYTES_MAX);
    bool good = args_has(&cli->args, "repos") ? read_words(cli, &body, &status)
                                              : read_file(cli, &source, &body, &status);
    if (!good)
        return status;
    if (body.overflow)
        return cli_fail(cli,
                        err_set(&err, RC_TOO_LARGE, "TOO_LARGE",
                                "the batch is larger than %d bytes", BODY_BYTES_MAX),
                        &err);
    enum rc rc = post(cli, buf_str(&body), &answer, &err);
    return rc == RC_OK ? print_submitted(cli, &answer) : fail_post(cli, &source, &answer, rc, &err);
}

/* ---- list ---- */

/* "12 of 40" that have ended. */
static const char *ended_text(struct cli *cli, const struct js *counts)
{
    int64_t total = js_get_int(counts, "total", 0);
    int64_t open = js_get_int(counts, "waiting", 0) + js_get_int(counts, "active", 0);
    return arena_printf(&cli->arena, "%lld of %lld", (long long)(total - open), (long long)total);
}

static void batches_table(struct cli *cli, const struct cli_listing *listing)
{
    static const struct table_column columns[] = {
        {"ID", false, false},    {"STATUS", false, false}, {"ENDED", true, false},
        {"FAILED", true, false}, {"COST", true, false},    {"SUBMITTED", false, false},
        {"NAME", false, true},
    };
    struct table table;
    size_t len = id_short_len(listing->items, listing->count, "id");
    table_init(&table, &cli->term, columns, COUNT_OF(columns), &cli->arena);
    for (size_t i = 0; i < listing->count; i++) {
        const struct js *item = listing->items[i], *counts = js_get(item, "counts");
        const char *status = js_get_str(item, "status", "?");
        int64_t failed = js_get_int(counts, "failed", 0);
        table_cell(&table, cli_id_shown(cli, item, "id", len), TONE_PLAIN);
        table_cell(&table, status, term_status_tone(status));
        table_cell(&table, ended_text(cli, counts), TONE_PLAIN);
        table_cell(&table, arena_printf(&cli->arena, "%lld", (long long)failed),
                   failed > 0 ? TONE_RED : TONE_PLAIN);
        table_cell(&table, arena_printf(&cli->arena, "%.2f", js_num(js_get(item, "costUsd"), 0)),
                   TONE_PLAIN);
        table_cell(&table, term_time(&cli->term, js_get_str(item, "createdAt", NULL), &cli->arena),
                   TONE_DIM);
        table_cell(&table, js_get_str(item, "name", ""), TONE_BOLD);
    }
    table_print(&table, stdout);
}

static int run_list(struct cli *cli)
{
    CLEANUP(buf_release) struct buf path;
    buf_init(&path, PATH_BYTES_MAX);
    buf_adds(&path, "/v1/batches");
    if (args_has(&cli->args, "status"))
        url_add_query(&path, "status", args_text(&cli->args, "status", ""));
    if (args_has(&cli->args, "name"))
        url_add_query(&path, "name", args_text(&cli->args, "name", ""));
    return show_list(cli, &(struct show_list){buf_text(&path), "No batches.", batches_table});
}

/* ---- show ---- */

/* All pages of members. */
struct view {
    struct cli_answer pages[BATCH_MEMBERS_MAX / PAGE_MEMBERS + 1];
    size_t page_count;
};

static void view_release(struct view *view)
{
    for (size_t i = 0; i < view->page_count; i++)
        cli_answer_release(&view->pages[i]);
}

/* phase: only members that are in it; NULL: all. */
static enum rc read_view(struct cli *cli, const struct id *id, const char *phase, struct view *view,
                         struct err *err)
{
    const char *cursor = NULL;
    enum rc rc = RC_OK;
    do {
        CLEANUP(buf_release) struct buf path;
        buf_init(&path, PATH_BYTES_MAX);
        buf_addf(&path, "/v1/batches/%s?limit=%d", id->text, PAGE_MEMBERS);
        if (phase != NULL)
            url_add_query(&path, "phase", phase);
        if (cursor != NULL)
            url_add_query(&path, "cursor", cursor);
        struct cli_answer *page = &view->pages[view->page_count++];
        rc = cli_get(cli, buf_text(&path), page, err);
        cursor = rc == RC_OK ? js_get_str(page->tree, "cursor", NULL) : NULL;
    } while (cursor != NULL && view->page_count < COUNT_OF(view->pages));
    return rc;
}

/* "40: 12 completed, 3 failed, 5 active, 20 waiting" */
static const char *counts_text(struct cli *cli, const struct js *counts)
{
    static const char *const phases[] = {"completed", "failed", "cancelled",
                                         "skipped",   "active", "waiting"};
    const char *text = arena_printf(&cli->arena,
                                    "%lld:", (long long)js_get_int(counts, "total", 0)),
               *between = "";
    for (size_t i = 0; i < COUNT_OF(phases); i++) {
        int64_t count = js_get_int(counts, phases[i], 0);
        if (count == 0)
            continue;
        text = arena_printf(&cli->arena, "%s%s %lld %s", text, between, (long long)count,
                            phases[i]);
        between = ",";
    }
    return text;
}

static const char *cost_text(struct cli *cli, const struct js *batch)
{
    double cost = js_num(js_get(batch, "costUsd"), 0),
           max = js_num(js_get(batch, "maxBudgetUsd"), 0);
    if (max > 0)
        return arena_printf(&cli->arena, "%.2f USD of %.2f", cost, max);
    return arena_printf(&cli->arena, "%.2f USD", cost);
}

/* The first line of its error, as far as it fits. */
static const char *note_of(struct cli *cli, const struct js *member)
{
    const char *text = js_get_str(member, "errorMessage", NULL);
    if (text == NULL)
        text = js_get_str(member, "errorCode", "");
    size_t len = strcspn(text, "\n");
    bool cut = len > NOTE_MAX;
    return arena_printf(&cli->arena, "%.*s%s", (int)(cut ? NOTE_MAX : len), text, cut ? "..." : "");
}

/* id_len: so much of the task's id is shown on a terminal. */
static void add_member(struct cli *cli, struct table *table, const struct js *member, size_t id_len)
{
    const char *status = js_get_str(member, "status", "?");
    const struct js *pr = js_get(member, "pullRequest");
    double cost = js_num(js_get(member, "costUsd"), 0);
    const char *key = js_get_str(member, "key", "");
    const char *repository = js_get_str(member, "repository", "");
    bool own = text_same(key, repository);
    table_cell(table, repository, TONE_BOLD);
    table_cell(table, own ? "" : key, TONE_PLAIN);
    table_cell(table, status, term_status_tone(status));
    table_cell(table,
               js_type(pr) == JS_OBJECT
                   ? arena_printf(&cli->arena, "#%lld", (long long)js_get_int(pr, "number", 0))
                   : "",
               TONE_PLAIN);
    table_cell(table, cost > 0 ? arena_printf(&cli->arena, "%.2f", cost) : "", TONE_PLAIN);
    bool has_task = js_get_str(member, "taskId", NULL) != NULL;
    table_cell(table, has_task ? cli_id_shown(cli, member, "taskId", id_len) : "", TONE_DIM);
    table_cell(table, note_of(cli, member), TONE_PLAIN);
}

/* Those of all pages that were read. */
static const struct js *const *members_of(struct cli *cli, const struct view *view,
                                          size_t *ret_count)
{
    size_t total = 0, count = 0;
    for (size_t i = 0; i < view->page_count; i++)
        total += js_count(js_get(view->pages[i].tree, "members"));
    const struct js **members = arena_array(&cli->arena, total, sizeof(const struct js *));
    for (size_t i = 0; i < view->page_count; i++) {
        const struct js *page = js_get(view->pages[i].tree, "members");
        for (size_t j = 0; j < js_count(page); j++)
            members[count++] = js_at(page, j);
    }
    *ret_count = count;
    return members;
}

static int compare_tasks(const void *a, const void *b)
{
    const struct js *const *one = a, *const *other = b;
    return strcmp(js_get_str(*one, "taskId", ""), js_get_str(*other, "taskId", ""));
}

/* How much of the ids tells the tasks apart; members without one do not count. */
static size_t tasks_short_len(struct cli *cli, const struct js *const *members, size_t count)
{
    const struct js **tasks = arena_array(&cli->arena, count, sizeof(const struct js *));
    size_t task_count = 0;
    for (size_t i = 0; i < count; i++) {
        if (js_get_str(members[i], "taskId", NULL) != NULL)
            tasks[task_count++] = members[i];
    }
    qsort(tasks, task_count, sizeof(const struct js *), compare_tasks);
    return id_short_len(tasks, task_count, "taskId");
}

/* The first task that failed, among the members that were read; NULL: there is none. */
static const char *first_failed(const struct view *view)
{
    for (size_t i = 0; i < view->page_count; i++) {
        const struct js *members = js_get(view->pages[i].tree, "members");
        for (size_t j = 0; j < js_count(members); j++) {
            const struct js *member = js_at(members, j);
            const char *task = js_get_str(member, "taskId", NULL);
            if (task != NULL && text_same(js_get_str(member, "phase", ""), "failed"))
                return task;
        }
    }
    return NULL;
}

/* What to do about the members of a batch that has ended and that have not completed. */
static void print_left(struct cli *cli, const struct view *view)
{
    const struct js *batch = view->pages[0].tree;
    const struct js *counts = js_get(batch, "counts");
    int64_t failed = js_get_int(counts, "failed", 0);
    int64_t never = js_get_int(counts, "skipped", 0) + js_get_int(counts, "cancelled", 0);
    const char *task = first_failed(view);
    enum batch_status status;
    if (!batch_status_parse(js_get_str(batch, "status", ""), &status) || !batch_has_ended(status))
        return;
    if (failed + never > 0)
        (void)printf("\n");
    if (failed > 1)
        show_next(cli, "Failed ones", "drover batch show %s --phase failed",
                  js_get_str(batch, "id", ""));
    if (task != NULL)
        show_next(cli, "Once more", "drover retry %s --watch", task);
    if (never > 0)
        show_line(cli, "Left over",
                  arena_printf(&cli->arena,
                               "%lld skipped or cancelled; submit what is left in a new batch",
                               (long long)never),
                  TONE_PLAIN);
}

static void print_view(struct cli *cli, const struct view *view)
{
    static const struct table_column columns[] = {
        {"REPOSITORY", false, false}, {"KEY", false, false}, {"STATUS", false, false},
        {"PR", true, false},          {"COST", true, false}, {"TASK", false, false},
        {"NOTE", false, true},
    };
    const struct js *batch = view->pages[0].tree;
    struct table table;
    show_line(cli, "Batch", js_get_str(batch, "id", ""), TONE_PLAIN);
    show_member(cli, "Name", batch, "name");
    show_status(cli, batch);
    show_line(cli, "Because", js_get_str(batch, "reason", ""), TONE_YELLOW);
    show_line(cli, "Waits", js_get_str(batch, "waitingFor", ""), TONE_YELLOW);
    show_line(cli, "Members", counts_text(cli, js_get(batch, "counts")), TONE_PLAIN);
    show_line(cli, "Cost", cost_text(cli, batch), TONE_PLAIN);
    show_time(cli, "Submitted", batch, "createdAt");
    show_time(cli, "Ended", batch, "endedAt");
    (void)printf("\n");
    table_init(&table, &cli->term, columns, COUNT_OF(columns), &cli->arena);
    size_t count = 0;
    const struct js *const *members = members_of(cli, view, &count);
    size_t id_len = tasks_short_len(cli, members, count);
    for (size_t i = 0; i < count; i++)
        add_member(cli, &table, members[i], id_len);
    table_print(&table, stdout);
    print_left(cli, view);
}

/* One document of all pages. */
static void print_json(const struct view *view)
{
    CLEANUP(buf_release) struct buf text;
    size_t at = 0;
    const char *key;
    const struct js *value;
    buf_init(&text, ANSWER_BYTES_MAX);
    struct jw jw = jw_to(&text);
    jw_begin(&jw, '{');
    while (js_next(view->pages[0].tree, &at, &key, &value)) {
        if (text_same(key, "members") || text_same(key, "cursor"))
            continue;
        jw_key(&jw, key);
        js_write(&jw, value);
    }
    jw_key(&jw, "members");
    jw_begin(&jw, '[');
    for (size_t i = 0; i < view->page_count; i++) {
        const struct js *members = js_get(view->pages[i].tree, "members");
        for (size_t j = 0; j < js_count(members); j++)
            js_write(&jw, js_at(members, j));
    }
    jw_end(&jw, ']');
    jw_end(&jw, '}');
    (void)printf("%s\n", buf_text(&text));
}

/* With --watch it ends with the batch: well, when every member completed. */
static void note_end(struct cli *cli, const struct js *batch)
{
    const struct js *counts = js_get(batch, "counts");
    enum batch_status status;
    if (!batch_status_parse(js_get_str(batch, "status", ""), &status) || !batch_has_ended(status))
        return;
    cli->over = true;
    bool well = js_get_int(counts, "completed", 0) == js_get_int(counts, "total", -1);
    cli->outcome = well ? CLI_DONE : CLI_FAILED;
}

static int draw(struct cli *cli, const char *phase)
{
    struct err err = {0};
    struct id id;
    CLEANUP(view_release) struct view view = {0};
    enum rc rc = cli_resolve_batch(cli, args_word(&cli->args, 0), &id, &err);
    if (rc == RC_OK)
        rc = read_view(cli, &id, phase, &view, &err);
    if (rc != RC_OK)
        return cli_fail(cli, rc, &err);
    if (cli->json)
        print_json(&view);
    else
        print_view(cli, &view);
    note_end(cli, view.pages[0].tree);
    return CLI_DONE;
}

static int draw_whole(struct cli *cli)
{
    return draw(cli, NULL);
}

static int run_show(struct cli *cli)
{
    return draw(cli, args_text(&cli->args, "phase", NULL));
}

/* ---- pause, resume, cancel ---- */

static int move_batch(struct cli *cli, const char *verb)
{
    struct err err = {0};
    struct id id;
    CLEANUP(cli_answer_release) struct cli_answer answer = {0};
    enum rc rc = cli_resolve_batch(cli, args_word(&cli->args, 0), &id, &err);
    if (rc == RC_OK) {
        const struct http_call call = {.method = "POST",
                                       .path = cli_path(cli, "/v1/batches/", id.text, verb),
                                       .body = cli_reason_body(cli)};
        rc = cli_call(cli, &call, &answer, &err);
    }
    if (rc != RC_OK)
        return cli_fail(cli, rc, &err);
    if (cli->json)
        cli_print_json(&answer);
    else
        (void)printf("Batch %s is %s.\n", id.text, js_get_str(answer.tree, "status", "?"));
    return CLI_DONE;
}

static int run_pause(struct cli *cli)
{
    return move_batch(cli, "/pause");
}

static int run_resume(struct cli *cli)
{
    return move_batch(cli, "/resume");
}

static int run_cancel(struct cli *cli)
{
    return move_batch(cli, "/cancel");
}

/* ---- the table ---- */

static const char *const stops[] = {"finish", "cancel", NULL};
static const char *const statuses[] = {"running",   "paused",  "stopping",  "cancelling",
                                       "completed", "stopped", "cancelled", NULL};
static const char *const phases[] = {"waiting",   "active",  "completed", "failed",
                                     "cancelled", "skipped", NULL};
static const struct arg_option batch_options[] = {
    {"repos", "GLOB", "in these repositories, instead of a file; may be repeated", ARG_LIST, 0, 0,
     NULL},
    {"name", "TEXT", "the name of the batch (default: the first line of the text)", ARG_TEXT, 0, 0,
     NULL},
    {"max-active", "N", "so many tasks at a time", ARG_INT, 1, BATCH_MEMBERS_MAX, NULL},
    {"max-budget", "USD", "what all of it may cost", ARG_REAL, 0, 0, NULL},
    {"stop-failures", "N", "start no more when so many have failed", ARG_INT, 1, BATCH_MEMBERS_MAX,
     NULL},
    {"stop-percent", "P", "the same for so many of a hundred", ARG_INT, 1, 100, NULL},
    {"stop-after", "N", "with --stop-percent: not before so many have ended (default 5)", ARG_INT,
     1, BATCH_MEMBERS_MAX, NULL},
    {"on-stop", "WHAT", "let those under way finish (default), or cancel them", ARG_CHOICE, 0, 0,
     stops},
    {"mode", "MODE", "patch_only, supervised_pr (default) or autonomous_pr", ARG_CHOICE, 0, 0,
     mode_names},
    {"risk", "RISK", "low, medium (default) or high", ARG_CHOICE, 0, 0, risk_names},
    {"type", "TYPE", "the type of the tasks, for limits and statistics", ARG_TEXT, 0, 0, NULL},
    {"label", "TEXT", "a label; may be repeated", ARG_LIST, 0, 0, NULL},
    {"max-turns", "N", "stop an agent after so many turns", ARG_INT, 1, INT32_MAX, NULL},
    {"task-budget", "USD", "what one task may cost", ARG_REAL, 0, 0, NULL},
    {"key", "KEY", "idempotency key: the same key gives the same batch", ARG_TEXT, 0, 0, NULL},
    {"dry-run", NULL, "show which repositories match and what would be submitted", ARG_FLAG, 0, 0,
     NULL},
    {"watch", NULL, "follow it to its end", ARG_FLAG, 0, 0, NULL},
    {"every", "SECONDS", "with --watch: so often (default 2)", ARG_REAL, 0, 0, NULL},
    {0},
};
static const struct arg_option list_options[] = {
    {"status", "STATUS", "only those", ARG_CHOICE, 0, 0, statuses},
    {"name", "NAME", "only those", ARG_TEXT, 0, 0, NULL},
    CLI_LIMIT_OPTION,
    {0},
};
static const struct arg_option show_options[] = {
    {"phase", "PHASE", "only members that are in it", ARG_CHOICE, 0, 0, phases},
    {0},
};
static const struct arg_option move_options[] = {
    {"reason", "TEXT", "why, for the record", ARG_TEXT, 0, 0, NULL},
    {0},
};

const struct cli_command cli_batch_commands[] = {
    {"batch", "submit one task over many repositories",
     "FILE | --repos GLOB... [OPTION...] TEXT   (FILE: YAML or JSON, drover schema batch; -: from "
     "standard input)",
     batch_options, "drover batch --repos 'acme/*' --max-active 5 --watch \"move to node 22\"",
     "drover repo list", 0, SIZE_MAX, CLI_REMOTE | CLI_JSON, run_batch},
    {"batch list", "list batches", "[--status STATUS] [--name NAME] [--limit N] [--watch] [--json]",
     list_options, "drover batch list --status running", NULL, 0, 0,
     CLI_REMOTE | CLI_JSON | CLI_REFRESH, run_list},
    {"batch show", "show a batch: its members, their pull requests, what it cost",
     "ID [--phase PHASE] [--watch] [--json]   (or latest; --watch ends with the batch)",
     show_options, "drover batch show latest --watch", "drover batch list", 1, 1,
     CLI_REMOTE | CLI_JSON | CLI_REFRESH, run_show},
    {"batch pause", "start no more tasks of a batch for now", "ID [--reason TEXT]", move_options,
     "drover batch pause latest", "drover batch list", 1, 1, CLI_REMOTE | CLI_JSON, run_pause},
    {"batch resume", "start tasks of a paused batch again", "ID [--reason TEXT]", move_options,
     "drover batch resume latest", "drover batch list", 1, 1, CLI_REMOTE | CLI_JSON, run_resume},
    {"batch cancel", "start no more tasks of a batch, and cancel those under way",
     "ID [--reason TEXT]", move_options, "drover batch cancel latest --reason \"wrong version\"",
     "drover batch list", 1, 1, CLI_REMOTE | CLI_JSON, run_cancel},
    {0},
};
