#include "sink/secret.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/fd.h"
#include "core/config/config_decoder.h"
#include <stdlib.h>
#include <string.h>

enum { VARIABLE_MAX = 200, PATH_BYTES_MAX = 1024 };

struct sink_secret sink_secret_decode(struct fields *fields, const struct sink_secret_keys *keys,
                                      struct arena *arena)
{
    const char *variable = NULL, *file = NULL;
    fields_string(fields, keys->variable, FIELD_OPTIONAL, &(struct field_text){1, VARIABLE_MAX},
                  &variable);
    if (variable != NULL && !config_variable_valid(variable))
        fields_fail(fields, keys->variable,
                    "%s must be the name of an environment variable, not %.100s", keys->variable,
                    variable);
    fields_string(fields, keys->file, FIELD_OPTIONAL, &(struct field_text){1, PATH_BYTES_MAX},
                  &file);
    if (file != NULL && file[0] != '/')
        fields_fail(fields, keys->file, "%s must be an absolute path", keys->file);
    if (variable != NULL && file != NULL)
        fields_fail(fields, keys->file, "give %s or %s, not both", keys->variable, keys->file);
    return (struct sink_secret){arena_strdup(arena, variable), arena_strdup(arena, file)};
}

bool sink_secret_named(const struct sink_secret *secret)
{
    return secret->variable != NULL || secret->file != NULL;
}

void sink_secret_wipe(struct sink_secret_value *value)
{
    explicit_bzero(value->text, sizeof value->text);
}

/* The text is in no message: it is a secret at any length. */
static enum rc take(struct str text, const char *from, struct sink_secret_value *ret_value,
                    struct err *err)
{
    if (text.len == 0 || text.len >= SINK_SECRET_BYTES || memchr(text.at, '\n', text.len) != NULL ||
        memchr(text.at, '\0', text.len) != NULL)
        return err_set(err, RC_INVALID, "SINK_SETTINGS",
                       "%.300s holds no secret: it is empty, has several lines, or more than %d "
                       "bytes",
                       from, SINK_SECRET_BYTES - 1);
    memcpy(ret_value->text, text.at, text.len);
    ret_value->text[text.len] = '\0';
    return RC_OK;
}

static enum rc read_file(const char *path, struct sink_secret_value *ret_value, struct err *err)
{
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, SINK_SECRET_BYTES + 1);
    enum rc rc = file_read(path, &text, err);
    if (rc == RC_OK) {
        struct str line = buf_str(&text);
        if (line.len > 0 && line.at[line.len - 1] == '\n')
            line.len--;
        rc = take(line, path, ret_value, err);
    }
    if (text.data != NULL)
        explicit_bzero(text.data, text.len);
    return rc;
}

enum rc sink_secret_read(const struct sink_secret *secret, struct sink_secret_value *ret_value,
                         struct err *err)
{
    ret_value->text[0] = '\0';
    if (secret->file != NULL)
        return read_file(secret->file, ret_value, err);
    if (secret->variable == NULL)
        return RC_OK;
    const char *value = getenv(secret->variable);
    if (value == NULL)
        return err_set(err, RC_INVALID, "SINK_SETTINGS",
                       "the server has no variable %.200s in its environment", secret->variable);
    return take(str_of(value), secret->variable, ret_value, err);
}
