#include "core/audit/audit_chain.h"
#include "base/str.h"
#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

/* Numbers that are tried for a row that does not fit its own, on either side of it. */
enum { MOVED_TRIES = 5000 };

const char *audit_damage_name(enum audit_damage damage)
{
    static const char *const names[] = {
        [AUDIT_SOUND] = "sound",         [AUDIT_CHANGED] = "changed", [AUDIT_MOVED] = "moved",
        [AUDIT_REMOVED] = "removed",     [AUDIT_CUT] = "cut",         [AUDIT_ADDED] = "added",
        [AUDIT_REWRITTEN] = "rewritten",
    };
    assert((size_t)damage < COUNT_OF(names));
    return names[damage];
}

void audit_chain_begin(struct audit_chain *chain, const struct audit_chain_options *options)
{
    *chain = (struct audit_chain){.options = *options, .last = {.hash = AUDIT_NO_HASH}};
}

static bool PRINTF_LIKE(4, 5)
    fail(struct audit_chain *chain, enum audit_damage damage, int64_t seq, const char *fmt, ...)
{
    va_list args;
    chain->damage = damage;
    chain->bad_seq = seq;
    va_start(args, fmt);
    (void)vsnprintf(chain->text, sizeof chain->text, fmt, args);
    va_end(args);
    return false;
}

/* The number under which the row fits its hash; 0: none near. */
static int64_t number_of(const struct audit_entry *entry)
{
    struct audit_entry other = *entry;
    char hash[SHA256_TEXT_BYTES];
    for (int64_t i = 1; i <= MOVED_TRIES; i++) {
        for (int side = -1; side <= 1; side += 2) {
            other.seq = entry->seq + side * i;
            if (other.seq < 1)
                continue;
            audit_hash(&other, hash);
            if (text_same(hash, entry->hash))
                return other.seq;
        }
    }
    return 0;
}

/* Its own hash does not fit. */
static bool name_misfit(struct audit_chain *chain, const struct audit_entry *entry)
{
    int64_t was = number_of(entry);
    if (was > 0)
        return fail(chain, AUDIT_MOVED, entry->seq,
                    "in the place of row %" PRId64 " stands the row that was written as %" PRId64,
                    entry->seq, was);
    return fail(chain, AUDIT_CHANGED, entry->seq,
                "row %" PRId64 " was changed: its members do not have the hash that it carries",
                entry->seq);
}

static bool check_links(struct audit_chain *chain, const struct audit_entry *entry)
{
    int64_t wanted = chain->last.seq + 1;
    if (entry->seq > wanted)
        return fail(chain, AUDIT_REMOVED, wanted,
                    "row %" PRId64 " is missing: after row %" PRId64 " comes row %" PRId64, wanted,
                    chain->last.seq, entry->seq);
    if (entry->seq < wanted)
        return fail(chain, AUDIT_MOVED, entry->seq, "row %" PRId64 " stands after row %" PRId64,
                    entry->seq, chain->last.seq);
    if (text_same(entry->prev_hash, chain->last.hash))
        return true;
    if (chain->last.seq == 0)
        return fail(chain, AUDIT_CHANGED, entry->seq,
                    "the first row refers to a row before it: it is not the first of its log");
    return fail(chain, AUDIT_CHANGED, chain->last.seq,
                "row %" PRId64 " was changed and given a new hash: row %" PRId64
                " carries another one of it",
                chain->last.seq, entry->seq);
}

/* Rows that notes name must be what they were when the note was signed. */
static bool check_marks(struct audit_chain *chain, const struct audit_entry *entry)
{
    while (chain->marks_passed < chain->options.mark_count) {
        const struct audit_mark *mark = &chain->options.marks[chain->marks_passed];
        if (mark->seq > entry->seq)
            break;
        bool names_it = mark->seq == entry->seq;
        if (names_it && !text_same(mark->hash, entry->hash))
            return fail(chain, AUDIT_REWRITTEN, entry->seq,
                        "row %" PRId64
                        " has another hash than a signed note gives it: it, or rows before it, "
                        "were written anew after the note",
                        entry->seq);
        chain->marks_fit += names_it;
        chain->marks_passed++;
    }
    return true;
}

bool audit_chain_add(struct audit_chain *chain, const struct audit_entry *entry)
{
    char hash[SHA256_TEXT_BYTES];
    if (chain->damage != AUDIT_SOUND)
        return false;
    if (chain->first_seq == 0 && chain->options.from_anywhere && entry->seq > 0) {
        chain->last.seq = entry->seq - 1;
        text_copy(chain->last.hash, sizeof chain->last.hash, entry->prev_hash);
    }
    audit_hash(entry, hash);
    if (!text_same(hash, entry->hash))
        return name_misfit(chain, entry);
    if (!check_links(chain, entry) || !check_marks(chain, entry))
        return false;
    if (chain->first_seq == 0)
        chain->first_seq = entry->seq;
    chain->last.seq = entry->seq;
    text_copy(chain->last.hash, sizeof chain->last.hash, hash);
    chain->rows++;
    return true;
}

void audit_chain_unreadable(struct audit_chain *chain, const char *why)
{
    int64_t seq = chain->last.seq + 1;
    if (chain->damage == AUDIT_SOUND)
        (void)fail(chain, AUDIT_CHANGED, seq, "row %" PRId64 " cannot be read: %.150s", seq, why);
}

static bool check_head(struct audit_chain *chain, const struct audit_mark *head)
{
    int64_t seq = chain->last.seq;
    if (head->seq > seq)
        return fail(chain, AUDIT_CUT, seq + 1,
                    "rows %" PRId64 " to %" PRId64 " were cut off: the log's head names the last",
                    seq + 1, head->seq);
    if (head->seq < seq)
        return fail(chain, AUDIT_ADDED, head->seq + 1,
                    "the log's head names row %" PRId64 " as the last, and %" PRId64 " follow",
                    head->seq, seq - head->seq);
    if (!text_same(head->hash, chain->last.hash))
        return fail(chain, AUDIT_CHANGED, seq,
                    "row %" PRId64 " was changed and given a new hash: the log's head has another",
                    seq);
    return true;
}

void audit_chain_end(struct audit_chain *chain, const struct audit_mark *head)
{
    size_t count = chain->options.mark_count;
    const struct audit_mark *newest = count > 0 ? &chain->options.marks[count - 1] : NULL;
    if (chain->damage != AUDIT_SOUND)
        return;
    if (head != NULL && !check_head(chain, head))
        return;
    if (newest != NULL && newest->seq > chain->last.seq)
        (void)fail(chain, AUDIT_CUT, chain->last.seq + 1,
                   "rows %" PRId64 " to %" PRId64 " were cut off: a signed note names row %" PRId64,
                   chain->last.seq + 1, newest->seq, newest->seq);
}

void audit_chain_write(struct jw *jw, const struct audit_chain *chain)
{
    jw_begin(jw, '{');
    jw_kbool(jw, "ok", chain->damage == AUDIT_SOUND);
    jw_kint(jw, "rows", chain->rows);
    jw_kint(jw, "firstSeq", chain->first_seq);
    jw_kint(jw, "lastSeq", chain->last.seq);
    jw_kstr(jw, "lastHash", chain->last.hash);
    jw_kint(jw, "notes", (int64_t)chain->marks_fit);
    if (chain->damage != AUDIT_SOUND) {
        jw_key(jw, "firstBad");
        jw_begin(jw, '{');
        jw_kint(jw, "seq", chain->bad_seq);
        jw_kstr(jw, "damage", audit_damage_name(chain->damage));
        jw_kstr(jw, "detail", chain->text);
        jw_end(jw, '}');
    }
    jw_end(jw, '}');
}
