/*
 * audit_file.h - files of the audit log, read without a server: exports and signed notes.
 */
#ifndef CLI_AUDIT_FILE_H
#define CLI_AUDIT_FILE_H
#include "base/arena.h"
#include "core/audit/audit_note.h"

/* See audit_notes_parse.  key_path: of the public key; NULL: signatures are not checked. */
MUST_USE enum rc audit_notes_read(const char *path, const char *key_path, struct arena *arena,
                                  struct audit_notes *ret_notes, struct err *err);

/* An export, one row a line, line by line into the chain.  "-": standard input. */
MUST_USE enum rc audit_file_verify(const char *path, struct audit_chain *chain, struct err *err);
#endif
