/*
 * sinks.c - the places outside that events are copied to: make, change, pause and remove them; how
 * far each of them has come, and what it has refused.
 */
#include "api/sinks.h"
#include "api/listing.h"
#include "api/routes.h"
#include "base/clock.h"
#include "base/fields.h"
#include <stdlib.h>
#include <string.h>

enum { DOCUMENT_BYTES_MAX = 64 * 1024 };

/* ---- all of them ---- */

static const struct sink_config *configured(const struct api *api, const char *name)
{
    for (size_t i = 0; i < api->sinks.count; i++)
        if (text_same(api->sinks.items[i].name, name))
            return &api->sinks.items[i];
    return NULL;
}

static void decode_made(const struct sink_row *row, struct arena *arena, struct sink_entry *entry)
{
    CLEANUP(js_freep) struct js *tree = NULL;
    struct sink_config *config = arena_alloc(arena, sizeof *config);
    enum rc rc = js_parse(row->config.at, row->config.len, &tree, &entry->why);
    if (rc == RC_OK)
        rc = sink_config_decode(tree, "", row->name, arena, config, &entry->why);
    entry->config = rc == RC_OK ? config : NULL;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct sink_entry *)a)->name, ((const struct sink_entry *)b)->name);
}

enum rc sink_entries(struct api *api, struct db *db, struct arena *arena,
                     struct sink_entry **ret_entries, size_t *ret_count, struct err *err)
{
    struct clock clock = control_clock(api->control);
    struct sink_row *rows = NULL;
    size_t row_count = 0, count = 0;
    enum rc rc = sinks_list(db, arena, &rows, &row_count, err);
    if (rc != RC_OK)
        return rc;
    struct sink_entry *entries = arena_array(arena, api->sinks.count + row_count + 1,
                                             sizeof *entries);
    for (size_t i = 0; i < api->sinks.count; i++)
        entries[count++] = (struct sink_entry){.name = api->sinks.items[i].name,
                                               .config = &api->sinks.items[i]};
    for (size_t i = 0; i < row_count; i++) {
        if (rows[i].config.len == 0 || configured(api, rows[i].name) != NULL)
            continue;
        entries[count] = (struct sink_entry){.name = rows[i].name, .made = true};
        decode_made(&rows[i], arena, &entries[count++]);
    }
    for (size_t i = 0; rc == RC_OK && i < count; i++)
        rc = sink_look(db, entries[i].name, clock_now_us(&clock), arena, &entries[i].view, err);
    if (rc != RC_OK)
        return rc;
    qsort(entries, count, sizeof *entries, by_name);
    *ret_entries = entries;
    *ret_count = count;
    return RC_OK;
}

/* ---- reading ---- */

static void write_letter(struct jw *jw, const struct sink_dead_letter *letter)
{
    jw_begin(jw, '{');
    jw_kint(jw, "sequence", letter->seq);
    jw_kstr(jw, "eventId", letter->event_id.text);
    jw_kstr(jw, "eventType", letter->event_type);
    jw_kstr(jw, "code", letter->code);
    jw_kstr(jw, "message", letter->message);
    jw_kbool(jw, "replay", letter->replay);
    jw_ktime(jw, "createdAt", letter->created_us);
    jw_end(jw, '}');
}

/* Leaves the object open. */
static void write_sink(struct jw *jw, const struct sink_entry *entry)
{
    const struct sink_view *view = &entry->view;
    const struct sink_config *config = entry->config;
    jw_begin(jw, '{');
    jw_kstr(jw, "name", entry->name);
    jw_kstr(jw, "type", config != NULL ? config->ops->type : NULL);
    jw_kstr(jw, "target", config != NULL ? config->ops->target(config->settings) : NULL);
    jw_kstr(jw, "origin", entry->made ? "api" : "configuration");
    jw_kstr(jw, "state", sink_state_name(view->state));
    jw_kint(jw, "cursor", view->row.cursor_seq);
    jw_kint(jw, "lag", view->lag);
    jw_kreal(jw, "lagSeconds", (double)view->lag_us / (double)US_PER_SECOND);
    jw_kstr(jw, "lastError", config != NULL ? view->row.last_error : entry->why.text);
    jw_kint(jw, "delivered", view->row.delivered);
    jw_kint(jw, "refused", view->row.refused);
    jw_kint(jw, "retries", view->row.retries);
    jw_kint(jw, "deadLetters", view->row.dead_letters);
    jw_ktime(jw, "updatedAt", view->row.updated_us);
}

static enum rc write_last_letter(struct jw *jw, struct db *db, const struct sink_entry *entry,
                                 struct arena *arena, struct err *err)
{
    struct sink_dead_letter letter;
    enum rc rc = RC_NOT_FOUND;
    if (entry->view.row.dead_letters > 0)
        rc = sinks_last_dead_letter(db, entry->name, arena, &letter, err);
    if (rc != RC_OK && rc != RC_NOT_FOUND)
        return rc;
    jw_key(jw, "lastDeadLetter");
    if (rc == RC_OK)
        write_letter(jw, &letter);
    else
        jw_null(jw);
    return RC_OK;
}

enum rc api_sink_list(struct call *call, struct db *db, struct err *err)
{
    struct listing list;
    struct sink_entry *entries = NULL;
    size_t count = 0, from = 0;
    listing_open(&list, call, CURSOR_NAME, err);
    enum rc rc = listing_begin(&list);
    if (rc == RC_OK)
        rc = sink_entries(call->api, db, list.arena, &entries, &count, err);
    while (rc == RC_OK && list.after != NULL && from < count &&
           strcmp(entries[from].name, list.after) <= 0)
        from++;
    list.count = count - from;
    for (size_t i = 0; rc == RC_OK && listing_shows(&list, i); i++) {
        list.last = entries[from + i].name;
        write_sink(&list.jw, &entries[from + i]);
        rc = write_last_letter(&list.jw, db, &entries[from + i], list.arena, err);
        jw_end(&list.jw, '}');
    }
    return listing_end(&list, rc);
}

static enum rc no_such_sink(const char *name, struct err *err)
{
    return err_set(err, RC_NOT_FOUND, "NOT_FOUND",
                   "there is no sink %.64s; GET /v1/sinks lists them", name);
}

static enum rc find_entry(struct call *call, struct db *db, struct sink_entry *ret_entry,
                          struct err *err)
{
    struct sink_entry *entries = NULL;
    size_t count = 0;
    enum rc rc = sink_entries(call->api, db, &call->http.arena, &entries, &count, err);
    for (size_t i = 0; rc == RC_OK && i < count; i++) {
        if (text_same(entries[i].name, call->vars[0])) {
            *ret_entry = entries[i];
            return RC_OK;
        }
    }
    return rc == RC_OK ? no_such_sink(call->vars[0], err) : rc;
}

enum rc api_sink_get(struct call *call, struct db *db, struct err *err)
{
    struct sink_entry entry;
    enum rc rc = call_no_params(call, err);
    if (rc == RC_OK)
        rc = find_entry(call, db, &entry, err);
    if (rc != RC_OK)
        return rc;
    struct jw jw = call_answer(call, 200);
    write_sink(&jw, &entry);
    rc = write_last_letter(&jw, db, &entry, &call->http.arena, err);
    if (entry.made)
        jw_kraw(&jw, "config", entry.view.row.config);
    jw_end(&jw, '}');
    return rc;
}

enum rc api_sink_letter_list(struct call *call, struct db *db, struct err *err)
{
    struct listing list;
    struct sink_entry entry;
    struct sink_dead_letter *letters = NULL;
    listing_open(&list, call, CURSOR_SEQ, err);
    enum rc rc = listing_begin(&list);
    if (rc == RC_OK)
        rc = find_entry(call, db, &entry, err);
    struct sink_letter_filter filter = {
        .sink = call->vars[0], .after_seq = list.after_seq, .limit = list.query_limit};
    if (rc == RC_OK)
        rc = sink_letters_list(db, &filter, list.arena, &letters, &list.count, err);
    for (size_t i = 0; rc == RC_OK && listing_shows(&list, i); i++) {
        write_letter(&list.jw, &letters[i]);
        list.last_number = letters[i].seq;
    }
    return listing_end(&list, rc);
}

/* ---- commands ---- */

static enum rc check_name(const struct call *call, struct err *err)
{
    if (sink_name_valid(call->vars[0]))
        return RC_OK;
    return err_set(err, RC_MALFORMED, "INVALID_NAME",
                   "the name of a sink has letters, digits, '.', '_' and '-', at most %d",
                   SINK_NAME_MAX);
}

/* Those of the configuration are changed there. */
static enum rc check_made(const struct call *call, struct err *err)
{
    if (configured(call->api, call->vars[0]) == NULL)
        return RC_OK;
    return err_set(err, RC_CONFLICT, "SINK_CONFIGURED",
                   "the sink %s is in the server's configuration: change it there and start the "
                   "server again, or choose another name",
                   call->vars[0]);
}

/* What all of them begin with. */
static enum rc begin(struct call *call, struct command *command, struct err *err)
{
    call_own(call, command);
    enum rc rc = call_no_params(call, err);
    return rc == RC_OK ? check_name(call, err) : rc;
}

static enum rc check_config(struct call *call, const struct sink_config *config, struct err *err)
{
    const struct sink_guard *guard = &call->api->sink_guard;
    enum rc rc = RC_OK;
    for (size_t i = 0; rc == RC_OK && i < call->api->sinks.count; i++)
        rc = sink_config_apart(config, &call->api->sinks.items[i], "", err);
    return rc == RC_OK && guard->check != NULL ? guard->check(guard->ctx, config, err) : rc;
}

enum rc api_sink_put(struct call *call, struct err *err)
{
    struct cmd_sink_put *cmd = cmd_sink_put_new();
    struct arena *arena = &cmd->base.arena;
    enum rc rc = begin(call, &cmd->base, err);
    if (rc == RC_OK)
        rc = check_made(call, err);
    if (rc == RC_OK)
        rc = call_json(call, &cmd->base.tree, err);
    if (rc == RC_OK)
        rc = sink_config_decode(cmd->base.tree, "", call->vars[0], arena, &cmd->config, err);
    if (rc == RC_OK)
        rc = check_config(call, &cmd->config, err);
    if (rc != RC_OK)
        return rc;
    cmd->document = str_of(js_text(cmd->base.tree, arena));
    if (cmd->document.len > DOCUMENT_BYTES_MAX)
        return err_set(err, RC_TOO_LARGE, "BODY_TOO_LARGE",
                       "the configuration of a sink may have %d bytes", DOCUMENT_BYTES_MAX);
    return RC_OK;
}

static void answer_view(struct call *call, const char *name, const struct sink_view *view,
                        int status)
{
    struct sink_entry entry = {.name = name, .config = configured(call->api, name), .view = *view};
    entry.made = entry.config == NULL;
    if (entry.made)
        decode_made(&view->row, &call->http.arena, &entry);
    control_sinks_changed(call->api->control);
    struct jw jw = call_answer(call, status);
    write_sink(&jw, &entry);
    if (entry.made)
        jw_kraw(&jw, "config", view->row.config);
    jw_end(&jw, '}');
}

void api_sink_put_answer(struct call *call, struct command *command)
{
    const struct cmd_sink_put *cmd = (const struct cmd_sink_put *)command;
    answer_view(call, cmd->config.name, &cmd->view, cmd->created ? 201 : 200);
}

static enum rc build_pause(struct call *call, bool pause, struct err *err)
{
    struct cmd_sink_pause *cmd = cmd_sink_pause_new();
    cmd->name = arena_strdup(&cmd->base.arena, call->vars[0]);
    cmd->configured = configured(call->api, call->vars[0]) != NULL;
    cmd->pause = pause;
    enum rc rc = begin(call, &cmd->base, err);
    return rc == RC_OK ? call_no_fields(call, err) : rc;
}

enum rc api_sink_pause(struct call *call, struct err *err)
{
    return build_pause(call, true, err);
}

enum rc api_sink_resume(struct call *call, struct err *err)
{
    return build_pause(call, false, err);
}

void api_sink_pause_answer(struct call *call, struct command *command)
{
    const struct cmd_sink_pause *cmd = (const struct cmd_sink_pause *)command;
    answer_view(call, cmd->name, &cmd->view, 200);
}

enum rc api_sink_remove(struct call *call, struct err *err)
{
    struct cmd_sink_remove *cmd = cmd_sink_remove_new();
    cmd->name = arena_strdup(&cmd->base.arena, call->vars[0]);
    enum rc rc = begin(call, &cmd->base, err);
    return rc == RC_OK ? check_made(call, err) : rc;
}

void api_sink_remove_answer(struct call *call, struct command *command)
{
    control_sinks_changed(call->api->control);
    call_removed(call, command);
}

/* {"sequences": [...]} or {"all": true}. */
static enum rc build_letters(struct call *call, bool discard, struct err *err)
{
    struct cmd_sink_letters *cmd = cmd_sink_letters_new();
    const struct js *numbers = NULL;
    bool all = false;
    struct fields fields;
    cmd->name = arena_strdup(&cmd->base.arena, call->vars[0]);
    cmd->discard = discard;
    enum rc rc = begin(call, &cmd->base, err);
    if (rc == RC_OK)
        rc = call_json(call, &cmd->base.tree, err);
    if (rc != RC_OK)
        return rc;
    fields_open(&fields, cmd->base.tree, "", err);
    fields_bool(&fields, "all", FIELD_OPTIONAL, &all);
    fields_array(&fields, "sequences", FIELD_OPTIONAL, SINK_LETTER_NUMBERS_MAX, &numbers);
    cmd->sequence_count = js_count(numbers);
    for (size_t i = 0; i < cmd->sequence_count && i < SINK_LETTER_NUMBERS_MAX; i++) {
        cmd->sequences[i] = js_int(js_at(numbers, i), 0);
        if (cmd->sequences[i] <= 0)
            fields_fail(&fields, "sequences", "sequences must be those of dead letters: numbers");
    }
    if (all == (cmd->sequence_count > 0))
        fields_fail(&fields, "sequences",
                    "name the dead letters by sequences, or take them all with all: true");
    return fields_close(&fields);
}

enum rc api_sink_letter_replay(struct call *call, struct err *err)
{
    return build_letters(call, false, err);
}

enum rc api_sink_letter_discard(struct call *call, struct err *err)
{
    return build_letters(call, true, err);
}

void api_sink_letter_answer(struct call *call, struct command *command)
{
    const struct cmd_sink_letters *cmd = (const struct cmd_sink_letters *)command;
    control_sinks_changed(call->api->control);
    struct jw jw = call_answer(call, 200);
    jw_begin(&jw, '{');
    jw_kint(&jw, cmd->discard ? "discarded" : "replayed", cmd->changed);
    jw_end(&jw, '}');
}
