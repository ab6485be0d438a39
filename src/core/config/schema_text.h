/*
 * schema_text.h - the schemas of schemas/, as they were when the program was built.
 */
#ifndef CORE_CONFIG_SCHEMA_TEXT_H
#define CORE_CONFIG_SCHEMA_TEXT_H
#include "base/str.h"

struct schema_text {
    const char *name; /* "repository"; NULL ends the list. */
    struct str json;  /* NUL-terminated too. */
};

/* Made by tools/embed. */
extern const struct schema_text schema_texts[];
#endif
