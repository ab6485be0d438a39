/*
 * audit.c - the audit log: listed, and its chain verified.
 */
#include "store/audit.h"
#include "api/listing.h"
#include "api/routes.h"
#include "base/fd.h"
#include "base/fields.h"
#include "core/audit/audit_note.h"

static void read_filter(struct params *params, struct audit_filter *filter)
{
    static const char *const orders[] = {"newest", "oldest", NULL};
    static const char *const outcomes[] = {AUDIT_DONE, AUDIT_DENIED, AUDIT_REFUSED, AUDIT_FAILED,
                                           NULL};
    const char *order = orders[0];
    params_choice(params, "order", orders, &order);
    params_text(params, "action", AUDIT_TEXT_MAX, &filter->action);
    params_text(params, "actor", AUDIT_TEXT_MAX, &filter->actor);
    params_choice(params, "outcome", outcomes, &filter->outcome);
    params_text(params, "resourceType", AUDIT_TEXT_MAX, &filter->resource_type);
    params_text(params, "resourceId", AUDIT_TEXT_MAX, &filter->resource_id);
    params_time(params, "since", &filter->since_us);
    params_time(params, "until", &filter->until_us);
    filter->newest_first = text_same(order, orders[0]);
}

enum rc api_audit_list(struct call *call, struct db *db, struct err *err)
{
    struct listing list;
    struct audit_filter filter = {0};
    struct audit_entry *rows = NULL;
    listing_open(&list, call, CURSOR_SEQ, err);
    read_filter(&list.params, &filter);
    enum rc rc = listing_begin(&list);
    if (filter.newest_first && list.after_seq > 0)
        filter.until_seq = list.after_seq - 1;
    else
        filter.after_seq = list.after_seq;
    filter.limit = list.query_limit;
    filter.scan = &list.scan;
    bool past_the_first = filter.newest_first && list.after_seq == 1;
    if (rc == RC_OK && !past_the_first)
        rc = audit_list(db, &filter, list.arena, &rows, &list.count, err);
    for (size_t i = 0; rc == RC_OK && rows != NULL && listing_shows(&list, i); i++) {
        audit_write(&list.jw, &rows[i]);
        list.last_number = rows[i].seq;
    }
    return listing_end(&list, rc);
}

/* {"notes": ["drover-audit-note-1 ...", ...]} */
static enum rc read_given(const struct js *tree, struct arena *arena, struct audit_notes *notes,
                          struct err *err)
{
    const struct js *given = NULL;
    struct fields fields;
    notes->items = arena_array(arena, AUDIT_NOTES_MAX, sizeof *notes->items);
    fields_open(&fields, tree, "", err);
    fields_strings(&fields, "notes", FIELD_OPTIONAL, AUDIT_NOTES_MAX,
                   &(struct field_text){.min = 1, .max = AUDIT_NOTE_BYTES}, &given);
    for (size_t i = 0; i < js_count(given) && i < AUDIT_NOTES_MAX; i++) {
        if (audit_note_parse(js_str(js_at(given, i), ""), &notes->items[notes->count]))
            notes->count++;
        else
            fields_fail(&fields, "notes",
                        "notes[%zu] is not the text of a note: it begins with "
                        "drover-audit-note-1 seq=",
                        i);
    }
    return fields_close(&fields);
}

static void add_notes(struct audit_notes *notes, const struct audit_notes *more,
                      struct arena *arena)
{
    struct audit_note *all = arena_array(arena, notes->count + more->count + 1, sizeof *all);
    for (size_t i = 0; i < notes->count; i++)
        all[i] = notes->items[i];
    for (size_t i = 0; i < more->count; i++)
        all[notes->count + i] = more->items[i];
    *notes = (struct audit_notes){all, notes->count + more->count};
}

/* Those of the file that this server anchors the log in. */
static enum rc read_own(const struct audit_anchor_config *anchor, struct arena *arena,
                        struct audit_notes *notes, struct err *err)
{
    CLEANUP(buf_release) struct buf text;
    struct audit_notes own;
    buf_init(&text, AUDIT_NOTES_BYTES_MAX);
    enum rc rc = anchor->file != NULL ? file_read(anchor->file, &text, err) : RC_NOT_FOUND;
    if (rc == RC_NOT_FOUND) {
        err_clear(err);
        return RC_OK;
    }
    if (rc == RC_OK)
        rc = audit_notes_parse(buf_str(&text), anchor->public_pem, arena, &own, err);
    if (rc == RC_DENIED || rc == RC_MALFORMED)
        return err_wrap(err, RC_CONFLICT, anchor->file);
    if (rc == RC_OK)
        add_notes(notes, &own, arena);
    return rc;
}

enum rc api_audit_verify(struct call *call, struct db *db, struct err *err)
{
    CLEANUP(js_freep) struct js *tree = NULL;
    struct arena *arena = &call->http.arena;
    struct audit_notes notes = {0};
    struct audit_chain chain;
    enum rc rc = call_no_params(call, err);
    if (rc == RC_OK)
        rc = call_json_optional(call, &tree, err);
    if (rc == RC_OK && tree != NULL)
        rc = read_given(tree, arena, &notes, err);
    if (rc == RC_OK)
        rc = read_own(&call->api->audit_anchor, arena, &notes, err);
    if (rc != RC_OK)
        return rc;
    audit_chain_begin(&chain,
                      &(struct audit_chain_options){.marks = audit_notes_marks(&notes, arena),
                                                    .mark_count = notes.count});
    rc = audit_verify(db, &chain, err);
    if (rc != RC_OK)
        return rc;
    struct jw jw = call_answer(call, 200);
    audit_chain_write(&jw, &chain);
    return RC_OK;
}
