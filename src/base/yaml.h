/*
 * yaml.h - YAML 1.1 (one document) into the same tree as JSON.
 *
 * Plain scalars become null, bool, int, real or string by the core schema;
 * quoted ones stay strings.  Refused: duplicate keys, anchors and aliases,
 * tags, keys that are not scalars, nesting deeper than JS_DEPTH_MAX, more than
 * YAML_VALUES_MAX values, more than one document.  JSON is YAML, so one entry
 * point reads both.
 */
#ifndef BASE_YAML_H
#define BASE_YAML_H
#include "base/js.h"

enum { YAML_VALUES_MAX = 10000 }; /* People write it: what is longer is a mistake. */

/* RC_MALFORMED with line and column. */
MUST_USE enum rc yaml_parse(const char *bytes, size_t len, struct js **ret_tree, struct err *err);
#endif
