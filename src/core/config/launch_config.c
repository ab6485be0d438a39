#include "core/config/launch_config.h"
#include "base/jw.h"
#include "core/config/repo_config.h"
#include <string.h>

enum { DOCUMENT_BYTES_MAX = 64 * 1024 };

/* A launched agent belongs to no repository, but its configuration is read by the same rules. */
#define NO_REPOSITORY "/"

/* Members of `agent` that have another place here, or none. */
static const struct {
    const char *member, *instead;
} elsewhere[] = {
    {"use", "name it as profile"},
    {"command", "give it beside config"},
    {"account", "give it beside config"},
    {"accounts", "an agent that is launched has one account"},
    {"compute", "an agent that is launched is a process"},
    {"remote", "an agent that is launched is a process"},
    {"queue", "give it beside config"},
    {"fallback", "an agent that is launched has none"},
    {"home", "the home of an agent that is launched is its own; use mounts or env"},
    {"homeWriteBack", "the home of an agent that is launched is its own"},
};

static enum rc check_members(const struct js *config, struct err *err)
{
    for (size_t i = 0; i < COUNT_OF(elsewhere); i++)
        if (js_get(config, elsewhere[i].member) != NULL)
            return err_field(err, RC_INVALID, "INVALID_FIELD", "config",
                             "config.%s is not for an agent that is launched: %s",
                             elsewhere[i].member, elsewhere[i].instead);
    return RC_OK;
}

static enum rc write_document(const struct launch_parts *parts, struct arena *arena,
                              struct str *ret_document, struct err *err)
{
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, DOCUMENT_BYTES_MAX);
    struct jw jw = jw_to(&text);
    size_t at = 0;
    const char *key;
    const struct js *value;
    jw_begin(&jw, '{');
    jw_kstr(&jw, "url", NO_REPOSITORY);
    jw_key(&jw, "agent");
    jw_begin(&jw, '{');
    jw_optstr(&jw, "use", parts->profile);
    if (parts->command != NULL) {
        jw_key(&jw, "command");
        js_write(&jw, parts->command);
    }
    while (parts->config != NULL && js_next(parts->config, &at, &key, &value)) {
        jw_key(&jw, key);
        js_write(&jw, value);
    }
    jw_end(&jw, '}');
    jw_end(&jw, '}');
    if (text.overflow)
        return err_field(err, RC_INVALID, "INVALID_FIELD", "config",
                         "command and config have at most %d bytes", DOCUMENT_BYTES_MAX);
    *ret_document = (struct str){arena_strndup(arena, text.data, text.len), text.len};
    return RC_OK;
}

enum rc launch_config_make(const struct launch_parts *parts, struct arena *arena,
                           struct str *ret_document, struct err *err)
{
    CLEANUP(js_freep) struct js *document = NULL;
    struct str text = {0};
    if (parts->profile == NULL && parts->command == NULL) {
        if (parts->config != NULL)
            return err_field(err, RC_INVALID, "INVALID_FIELD", "config",
                             "config is for an agent that is launched: give command or profile");
        *ret_document = text;
        return RC_OK;
    }
    struct repo_config *config = arena_alloc(arena, sizeof *config);
    enum rc rc = check_members(parts->config, err);
    if (rc == RC_OK)
        rc = write_document(parts, arena, &text, err);
    if (rc == RC_OK)
        rc = js_parse(text.at, text.len, &document, err);
    if (rc == RC_OK)
        rc = repo_config_decode(document, NULL, arena, config, err);
    if (rc == RC_OK)
        *ret_document = text;
    return rc;
}
