#include "forge/people.h"
#include "base/str.h"

static const struct {
    const char *forge;
    const struct people_ops *ops;
} forges[] = {
    {"local", &people_local},
};

const struct people_ops *people_of(const char *forge)
{
    for (size_t i = 0; i < COUNT_OF(forges); i++)
        if (text_same(forges[i].forge, forge))
            return forges[i].ops;
    return NULL;
}
