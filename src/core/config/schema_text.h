/*
 * schema_text.h - the JSON Schemas of schemas/, which became part of the program when it was built.
 */
#ifndef CORE_CONFIG_SCHEMA_TEXT_H
#define CORE_CONFIG_SCHEMA_TEXT_H
#include "base/str.h"

/* The schema of schemas: schema.json of schemas/. */
#define SCHEMA_DRAFT "https://json-schema.org/draft/2020-12/schema"

struct schema_text {
    const char *name; /* "repository", "agent.run.started.v1"; NULL ends the list. */
    struct str json;  /* NUL-terminated too. */
};

/* Made by tools/embed. */
extern const struct schema_text schema_texts[];

#define SCHEMA_URN "urn:drover:schema:"

/* By its name, its URI, or for data of events as dataschema has it:
   "urn:drover:schema:agent.run.started:1".  Empty: there is none. */
struct str schema_text_of(const char *name);

enum { SCHEMA_NAME_MAX = 200 };
/* "NAME:VERSION" and "urn:drover:schema:NAME:VERSION" as parts; a name alone has version 0.  False:
   no name of a schema. */
MUST_USE bool schema_name_parse(const char *text, char to[SCHEMA_NAME_MAX + 1],
                                int64_t *ret_version);
#endif
