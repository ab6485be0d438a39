#include "api/form.h"
#include "http/params.h"
#include <string.h>

bool form_field(struct str body, const char *name, struct arena *arena, const char **ret_value)
{
    size_t len = strlen(name);
    while (body.len > 0) {
        const char *end = memchr(body.at, '&', body.len);
        struct str field = {body.at, end != NULL ? (size_t)(end - body.at) : body.len};
        if (field.len > len && memcmp(field.at, name, len) == 0 && field.at[len] == '=')
            return url_decode((struct str){field.at + len + 1, field.len - len - 1}, true, arena,
                              ret_value);
        size_t taken = field.len + (end != NULL);
        body = (struct str){body.at + taken, body.len - taken};
    }
    return false;
}
