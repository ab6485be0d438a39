/*
 * yaml_places.h - where the values of a YAML or JSON document stand in its text.
 *
 * A path is written as messages write it: agent.command[2], verify[0].timeoutMs; "" is the
 * document.  A member stands where its key begins, an element where it begins itself.
 */
#ifndef BASE_YAML_PLACES_H
#define BASE_YAML_PLACES_H
#include "base/rc.h"
#include "base/str.h"

struct yaml_place {
    const char *path;    /* Given. */
    size_t line, column; /* From 1; 0: the text could not be read as far as that. */
    size_t known;        /* How many bytes of the path were found. */
};

/* In one pass.  What is not there stands where the nearest thing round it does. */
void yaml_locate(struct str text, struct yaml_place *places, size_t count);

/* Where a text that yaml_parse or js_parse refused is wrong, and why; false: not in err. */
MUST_USE bool yaml_err_place(const struct err *err, struct yaml_place *ret_place,
                             const char **ret_why);
#endif
