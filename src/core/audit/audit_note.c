#include "core/audit/audit_note.h"
#include "base/clock.h"
#include "base/signature.h"
#include "base/str.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VERSION "drover-audit-note-1"

void audit_note_text(const struct audit_note *note, char to[AUDIT_NOTE_BYTES])
{
    char time[TIME_TEXT_BYTES];
    (void)snprintf(to, AUDIT_NOTE_BYTES,
                   VERSION " seq=%" PRId64 " rows=%" PRId64 " time=%s hash=%s", note->mark.seq,
                   note->mark.seq, time_format(time, note->time_us), note->mark.hash);
}

/* The value of NAME=VALUE in the text. */
static bool field(const char *text, const char *name, char *to, size_t to_bytes)
{
    const char *at = strstr(text, name);
    size_t len = at != NULL ? strcspn(at + strlen(name), " ") : 0;
    if (len == 0 || len >= to_bytes)
        return false;
    memcpy(to, at + strlen(name), len);
    to[len] = '\0';
    return true;
}

bool audit_note_parse(const char *text, struct audit_note *ret_note)
{
    struct audit_note note = {0};
    char number[32], time[TIME_TEXT_BYTES], again[AUDIT_NOTE_BYTES];
    bool whole = field(text, " seq=", number, sizeof number) &&
                 text_to_i64(number, &note.mark.seq) && field(text, " time=", time, sizeof time) &&
                 time_parse(time, &note.time_us) &&
                 field(text, " hash=", note.mark.hash, sizeof note.mark.hash) &&
                 sha256_text_valid(note.mark.hash);
    if (!whole || note.mark.seq < 0)
        return false;
    audit_note_text(&note, again);
    if (!text_same(again, text))
        return false;
    *ret_note = note;
    return true;
}

void audit_note_write(struct buf *to, const char *text, const char *signature)
{
    struct jw jw = jw_to(to);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "note", text);
    jw_kstr(&jw, "signature", signature);
    jw_end(&jw, '}');
    buf_addc(to, '\n');
}

static enum rc read_line(struct str line, struct str key, struct audit_note *ret_note,
                         struct err *err)
{
    CLEANUP(js_freep) struct js *tree = NULL;
    enum rc rc = js_parse(line.at, line.len, &tree, NULL);
    const char *text = rc == RC_OK ? js_get_str(tree, "note", "") : "";
    if (!audit_note_parse(text, ret_note))
        return err_set(err, RC_MALFORMED, "NOTE_INVALID",
                       "it is not a note of the audit log: {\"note\": ..., \"signature\": ...}");
    if (key.len == 0)
        return RC_OK;
    return signature_check(key, str_of(text), js_get_str(tree, "signature", ""), err);
}

/* What a full disk or a crash has left of a note.  A note that is missing proves nothing, so that
   one is no more of use to a forger than a deleted line. */
static bool is_unfinished(struct str line)
{
    CLEANUP(js_freep) struct js *tree = NULL;
    return line.at[0] == '{' && line.at[line.len - 1] != '}' &&
           js_parse(line.at, line.len, &tree, NULL) != RC_OK;
}

static size_t count_lines(struct str text)
{
    struct str line;
    size_t count = 0;
    while (str_take_line(&text, &line))
        count++;
    return count;
}

enum rc audit_notes_parse(struct str text, struct str public_pem, struct arena *arena,
                          struct audit_notes *ret_notes, struct err *err)
{
    struct audit_notes notes = {
        .items = arena_array(arena, count_lines(text) + 1, sizeof *notes.items)};
    struct str line;
    for (int64_t number = 1; str_take_line(&text, &line); number++) {
        struct audit_note note;
        if (line.len == 0 || is_unfinished(line))
            continue;
        enum rc rc = read_line(line, public_pem, &note, err);
        if (rc != RC_OK) {
            char where[32];
            (void)snprintf(where, sizeof where, "line %" PRId64, number);
            return err_wrap(err, rc, where);
        }
        notes.items[notes.count++] = note;
    }
    *ret_notes = notes;
    return RC_OK;
}

static int by_seq(const void *a, const void *b)
{
    int64_t left = ((const struct audit_mark *)a)->seq, right = ((const struct audit_mark *)b)->seq;
    return (left > right) - (left < right);
}

const struct audit_mark *audit_notes_marks(const struct audit_notes *notes, struct arena *arena)
{
    if (notes->count == 0)
        return NULL;
    struct audit_mark *marks = arena_array(arena, notes->count, sizeof *marks);
    for (size_t i = 0; i < notes->count; i++)
        marks[i] = notes->items[i].mark;
    qsort(marks, notes->count, sizeof *marks, by_seq);
    return marks;
}
