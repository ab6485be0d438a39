/*
 * js.h - reading JSON.  Strict: duplicate keys, bad UTF-8, trailing data and
 * deep nesting are refused with the line and column.
 *
 * A tree is immutable once parsed and owned by the caller that parsed it (js_free, or
 * CLEANUP(js_freep)); the pointers that the readers below give out live as
 * long as the tree.  A missing member reads like null: NULL.
 */
#ifndef BASE_JS_H
#define BASE_JS_H
#include "base/arena.h"
#include "base/buf.h"
#include "base/rc.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct js; /* One value of a tree. */

enum js_type { JS_NULL, JS_BOOL, JS_INT, JS_REAL, JS_STRING, JS_ARRAY, JS_OBJECT };

enum { JS_DEPTH_MAX = 64 };

/* RC_MALFORMED with line and column in err.  An empty body is malformed too. */
MUST_USE enum rc js_parse(const char *bytes, size_t len, struct js **ret_tree, struct err *err);
/* The same for what other programs print: of members with one name the last counts, and a value
   that could not be read takes nothing else with it (js_mend.h). */
MUST_USE enum rc js_parse_lenient(const char *bytes, size_t len, struct js **ret_tree,
                                  struct err *err);
void js_free(struct js *tree);
void js_freep(struct js **tree);

enum js_type js_type(const struct js *value); /* NULL is JS_NULL. */
const char *js_type_name(enum js_type type);  /* "a string", "an object", ... */

const struct js *js_get(const struct js *object, const char *key);    /* NULL when missing. */
const struct js *js_path(const struct js *value, const char *dotted); /* js_path(v, "a.b.c") */
size_t js_count(const struct js *array_or_object);
const struct js *js_at(const struct js *array, size_t index);

/* Members of an object in the order of the text: for (it = 0; js_next(o, &it, &k, &v);) */
bool js_next(const struct js *object, size_t *position, const char **ret_key,
             const struct js **ret_value);

/* Value or fallback; a value of another type gives the fallback. */
const char *js_str(const struct js *value, const char *fallback);
int64_t js_int(const struct js *value, int64_t fallback);
double js_num(const struct js *value, double fallback); /* Takes ints as well. */
bool js_bool(const struct js *value, bool fallback);

/* Short hands for members. */
const char *js_get_str(const struct js *object, const char *key, const char *fallback);
int64_t js_get_int(const struct js *object, const char *key, int64_t fallback);
bool js_get_bool(const struct js *object, const char *key, bool fallback);

struct jw;
void js_write(struct jw *jw, const struct js *value); /* As a value of what is being written. */
/* The compact JSON text of a value, in the arena. */
char *js_text(const struct js *value, struct arena *arena);

/*
 * Building, for yaml.c and tests only: JSON output is written with jw.h.
 * js_put and js_push take ownership of value.  js_put is false on a duplicate key.
 */
struct js *js_new_null(void);
struct js *js_new_bool(bool value);
struct js *js_new_int(int64_t value);
struct js *js_new_real(double value);                   /* NULL when it is not finite. */
struct js *js_new_string(const char *text, size_t len); /* NULL when not UTF-8 without NUL. */
struct js *js_new_array(void);
struct js *js_new_object(void);
MUST_USE bool js_put(struct js *object, const char *key, struct js *value);
void js_push(struct js *array, struct js *value);
#endif
