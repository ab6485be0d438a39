/*
 * repo_document.h - a repository's configuration before it is decoded: checked by its schema,
 * merged from layers, and shown with its defaults.
 *
 *     defaults of the program  <  profile (agent.use)  <  platform (the server's `defaults`)
 *         <  repository  <  task
 *
 * The later layer wins: objects merge, every other value replaces the lower one, and null
 * removes what a lower layer has set.  Pure.
 */
#ifndef CORE_CONFIG_REPO_DOCUMENT_H
#define CORE_CONFIG_REPO_DOCUMENT_H
#include "base/js.h"
#include "base/jw.h"
#include "base/str.h"
#include "core/config/faults.h"
#include "core/config/repo_config.h"

/*
 * The whole document, by schema and then by repo_config_decode.  RC_INVALID,
 * INVALID_CONFIGURATION: *ret_faults has all faults, err the first.
 */
MUST_USE enum rc repo_document_check(const struct js *document, struct arena *arena,
                                     struct faults *ret_faults, struct err *err);
/* The same of a layer, where nothing is required: by schema only. */
MUST_USE enum rc repo_layer_check(const struct js *layer, struct arena *arena,
                                  struct faults *ret_faults, struct err *err);
/* The server's own layer: also decoded, with placeholders for missing fields, without a url. */
MUST_USE enum rc repo_defaults_check(const struct js *layer, struct arena *arena,
                                     struct faults *ret_faults, struct err *err);
/* What a task may override, by its own schema. */
MUST_USE enum rc repo_overrides_check(const struct js *overrides, struct arena *arena,
                                      struct faults *ret_faults, struct err *err);

/* Layers as JSON texts, from the lowest; empty ones are left out. */
struct repo_layers {
    struct str snapshot; /* Of a task: platform and repository as they were. */
    struct str platform, repository, task;
};
/* All layers merged, in the arena, or the only one there is. */
MUST_USE enum rc repo_layers_merge(const struct repo_layers *layers, struct arena *arena,
                                   struct str *ret_document, struct err *err);

/* The same, decoded.  The tree is the caller's to free. */
MUST_USE enum rc repo_layers_decode(const struct repo_layers *layers, struct arena *arena,
                                    struct js **ret_tree, struct repo_config *ret_config,
                                    struct err *err);

/* The same, checked as repo_document_check does. */
MUST_USE enum rc repo_layers_check(const struct repo_layers *layers, struct arena *arena,
                                   struct faults *ret_faults, struct err *err);

/* "effective": the document with its defaults, "origins": {path: name of the layer}. */
MUST_USE enum rc repo_layers_write(const struct repo_layers *layers, struct arena *arena,
                                   struct jw *jw, struct err *err);
/* The document with the defaults of its schema. */
MUST_USE enum rc repo_document_fill(const struct js *document, struct jw *jw, struct err *err);
#endif
