/*
 * audit.c - the audit log: audit list, verify, export, key.
 *
 * Signatures of notes are checked here, so that the server need not be trusted with it; `verify
 * --file` and `key` need no server at all.
 */
#include "base/clock.h"
#include "base/fd.h"
#include "base/signature.h"
#include "base/str.h"
#include "cli/audit_file.h"
#include "cli/moment.h"
#include "cli/show.h"
#include "cli/span.h"
#include "cli/table.h"
#include "net/url.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    PATH_BYTES_MAX = 4096,
    BODY_BYTES_MAX = AUDIT_NOTES_MAX * AUDIT_NOTE_BYTES + 1024,
    VERIFY_MS = 30 * 60 * 1000,
};

/* ---- filters ---- */

static const char *const outcome_names[] = {AUDIT_DONE, AUDIT_DENIED, AUDIT_REFUSED, AUDIT_FAILED,
                                            NULL};

/* false: the usage was printed. */
static bool add_filters(struct cli *cli, struct buf *path)
{
    static const struct {
        const char *option, *parameter;
    } texts[] = {
        {"action", "action"},     {"actor", "actor"},         {"outcome", "outcome"},
        {"type", "resourceType"}, {"resource", "resourceId"},
    };
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        if (args_has(&cli->args, texts[i].option))
            url_add_query(path, texts[i].parameter, args_text(&cli->args, texts[i].option, ""));
    return moment_add(cli, path, "since") && moment_add(cli, path, "until");
}

/* ---- list ---- */

static enum tone tone_of(const char *outcome)
{
    if (text_same(outcome, AUDIT_DENIED) || text_same(outcome, AUDIT_FAILED))
        return TONE_RED;
    return text_same(outcome, AUDIT_REFUSED) ? TONE_YELLOW : TONE_PLAIN;
}

static void audit_table(struct cli *cli, const struct cli_listing *listing)
{
    static const struct table_column columns[] = {
        {"SEQ", true, false},     {"TIME", false, false},    {"ACTOR", false, false},
        {"ACTION", false, false}, {"RESOURCE", false, true}, {"OUTCOME", false, false},
        {"CODE", false, false},   {"CALLS", true, false},
    };
    struct table table;
    table_init(&table, &cli->term, columns, COUNT_OF(columns), &cli->arena);
    for (size_t i = 0; i < listing->count; i++) {
        const struct js *item = listing->items[i], *actor = js_get(item, "actor");
        const char *outcome = js_get_str(item, "outcome", "");
        table_cell(&table, arena_printf(&cli->arena, "%lld", (long long)js_get_int(item, "seq", 0)),
                   TONE_DIM);
        table_cell(&table, term_time(&cli->term, js_get_str(item, "time", NULL), &cli->arena),
                   TONE_DIM);
        table_cell(&table, js_get_str(actor, "id", js_get_str(actor, "type", "")), TONE_BOLD);
        table_cell(&table, js_get_str(item, "action", ""), TONE_PLAIN);
        table_cell(&table, js_get_str(item, "resourceId", ""), TONE_PLAIN);
        table_cell(&table, outcome, tone_of(outcome));
        table_cell(&table, js_get_str(item, "code", ""), TONE_DIM);
        table_cell(&table,
                   arena_printf(&cli->arena, "%lld", (long long)js_get_int(item, "count", 0)),
                   TONE_DIM);
    }
    table_print(&table, stdout);
}

static int run_list(struct cli *cli)
{
    CLEANUP(buf_release) struct buf path;
    buf_init(&path, PATH_BYTES_MAX);
    buf_adds(&path, "/v1/audit");
    if (!add_filters(cli, &path))
        return CLI_USAGE;
    return show_list(cli, &(struct show_list){buf_text(&path), "No such rows.", audit_table});
}

/* ---- export ---- */

static enum rc write_rows(const struct js *items, FILE *to, struct err *err)
{
    for (size_t i = 0; i < js_count(items); i++) {
        CLEANUP(arena_release) struct arena arena = {0};
        (void)fprintf(to, "%s\n", js_text(js_at(items, i), &arena));
    }
    return ferror(to) ? err_set(err, RC_IO, "IO_ERROR", "cannot write the rows") : RC_OK;
}

static enum rc export_rows(struct cli *cli, const char *path, FILE *to, int64_t *ret_rows,
                           struct err *err)
{
    struct cli_pager pager = {.path = path, .left = INT64_MAX};
    enum rc rc = RC_OK;
    while (rc == RC_OK && !pager.ended) {
        CLEANUP(cli_answer_release) struct cli_answer page = {0};
        rc = cli_pager_next(cli, &pager, &page, err);
        const struct js *items = js_get(page.tree, "items");
        if (rc == RC_OK)
            rc = write_rows(items, to, err);
        *ret_rows += (int64_t)js_count(items);
    }
    return rc;
}

static int run_export(struct cli *cli)
{
    struct err err = {0};
    CLEANUP(buf_release) struct buf path;
    const char *out = args_text(&cli->args, "out", NULL);
    int64_t rows = 0;
    buf_init(&path, PATH_BYTES_MAX);
    buf_adds(&path, "/v1/audit");
    url_add_query(&path, "order", "oldest");
    if (!moment_add(cli, &path, "since"))
        return CLI_USAGE;
    FILE *to = out != NULL ? fopen(out, "wxe") : stdout;
    if (to == NULL) {
        enum rc rc = errno == EEXIST ? err_set(&err, RC_CONFLICT, "FILE_EXISTS",
                                               "%.300s is there already: name another file", out)
                                     : err_set(&err, RC_IO, "IO_ERROR", "cannot make %.300s: %s",
                                               out, strerror(errno));
        return cli_fail(cli, rc, &err);
    }
    enum rc rc = export_rows(cli, buf_text(&path), to, &rows, &err);
    bool flushed = fflush(to) == 0 && (out == NULL || (fsync(fileno(to)) == 0 && fclose(to) == 0));
    if (rc == RC_OK && !flushed)
        rc = err_set(&err, RC_IO, "IO_ERROR", "cannot write %.300s", out != NULL ? out : "stdout");
    if (rc != RC_OK && out != NULL)
        (void)unlink(out); /* A part of the log must not pass for the whole. */
    if (rc != RC_OK)
        return cli_fail(cli, rc, &err);
    if (out != NULL)
        (void)printf("%lld rows are in %s. Check it with: drover audit verify --file %s\n",
                     (long long)rows, out, shell_quote(out, &cli->arena));
    return CLI_DONE;
}

/* ---- verify ---- */

static int print_verdict(struct cli *cli, const struct js *verdict, int64_t notes)
{
    const struct js *bad = js_get(verdict, "firstBad");
    if (js_get_bool(verdict, "ok", false)) {
        (void)printf(
            "The audit log is sound: %lld rows, the last is %lld (%s), %lld note%s.\n",
            (long long)js_get_int(verdict, "rows", 0), (long long)js_get_int(verdict, "lastSeq", 0),
            js_get_str(verdict, "lastHash", ""), (long long)notes, notes == 1 ? " fits" : "s fit");
        if (js_get_int(verdict, "firstSeq", 0) > 1)
            (void)printf("It begins with row %lld: the rows before it are not part of it, and "
                         "notes about them were not compared.\n",
                         (long long)js_get_int(verdict, "firstSeq", 0));
        return CLI_DONE;
    }
    show_line(cli, "Damaged", js_get_str(bad, "damage", "?"), TONE_RED);
    show_line(cli, "First row",
              arena_printf(&cli->arena, "%lld", (long long)js_get_int(bad, "seq", 0)), TONE_BOLD);
    show_line(cli, "What", js_get_str(bad, "detail", ""), TONE_PLAIN);
    show_line(cli, "Sound before",
              arena_printf(&cli->arena, "%lld rows", (long long)js_get_int(verdict, "rows", 0)),
              TONE_PLAIN);
    return CLI_FAILED;
}

/* notes_before: so many more fit by earlier answers. */
static int show_verdict(struct cli *cli, const struct js *verdict, int64_t notes_before)
{
    int64_t notes = notes_before + js_get_int(verdict, "notes", 0);
    CLEANUP(buf_release) struct buf json;
    const struct js *value;
    const char *key;
    size_t it = 0;
    buf_init(&json, AUDIT_JSON_MAX);
    if (!cli->json)
        return print_verdict(cli, verdict, notes);
    struct jw jw = jw_to(&json);
    jw_begin(&jw, '{');
    while (js_next(verdict, &it, &key, &value)) {
        jw_key(&jw, key);
        if (text_same(key, "notes"))
            jw_int(&jw, notes);
        else
            js_write(&jw, value);
    }
    jw_end(&jw, '}');
    (void)printf("%s\n", buf_text(&json));
    return js_get_bool(verdict, "ok", false) ? CLI_DONE : CLI_FAILED;
}

static int verify_file(struct cli *cli, const char *path, const struct audit_notes *notes)
{
    CLEANUP(buf_release) struct buf json;
    CLEANUP(js_freep) struct js *tree = NULL;
    struct err err = {0};
    struct audit_chain chain;
    audit_chain_begin(&chain,
                      &(struct audit_chain_options){.from_anywhere = true,
                                                    .marks = audit_notes_marks(notes, &cli->arena),
                                                    .mark_count = notes->count});
    enum rc rc = audit_file_verify(path, &chain, &err);
    buf_init(&json, AUDIT_JSON_MAX);
    struct jw jw = jw_to(&json);
    audit_chain_write(&jw, &chain);
    if (rc == RC_OK)
        rc = js_parse(json.data, json.len, &tree, &err);
    return rc == RC_OK ? show_verdict(cli, tree, 0) : cli_fail(cli, rc, &err);
}

static enum rc ask_server(struct cli *cli, const struct audit_notes *notes,
                          struct cli_answer *answer, struct err *err)
{
    CLEANUP(buf_release) struct buf body;
    buf_init(&body, BODY_BYTES_MAX);
    struct jw jw = jw_to(&body);
    jw_begin(&jw, '{');
    jw_key(&jw, "notes");
    jw_begin(&jw, '[');
    for (size_t i = 0; i < notes->count; i++) {
        char text[AUDIT_NOTE_BYTES];
        audit_note_text(&notes->items[i], text);
        jw_str(&jw, text);
    }
    jw_end(&jw, ']');
    jw_end(&jw, '}');
    const struct http_call call = {.method = "POST",
                                   .path = "/v1/audit/verify",
                                   .body = buf_str(&body),
                                   .timeout_ms = VERIFY_MS};
    return cli_call(cli, &call, answer, err);
}

/* As many notes at a time as a request may have; all of them, or the first that does not fit. */
static int verify_at_server(struct cli *cli, const struct audit_notes *notes)
{
    size_t at = 0;
    for (;;) {
        CLEANUP(cli_answer_release) struct cli_answer answer = {0};
        struct err err = {0};
        size_t left = notes->count - at;
        struct audit_notes some = {notes->items + at,
                                   left < AUDIT_NOTES_MAX ? left : AUDIT_NOTES_MAX};
        enum rc rc = ask_server(cli, &some, &answer, &err);
        if (rc != RC_OK)
            return cli_fail(cli, rc, &err);
        at += some.count;
        if (at == notes->count || !js_get_bool(answer.tree, "ok", false))
            return show_verdict(cli, answer.tree, (int64_t)(at - some.count));
    }
}

static int run_verify(struct cli *cli)
{
    struct err err = {0};
    struct audit_notes notes = {0};
    const char *file = args_text(&cli->args, "file", NULL);
    const char *anchor = args_text(&cli->args, "anchor", NULL);
    const char *key = args_text(&cli->args, "key", NULL);
    if (key != NULL && anchor == NULL)
        return cli_usage(cli, "--key checks the notes of --anchor FILE");
    enum rc rc = RC_OK;
    if (anchor != NULL)
        rc = audit_notes_read(anchor, key, &cli->arena, &notes, &err);
    if (rc != RC_OK)
        return cli_fail(cli, rc, &err);
    if (anchor != NULL && key == NULL)
        (void)fprintf(stderr, "The signatures of the notes are not checked: say --key FILE.pub.\n");
    return file != NULL ? verify_file(cli, file, &notes) : verify_at_server(cli, &notes);
}

/* ---- key ---- */

static int run_key(struct cli *cli)
{
    struct err err = {0};
    CLEANUP(buf_release) struct buf private_pem;
    CLEANUP(buf_release) struct buf public_pem;
    const char *path = args_word(&cli->args, 0);
    const char *public_path = arena_printf(&cli->arena, "%s.pub", path);
    buf_init(&private_pem, SIGNATURE_PEM_MAX);
    buf_init(&public_pem, SIGNATURE_PEM_MAX);
    enum rc rc = RC_OK;
    if (file_exists(path) || file_exists(public_path))
        rc = err_set(&err, RC_CONFLICT, "FILE_EXISTS",
                     "%.300s or %.300s is there already: name another file", path, public_path);
    signature_make_key(&private_pem, &public_pem);
    if (rc == RC_OK)
        rc = file_write_durable(path, private_pem.data, private_pem.len, 0600, &err);
    if (rc == RC_OK)
        rc = file_write_durable(public_path, public_pem.data, public_pem.len, 0644, &err);
    explicit_bzero(private_pem.data, private_pem.len);
    if (rc != RC_OK)
        return cli_fail(cli, rc, &err);
    (void)printf("The key is in %s, readable by its owner only; notes are checked with %s.\n", path,
                 public_path);
    (void)printf("Name it in the server's configuration: audit: {anchor: {key: %s, file: ...}}\n",
                 path);
    return CLI_DONE;
}

#define SINCE_OPTION(help)                          \
    {                                               \
        "since", "TIME", help, ARG_TEXT, 0, 0, NULL \
    }
static const struct arg_option list_options[] = {
    {"action", "NAME", "only this: task.submit; or all of a kind: token.", ARG_TEXT, 0, 0, NULL},
    {"actor", "NAME", "only by this token or run", ARG_TEXT, 0, 0, NULL},
    {"outcome", "OUTCOME", "done, denied, refused or failed", ARG_CHOICE, 0, 0, outcome_names},
    {"type", "TYPE", "only about this type of resource: task, queue, ...", ARG_TEXT, 0, 0, NULL},
    {"resource", "ID", "only about this one", ARG_TEXT, 0, 0, NULL},
    SINCE_OPTION("from a time or an age on: 15m, 2h, 7d"),
    {"until", "TIME", "up to a time or an age", ARG_TEXT, 0, 0, NULL},
    CLI_LIMIT_OPTION,
    {0},
};
static const struct arg_option export_options[] = {
    {"out", "FILE", "write the rows to this new file (default: stdout)", ARG_TEXT, 0, 0, NULL},
    SINCE_OPTION("from a time or an age on (default: all)"),
    {0},
};
static const struct arg_option verify_options[] = {
    {"file", "FILE", "check an export, without a server; - is standard input", ARG_TEXT, 0, 0,
     NULL},
    {"anchor", "NOTES", "a file of signed notes: the log must have what they name", ARG_TEXT, 0, 0,
     NULL},
    {"key", "FILE", "the public key that must have signed the notes", ARG_TEXT, 0, 0, NULL},
    {0},
};

const struct cli_command cli_audit_commands[] = {
    {"audit list", "list who did what, newest first",
     "[--action NAME] [--actor NAME] [--outcome OUTCOME] [--type TYPE] [--resource ID]\n"
     "       [--since TIME] [--until TIME] [--limit N] [--json]",
     list_options, "drover audit list --outcome denied --since 7d", NULL, 0, 0,
     CLI_REMOTE | CLI_JSON, run_list},
    {"audit verify", "check that no row of the audit log was changed, removed or moved",
     "[--file FILE] [--anchor NOTES [--key FILE.pub]] [--json]", verify_options,
     "drover audit verify --anchor /mnt/notes.ndjson --key audit.pem.pub", NULL, 0, 0,
     CLI_REMOTE | CLI_JSON, run_verify},
    {"audit export", "write the audit log as NDJSON, with its hashes",
     "[--out FILE] [--since TIME]", export_options, "drover audit export --out audit.ndjson", NULL,
     0, 0, CLI_REMOTE, run_export},
    {"audit key", "make a key that signs notes about the audit log", "FILE", NULL,
     "drover audit key /etc/drover/audit.pem", NULL, 1, 1, 0, run_key},
    {0},
};
