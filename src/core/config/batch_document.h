/*
 * batch_document.h - the document of a batch (schemas/batch.json), checked by its schema: by the
 * command line with the lines of its file, and by the server.  Pure.
 */
#ifndef CORE_CONFIG_BATCH_DOCUMENT_H
#define CORE_CONFIG_BATCH_DOCUMENT_H
#include "base/js.h"
#include "core/config/faults.h"

/* RC_INVALID, INVALID_FIELD: *ret_faults has all faults, err the first. */
MUST_USE enum rc batch_document_check(const struct js *document, struct arena *arena,
                                      struct faults *ret_faults, struct err *err);
#endif
