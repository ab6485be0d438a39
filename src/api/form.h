/*
 * form.h - bodies of application/x-www-form-urlencoded.
 */
#ifndef API_FORM_H
#define API_FORM_H
#include "base/arena.h"
#include "base/rc.h"
#include "base/str.h"
#include <stdbool.h>

/* The first field of that name, decoded, in the arena.  false: there is none, or it is not
   percent-encoded UTF-8. */
MUST_USE bool form_field(struct str body, const char *name, struct arena *arena,
                         const char **ret_value);
#endif
