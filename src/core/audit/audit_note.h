/*
 * audit_note.h - the head of the audit log at a moment, as a text that is signed and kept outside.
 *
 *     {"note": "drover-audit-note-1 seq=120 rows=120 time=2026-07-03T12:00:00Z hash=ab…",
 *      "signature": "base64 of the Ed25519 signature of the text of note"}
 *
 * One line each.  The signature covers the bytes of `note` and nothing else, so that openssl alone
 * can check it.  Pure.
 */
#ifndef CORE_AUDIT_AUDIT_NOTE_H
#define CORE_AUDIT_AUDIT_NOTE_H
#include "core/audit/audit_chain.h"

enum { AUDIT_NOTE_BYTES = 256, AUDIT_NOTE_LINE_MAX = 1024 };
enum { AUDIT_NOTES_BYTES_MAX = 64 * 1024 * 1024 }; /* Of a file of them: 20 years of one an hour. */

struct audit_note {
    struct audit_mark mark;
    int64_t time_us;
};

/* How a server anchors its log: server/audit_anchor.h.  Texts are not owned. */
struct audit_anchor_config {
    const char *key;     /* The file of the private key; NULL: it does not. */
    const char *file;    /* Notes are appended there; or NULL. */
    const char *webhook; /* Notes are sent there; or NULL. */
    int64_t every_us;
    struct str public_pem; /* Of the key, once it was read. */
};

void audit_note_text(const struct audit_note *note, char to[AUDIT_NOTE_BYTES]);
/* false: it is not such a text. */
MUST_USE bool audit_note_parse(const char *text, struct audit_note *ret_note);
/* {"note": ..., "signature": ...}, and the end of the line. */
void audit_note_write(struct buf *to, const char *text, const char *signature);

enum { AUDIT_NOTES_MAX = 1000 }; /* In one request.  Of a file all are used. */
struct audit_notes {
    struct audit_note *items; /* In the order of the file. */
    size_t count;
};
/*
 * Notes, one a line.  public_pem: the key that must have signed each; empty: signatures are not
 * checked.  RC_DENIED (code SIGNATURE_WRONG): a line has another signature.  RC_MALFORMED (code
 * NOTE_INVALID): a line is no note.  One that was cut short, without its "}", is passed over.
 */
MUST_USE enum rc audit_notes_parse(struct str text, struct str public_pem, struct arena *arena,
                                   struct audit_notes *ret_notes, struct err *err);
/* For struct audit_chain_options; in the arena. */
const struct audit_mark *audit_notes_marks(const struct audit_notes *notes, struct arena *arena);
#endif
