/*
 * faults.h - what is wrong with a document: all of it up to a limit, each with its place.
 */
#ifndef CORE_CONFIG_FAULTS_H
#define CORE_CONFIG_FAULTS_H
#include "base/arena.h"
#include "base/jw.h"
#include "base/rc.h"
#include "base/str.h"
#include <stddef.h>

enum { FAULTS_MAX = 20 };

struct fault {
    const char *path;    /* verify[0].timeoutMs; "" is the document itself. */
    const char *message; /* What is wrong and what is allowed, without the path. */
    size_t line, column; /* In its text, from 1; 0: not located. */
};

struct faults {
    struct fault items[FAULTS_MAX];
    size_t count;
    size_t left_out; /* Beyond the limit. */
};

/* Copies both into the arena; what is there already is not added again. */
void faults_add(struct faults *faults, struct arena *arena, const char *path, const char *message);
/* Where they are in the YAML or JSON text that the document was read from. */
void faults_locate(struct faults *faults, struct str source);
/* Of a text that yaml_parse or js_parse has refused, if err has the place. */
MUST_USE bool faults_of_syntax(struct faults *faults, struct arena *arena, const struct err *err);
/* [{path, message, line, column}]; line and column only where they are known. */
void faults_write(const struct faults *faults, struct jw *jw);
/* All of them in one: RC_INVALID with this code, the first path as its field; RC_OK for none. */
MUST_USE enum rc faults_err(const struct faults *faults, const char *code, struct err *err);
#endif
