/*
 * consumers.c - durable consumers of the log over HTTP.
 *
 * A cursor is the text "EPOCH.SEQUENCE.NAME", encoded like those of listings: what may be
 * acknowledged follows from the cursor and the consumer's row, so that a read writes nothing and
 * any node takes the acknowledgement.
 * Reads follow the settled log from the consumer's place on (store/settled.h), not what this node's
 * tail has published: the place may come from another node, which is further.
 */
#include "control/messaging/consumers.h"
#include "api/audit_calls.h"
#include "api/event_wait.h"
#include "api/listing.h"
#include "api/routes.h"
#include "base/clock.h"
#include "base/fields.h"
#include "base/mem.h"
#include "core/queue/queue_config.h"
#include "store/settled.h"
#include <string.h>
#include <time.h>

enum {
    EVENTS_DEFAULT = 100,
    EVENTS_MAX = 500,
    PAGE_ROWS = 500, /* Read at a time where a filter leaves some out. */
    GAP_TRIES = 4,
};

static enum rc check_name(const struct call *call, struct err *err)
{
    if (queue_name_valid(call->vars[0]))
        return RC_OK;
    return err_set(err, RC_MALFORMED, "INVALID_NAME",
                   "a consumer's name has letters, digits, '.', '_' and '-', at most 100 bytes");
}

/* ---- cursors ---- */

static const char *cursor_of(const struct consumer_row *row, int64_t seq, struct arena *arena)
{
    const char *key = arena_printf(arena, "%lld.%lld.%s", (long long)row->epoch, (long long)seq,
                                   row->name);
    return cursor_encode(CURSOR_CONSUMER, key, arena);
}

/* Takes one number and the dot behind it off the front. */
static bool take_number(char **rest, int64_t *ret_number)
{
    char *dot = strchr(*rest, '.');
    if (dot == NULL)
        return false;
    *dot = '\0';
    bool good = text_to_i64(*rest, ret_number) && *ret_number >= 0;
    *rest = dot + 1;
    return good;
}

static enum rc read_cursor(struct cmd_consumer_ack *cmd, const char *text, struct err *err)
{
    struct arena *arena = &cmd->base.arena;
    const char *key = NULL;
    char *rest = NULL;
    if (cursor_decode(CURSOR_CONSUMER, text, arena, &key))
        rest = arena_strdup(arena, key);
    if (rest == NULL || !take_number(&rest, &cmd->epoch) || !take_number(&rest, &cmd->seq))
        return err_field(err, RC_INVALID, "INVALID_CURSOR", "cursor",
                         "this is no cursor; give the one that next has answered, as it is");
    if (!text_same(rest, cmd->name))
        return err_field(err, RC_INVALID, "CURSOR_FOREIGN", "cursor",
                         "this cursor was given to another consumer than %s", cmd->name);
    return RC_OK;
}

/* ---- what people see ---- */

static void write_consumer(struct jw *jw, const struct consumer_row *row,
                           const struct event_lag *lag, int64_t now_us)
{
    bool behind = lag->first_us > 0 && now_us > lag->first_us;
    jw_begin(jw, '{');
    jw_kstr(jw, "name", row->name);
    jw_kraw(jw, "types", row->types.len > 0 ? row->types : STR("[]"));
    jw_kint(jw, "sequence", row->cursor_seq);
    jw_kint(jw, "lag", lag->first_us > 0 ? lag->places : 0);
    jw_kreal(jw, "lagSeconds",
             behind ? (double)(now_us - lag->first_us) / (double)US_PER_SECOND : 0);
    jw_ktime(jw, "lastAckAt", row->acked_us);
    jw_ktime(jw, "createdAt", row->created_us);
    jw_ktime(jw, "updatedAt", row->updated_us);
    jw_end(jw, '}');
}

static enum rc show(struct jw *jw, struct call *call, struct db *db, const struct consumer_row *row,
                    struct err *err)
{
    struct clock clock = control_clock(call->api->control);
    struct event_lag lag;
    enum rc rc = events_lag(db, row->cursor_seq, &lag, err);
    if (rc == RC_OK)
        write_consumer(jw, row, &lag, clock_now_us(&clock));
    return rc;
}

enum rc api_consumer_list(struct call *call, struct db *db, struct err *err)
{
    struct listing list;
    struct consumer_row *rows = NULL;
    listing_open(&list, call, CURSOR_NAME, err);
    enum rc rc = listing_begin(&list);
    if (rc == RC_OK)
        rc = consumers_list(db, list.after, list.query_limit, list.arena, &rows, &list.count, err);
    for (size_t i = 0; rc == RC_OK && listing_shows(&list, i); i++) {
        rc = show(&list.jw, call, db, &rows[i], err);
        list.last = rows[i].name;
    }
    return listing_end(&list, rc);
}

enum rc api_consumer_get(struct call *call, struct db *db, struct err *err)
{
    struct consumer_row row;
    enum rc rc = call_no_params(call, err);
    if (rc == RC_OK)
        rc = check_name(call, err);
    if (rc == RC_OK)
        rc = consumers_get(db, call->vars[0], &call->http.arena, &row, err);
    if (rc != RC_OK)
        return rc;
    struct jw jw = call_answer(call, 200);
    return show(&jw, call, db, &row, err);
}

/* ---- making and moving ---- */

/* The call owns the command from now on; *ret_name lives in its arena. */
static enum rc begin(struct call *call, struct command *command, const char **ret_name,
                     struct err *err)
{
    call_own(call, command);
    *ret_name = arena_strdup(&command->arena, call->vars[0]);
    enum rc rc = call_no_params(call, err);
    return rc == RC_OK ? check_name(call, err) : rc;
}

/* The same with a body, which becomes the command's tree. */
static enum rc begin_with_body(struct call *call, struct command *command, const char **ret_name,
                               struct err *err)
{
    enum rc rc = begin(call, command, ret_name, err);
    return rc == RC_OK ? call_json(call, &command->tree, err) : rc;
}

static bool read_text_place(const char *text, struct consumer_place *place)
{
    if (strcmp(text, "start") == 0 || strcmp(text, "end") == 0) {
        place->to = *text == 's' ? CONSUMER_TO_START : CONSUMER_TO_END;
        return true;
    }
    if (text_to_i64(text, &place->seq)) {
        place->to = CONSUMER_TO_SEQ;
        return place->seq > 0;
    }
    place->to = CONSUMER_TO_TIME;
    return time_parse(text, &place->time_us);
}

static void fields_place(struct fields *fields, const char *key, enum field_need need,
                         struct consumer_place *place)
{
    const struct js *value = NULL;
    fields_any(fields, key, need, &value);
    if (value == NULL || fields->rc != RC_OK)
        return;
    if (js_type(value) == JS_INT && js_int(value, 0) > 0)
        *place = (struct consumer_place){.to = CONSUMER_TO_SEQ, .seq = js_int(value, 0)};
    else if (js_type(value) != JS_STRING || !read_text_place(js_str(value, ""), place))
        fields_fail(fields, key,
                    "%s is \"start\", \"end\", the sequence of an event from 1 on, or a time such "
                    "as 2026-07-03T12:00:00Z",
                    key);
}

static enum rc read_put(struct cmd_consumer_put *cmd, struct consumer_place *place, struct err *err)
{
    struct fields fields;
    const struct js *types = NULL;
    fields_open(&fields, cmd->base.tree, "", err);
    fields_strings(&fields, "types", FIELD_OPTIONAL, SELECTOR_TYPES_MAX,
                   &(struct field_text){.min = 1, .max = EVENT_TYPE_MAX}, &types);
    for (size_t i = 0; i < js_count(types); i++) {
        const char *pattern = js_str(js_at(types, i), "");
        if (!event_pattern_valid(pattern))
            fields_fail(&fields, "types", "no type of event matches \"%s\": " EVENT_PATTERN_RULE,
                        pattern);
    }
    fields_place(&fields, "from", FIELD_OPTIONAL, place);
    cmd->retype = true;
    if (js_count(types) > 0)
        cmd->types = str_of(js_text(types, &cmd->base.arena));
    return fields_close(&fields);
}

enum rc api_consumer_put(struct call *call, struct db *db, struct err *err)
{
    struct cmd_consumer_put *cmd = cmd_consumer_put_new();
    struct consumer_place place = {.to = CONSUMER_TO_START};
    enum rc rc = begin_with_body(call, &cmd->base, &cmd->name, err);
    if (rc == RC_OK)
        rc = read_put(cmd, &place, err);
    if (rc == RC_OK)
        rc = consumer_place_find(db, &place, &call->http.arena, &cmd->cursor_seq, err);
    if (rc == RC_OK)
        rc = call_commit(call, err);
    if (rc != RC_OK)
        return rc;
    struct jw jw = call_answer(call, cmd->created ? 201 : 200);
    return show(&jw, call, db, &cmd->row, err);
}

enum rc api_consumer_seek(struct call *call, struct db *db, struct err *err)
{
    struct cmd_consumer_seek *cmd = cmd_consumer_seek_new();
    struct consumer_place place = {.to = CONSUMER_TO_START};
    struct fields fields;
    enum rc rc = begin_with_body(call, &cmd->base, &cmd->name, err);
    if (rc != RC_OK)
        return rc;
    fields_open(&fields, cmd->base.tree, "", err);
    fields_place(&fields, "to", FIELD_REQUIRED, &place);
    rc = fields_close(&fields);
    if (rc == RC_OK)
        rc = consumer_place_find(db, &place, &call->http.arena, &cmd->cursor_seq, err);
    if (rc == RC_OK)
        rc = call_commit(call, err);
    if (rc != RC_OK)
        return rc;
    struct jw jw = call_answer(call, 200);
    return show(&jw, call, db, &cmd->row, err);
}

enum rc api_consumer_remove(struct call *call, struct err *err)
{
    struct cmd_consumer_remove *cmd = cmd_consumer_remove_new();
    return begin(call, &cmd->base, &cmd->name, err);
}

enum rc api_consumer_ack(struct call *call, struct err *err)
{
    struct cmd_consumer_ack *cmd = cmd_consumer_ack_new();
    const char *cursor = NULL;
    struct fields fields;
    enum rc rc = begin_with_body(call, &cmd->base, &cmd->name, err);
    if (rc != RC_OK)
        return rc;
    fields_open(&fields, cmd->base.tree, "", err);
    fields_string(&fields, "cursor", FIELD_REQUIRED,
                  &(struct field_text){.min = 1, .max = CURSOR_TEXT_MAX}, &cursor);
    rc = fields_close(&fields);
    return rc == RC_OK ? read_cursor(cmd, cursor, err) : rc;
}

void api_consumer_ack_answer(struct call *call, struct command *command)
{
    const struct cmd_consumer_ack *cmd = (const struct cmd_consumer_ack *)command;
    struct jw jw = call_answer(call, 200);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "name", cmd->row.name);
    jw_kint(&jw, "sequence", cmd->row.cursor_seq);
    jw_ktime(&jw, "lastAckAt", cmd->row.acked_us);
    jw_end(&jw, '}');
}

/* ---- processed events ---- */

static enum rc read_ids(struct cmd_consumer_processed *cmd, struct err *err)
{
    struct fields fields;
    const struct js *ids = NULL;
    fields_open(&fields, cmd->base.tree, "", err);
    fields_strings(&fields, "eventIds", FIELD_REQUIRED, PROCESSED_IDS_MAX,
                   &(struct field_text){.min = 1, .max = PROCESSED_ID_BYTES_MAX}, &ids);
    cmd->ids = arena_array(&cmd->base.arena, js_count(ids), sizeof *cmd->ids);
    for (size_t i = 0; fields.rc == RC_OK && i < js_count(ids); i++)
        cmd->ids[cmd->count++] = js_str(js_at(ids, i), "");
    return fields_close(&fields);
}

enum rc api_consumer_processed(struct call *call, struct err *err)
{
    struct cmd_consumer_processed *cmd = cmd_consumer_processed_new();
    enum rc rc = begin_with_body(call, &cmd->base, &cmd->name, err);
    return rc == RC_OK ? read_ids(cmd, err) : rc;
}

static void write_ids(struct jw *jw, const char *key, const struct cmd_consumer_processed *cmd,
                      bool first)
{
    jw_key(jw, key);
    jw_begin(jw, '[');
    for (size_t i = 0; i < cmd->count; i++)
        if (cmd->first[i] == first)
            jw_str(jw, cmd->ids[i]);
    jw_end(jw, ']');
}

void api_consumer_processed_answer(struct call *call, struct command *command)
{
    const struct cmd_consumer_processed *cmd = (const struct cmd_consumer_processed *)command;
    struct jw jw = call_answer(call, 200);
    jw_begin(&jw, '{');
    write_ids(&jw, "new", cmd, true);
    write_ids(&jw, "duplicates", cmd, false);
    jw_end(&jw, '}');
}

/* ---- next ---- */

struct next {
    char *name;
    int64_t max;
    bool loaded; /* It was there, or was made: by one call at most. */
};

static void next_free(void *ctx)
{
    struct next *next = ctx;
    mem_free(next->name);
    mem_free(next);
}

/* The first call makes the consumer, at the start of the log. */
static enum rc load(struct next *next, struct call *call, struct db *db, struct arena *arena,
                    struct consumer_row *ret_row, struct err *err)
{
    enum rc rc = consumers_get(db, next->name, arena, ret_row, err);
    if (rc == RC_NOT_FOUND && !next->loaded) {
        err_clear(err);
        struct cmd_consumer_put *cmd = cmd_consumer_put_new();
        call_own(call, &cmd->base);
        audit_calls_as(call, "consumer.set");
        cmd->name = next->name;
        rc = call_commit(call, err);
        if (rc == RC_OK)
            *ret_row = cmd->row;
    }
    next->loaded = true;
    return rc;
}

static enum rc read_types(const struct consumer_row *row, struct event_page *page, struct err *err)
{
    CLEANUP(js_freep) struct js *types = NULL;
    if (row->types.len == 0)
        return RC_OK;
    enum rc rc = js_parse(row->types.at, row->types.len, &types, err);
    if (rc != RC_OK)
        return err_set(err, RC_CORRUPT, "STORE_CORRUPT", "the types of consumer %s cannot be read",
                       row->name);
    for (size_t i = 0; i < js_count(types) && i < SELECTOR_TYPES_MAX; i++)
        page->types[i] = arena_strdup(&page->arena, js_str(js_at(types, i), ""));
    return RC_OK;
}

static bool wants(const struct event_page *page, const char *type)
{
    for (size_t i = 0; page->types[i] != NULL; i++)
        if (event_type_match(page->types[i], type))
            return true;
    return page->types[0] == NULL;
}

struct reading {
    struct settled at;
    int64_t seq;     /* Up to here all that match are on the page. */
    int64_t left;    /* Events that the page may still get. */
    int64_t scanned; /* Rows. */
    int gaps;        /* Looks at a gap in a row that found it open. */
    struct event_page *page;
};

static bool is_full(const struct reading *reading)
{
    return reading->left == 0 || event_page_full(reading->page);
}

static void take_events(struct reading *reading, const struct event *events, size_t count)
{
    for (size_t i = 0; i < count && !is_full(reading); i++) {
        reading->seq = events[i].seq;
        if (!wants(reading->page, events[i].type))
            continue;
        event_page_add(reading->page, &events[i]);
        reading->left--;
    }
    reading->scanned += (int64_t)count;
}

/* *ret_more: the page may get more of the log. */
static enum rc read_rows(struct reading *reading, struct db *db, bool *ret_more, struct err *err)
{
    const struct timespec pause = {.tv_nsec = 2 * US_PER_MS * 1000};
    CLEANUP(arena_release) struct arena arena = {0};
    struct event *events = NULL;
    size_t count = 0;
    int64_t limit = reading->page->types[0] == NULL ? reading->left : PAGE_ROWS;
    enum rc rc = settled_read(db, &reading->at, limit, &arena, &events, &count, err);
    if (rc != RC_OK)
        return rc;
    take_events(reading, events, count);
    bool gap = settled_waits(&reading->at);
    reading->gaps = gap && count == 0 ? reading->gaps + 1 : 0;
    int tries = reading->page->text.len > 0 ? 1 : GAP_TRIES; /* What was found does not wait. */
    *ret_more = !is_full(reading) && reading->scanned < SCAN_ROWS_MAX &&
                (gap ? reading->gaps <= tries : (int64_t)count == limit);
    if (*ret_more && reading->gaps > 1) /* The first look only notes the gap. */
        (void)nanosleep(&pause, NULL);
    return RC_OK;
}

static enum rc next_read(void *ctx, struct call *call, struct db *db, struct event_page *page,
                         struct err *err)
{
    struct next *next = ctx;
    struct consumer_row row;
    enum rc rc = load(next, call, db, &page->arena, &row, err);
    if (rc == RC_OK)
        rc = read_types(&row, page, err);
    if (rc != RC_OK)
        return rc;
    struct reading reading = {
        .at = {.after_seq = row.cursor_seq},
        .seq = row.cursor_seq,
        .left = next->max,
        .page = page,
    };
    bool more = true;
    while (rc == RC_OK && more)
        rc = read_rows(&reading, db, &more, err);
    if (rc != RC_OK)
        return rc;
    page->found = page->text.len > 0 || reading.scanned >= SCAN_ROWS_MAX;
    page->unsettled = settled_waits(&reading.at);
    page->cursor = cursor_of(&row, reading.seq, &page->arena);
    return RC_OK;
}

enum rc api_consumer_next(struct call *call, struct err *err)
{
    static const struct event_source source = {next_read, next_free};
    struct params params;
    int64_t max = EVENTS_DEFAULT, wait_ms = 0;
    enum rc rc = call_params(call, &params, err);
    if (rc == RC_OK)
        rc = check_name(call, err);
    if (rc != RC_OK)
        return rc;
    params_int(&params, "max", &(struct param_range){1, EVENTS_MAX}, &max);
    params_int(&params, "waitMs", &(struct param_range){0, EVENT_WAIT_MS_MAX}, &wait_ms);
    rc = params_end(&params);
    if (rc != RC_OK)
        return rc;
    struct next *next = mem_alloc(sizeof *next);
    *next = (struct next){.name = mem_strdup(call->vars[0]), .max = max};
    event_wait_on(call, &source, next, wait_ms);
    return RC_OK;
}
