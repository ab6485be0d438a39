/*
 * audit_chain.h - checks the audit log row by row, in the order of seq, and names the first damage.
 *
 *     struct audit_chain chain;
 *     audit_chain_begin(&chain, &options);
 *     while (... && audit_chain_add(&chain, &entry))
 *         ;
 *     audit_chain_end(&chain, &head);
 *     chain.damage, chain.bad_seq, chain.text
 *
 * Memory does not grow with the rows.  What the chain alone shows:
 *
 *   changed    a member of the row no longer fits its hash
 *   moved      the row fits its hash under another number: it was put elsewhere
 *   removed    rows are missing before this one
 *   cut        rows are missing at the end (by the stored head, or by a note)
 *   added      rows that the head does not know
 *   rewritten  the rows fit together, and not with the hash of a signed note (audit_note.h)
 *
 * Pure.
 */
#ifndef CORE_AUDIT_AUDIT_CHAIN_H
#define CORE_AUDIT_AUDIT_CHAIN_H
#include "core/audit/audit.h"

enum audit_damage {
    AUDIT_SOUND,
    AUDIT_CHANGED,
    AUDIT_MOVED,
    AUDIT_REMOVED,
    AUDIT_CUT,
    AUDIT_ADDED,
    AUDIT_REWRITTEN
};
const char *audit_damage_name(enum audit_damage damage);

/* A row that is known from elsewhere: the stored head, or a signed note. */
struct audit_mark {
    int64_t seq; /* 0: no rows */
    char hash[SHA256_TEXT_BYTES];
};

struct audit_chain_options {
    bool from_anywhere;             /* The first row may have any number: a part of the log. */
    const struct audit_mark *marks; /* Of notes, by seq.  Not copied. */
    size_t mark_count;
};

enum { AUDIT_CHAIN_TEXT_BYTES = 256 };
struct audit_chain {
    struct audit_chain_options options;
    struct audit_mark last; /* The last row that is sound. */
    int64_t first_seq;      /* 0: no rows yet */
    int64_t rows;           /* Sound ones. */
    size_t marks_passed;    /* Those before the rows, too, which were not compared; */
    size_t marks_fit;       /* and those that were. */
    enum audit_damage damage;
    int64_t bad_seq; /* The first row that was changed, is missing or is elsewhere. */
    char text[AUDIT_CHAIN_TEXT_BYTES]; /* What is wrong with it, for people. */
};

void audit_chain_begin(struct audit_chain *chain, const struct audit_chain_options *options);
/* false: it is damaged, and no further row is looked at. */
bool audit_chain_add(struct audit_chain *chain, const struct audit_entry *entry);
/* A row that cannot be read as one. */
void audit_chain_unreadable(struct audit_chain *chain, const char *why);
/* After the last row.  head: as stored; NULL: not known. */
void audit_chain_end(struct audit_chain *chain, const struct audit_mark *head);

/* {"ok", "rows", "firstSeq", "lastSeq", "lastHash", "notes", "firstBad": {seq, damage, detail}} */
void audit_chain_write(struct jw *jw, const struct audit_chain *chain);
#endif
