#include "core/config/notify.h"
#include "base/fields.h"
#include "core/config/config_decoder.h"
#include "core/event_types.h"
#include <assert.h>
#include <ctype.h>
#include <string.h>

enum { URL_MAX = 2000, VARIABLE_MAX = 100, GLOB_MAX = 200, ARG_MAX_BYTES = 1000 };
static const struct field_range timeout_range = {100, 60 * 1000};

/* What can be notified of.  To add one: its kind in core/config/notify.h, a row here, its name in
   the message of read_kinds(), its words and its tone (asks, went_wrong) in
   core/config/notify_text.c, its name under "on" in docs/CONFIGURATION.md, and its event under
   "Notifications" in docs/PROTOCOL.md. */
static const struct {
    const char *name;
    const char *event; /* NULL: none */
    const char *other; /* Another event of the same kind, or NULL. */
} kinds[NOTIFY_KIND_COUNT] = {
    [NOTIFY_ACCEPTED] = {"accepted", EV_TASK_ACCEPTED, NULL},
    [NOTIFY_RUNNING] = {"running", EV_RUN_STARTED, NULL},
    [NOTIFY_APPROVAL] = {"approval", EV_APPROVAL_REQUESTED, NULL},
    [NOTIFY_REMINDER] = {"reminder", EV_APPROVAL_REMINDED, EV_QUESTION_REMINDED},
    [NOTIFY_QUESTION] = {"question", EV_QUESTION_ASKED, NULL},
    [NOTIFY_COMPLETED] = {"completed", EV_TASK_COMPLETED, NULL},
    [NOTIFY_FAILED] = {"failed", EV_TASK_FAILED, NULL},
    [NOTIFY_CANCELLED] = {"cancelled", EV_TASK_CANCELLED, NULL},
    [NOTIFY_TIMED_OUT] = {"timed_out", EV_TASK_TIMED_OUT, NULL},
    [NOTIFY_TEST] = {"test", NULL, NULL},
    [NOTIFY_REPLY] = {"reply", NULL, NULL},
};

/* How a channel delivers.  To add one: its type in core/config/notify.h, its name here, its
   settings in check_type(), its function in the table of step_notify() in work/steps/notify.c, and
   its name under "type" in docs/CONFIGURATION.md, and how it calls under "Notifications" in
   docs/PROTOCOL.md.  A new setting is a member of struct
   notify_channel, which notify_channel_decode() reads and notify_channel_write() writes. */
static const char *const type_names[] = {
    [NOTIFY_WEBHOOK] = "webhook",
    [NOTIFY_SLACK] = "slack",
    [NOTIFY_COMMAND] = "command",
    NULL,
};

const char *notify_kind_name(enum notify_kind kind)
{
    assert((unsigned)kind < NOTIFY_KIND_COUNT);
    return kinds[kind].name;
}

bool notify_kind_parse(const char *name, enum notify_kind *ret_kind)
{
    for (int kind = 0; kind < NOTIFY_KIND_COUNT; kind++) {
        if (text_same(kinds[kind].name, name)) {
            *ret_kind = (enum notify_kind)kind;
            return true;
        }
    }
    return false;
}

bool notify_kind_of(const char *event_type, enum notify_kind *ret_kind)
{
    for (int kind = 0; kind < NOTIFY_KIND_COUNT; kind++) {
        if (text_same(kinds[kind].event, event_type) || text_same(kinds[kind].other, event_type)) {
            *ret_kind = (enum notify_kind)kind;
            return true;
        }
    }
    return false;
}

const struct notify_channel *notify_channel_find(const struct notify_channels *channels,
                                                 const char *name)
{
    for (size_t i = 0; i < channels->count; i++) {
        if (text_same(channels->items[i].name, name))
            return &channels->items[i];
    }
    return NULL;
}

bool notify_channel_wants(const struct notify_channel *channel, enum notify_kind kind,
                          const char *repository)
{
    if (!channel->on[kind])
        return false;
    for (size_t i = 0; channel->repositories[i] != NULL; i++) {
        if (glob_match(channel->repositories[i], repository))
            return true;
    }
    return channel->repositories[0] == NULL;
}

/* ---- the document ---- */

static bool name_valid(const char *name)
{
    for (const char *at = name; *at; at++) {
        if (!isalnum((unsigned char)*at) && strchr("._-", *at) == NULL)
            return false;
    }
    return true;
}

static void read_text(struct fields *fields, const char *key, size_t max, struct arena *arena,
                      const char **ret_text)
{
    const char *text = NULL;
    fields_string(fields, key, FIELD_OPTIONAL, &(struct field_text){1, max}, &text);
    *ret_text = arena_strdup(arena, text);
}

static void read_variable(struct fields *fields, const char *key, struct arena *arena,
                          const char **ret_name)
{
    read_text(fields, key, VARIABLE_MAX, arena, ret_name);
    if (*ret_name != NULL && !config_variable_valid(*ret_name))
        fields_fail(fields, key, "%s must be the name of an environment variable, not %.100s", key,
                    *ret_name);
}

/* Fills a NULL-terminated list of `max` places. */
static void read_list(struct fields *fields, const char *key, const struct field_text *each,
                      size_t max, struct arena *arena, const char **ret_list)
{
    const struct js *array = NULL;
    fields_strings(fields, key, FIELD_OPTIONAL, max, each, &array);
    for (size_t i = 0; i < js_count(array) && i < max; i++)
        ret_list[i] = arena_strdup(arena, js_str(js_at(array, i), ""));
}

static void read_kinds(struct fields *fields, struct notify_channel *channel)
{
    const struct js *array = NULL;
    fields_strings(fields, "on", FIELD_REQUIRED, NOTIFY_KIND_COUNT, &(struct field_text){1, 20},
                   &array);
    for (size_t i = 0; i < js_count(array); i++) {
        enum notify_kind kind = NOTIFY_TEST;
        const char *name = js_str(js_at(array, i), "");
        if (!notify_kind_parse(name, &kind) || kind >= NOTIFY_TEST)
            fields_fail(fields, "on",
                        "on knows accepted, running, approval, reminder, question, completed, "
                        "failed, cancelled and timed_out, not %.20s",
                        name);
        channel->on[kind] = true;
    }
    if (array != NULL && js_count(array) == 0)
        fields_fail(fields, "on", "on must name at least one thing to hear of");
}

/* What only some types have. */
static void check_type(struct fields *fields, const struct notify_channel *channel)
{
    bool command = channel->type == NOTIFY_COMMAND;
    if (command && (channel->url != NULL || channel->url_env != NULL))
        fields_fail(fields, "url", "a command has no url");
    else if (command && channel->command[0] == NULL)
        fields_fail(fields, "command", "a channel of type command needs command: [PROGRAM, ...]");
    else if (!command && (channel->url == NULL) == (channel->url_env == NULL))
        fields_fail(fields, "url", "a channel of type %s needs either url or urlEnv",
                    type_names[channel->type]);
    else if (!command && (channel->command[0] != NULL || channel->env[0] != NULL))
        fields_fail(fields, "command", "only a channel of type command has command and env");
    else if (channel->secret_env != NULL && channel->type != NOTIFY_WEBHOOK)
        fields_fail(fields, "secretEnv", "only a webhook is signed");
    else if (channel->buttons && channel->type != NOTIFY_SLACK)
        fields_fail(fields, "buttons", "only a channel of type slack has buttons");
    else if (channel->url != NULL && !text_starts(channel->url, "http://") &&
             !text_starts(channel->url, "https://"))
        fields_fail(fields, "url", "url must start with http:// or https://");
}

enum rc notify_channel_decode(const struct js *document, const char *path, struct arena *arena,
                              struct notify_channel *ret_channel, struct err *err)
{
    struct notify_channel channel = {.timeout_ms = 10000};
    struct fields fields;
    const char *name = NULL;
    int type = 0;
    fields_open(&fields, document, path, err);
    fields_string(&fields, "name", FIELD_REQUIRED, &(struct field_text){1, NOTIFY_NAME_MAX}, &name);
    if (name != NULL && !name_valid(name))
        fields_fail(&fields, "name", "name may hold letters, digits and ._- only");
    read_kinds(&fields, &channel);
    read_list(&fields, "repositories", &(struct field_text){1, GLOB_MAX}, NOTIFY_GLOBS_MAX, arena,
              channel.repositories);
    fields_choice(&fields, "type", FIELD_REQUIRED, type_names, &type);
    channel.type = (enum notify_type)type;
    read_text(&fields, "url", URL_MAX, arena, &channel.url);
    read_variable(&fields, "urlEnv", arena, &channel.url_env);
    read_variable(&fields, "secretEnv", arena, &channel.secret_env);
    read_list(&fields, "command", &(struct field_text){0, ARG_MAX_BYTES}, NOTIFY_ARGS_MAX, arena,
              channel.command);
    read_list(&fields, "env", &(struct field_text){1, VARIABLE_MAX}, NOTIFY_ENV_MAX, arena,
              channel.env);
    fields_bool(&fields, "buttons", FIELD_OPTIONAL, &channel.buttons);
    fields_int(&fields, "timeoutMs", FIELD_OPTIONAL, &timeout_range, &channel.timeout_ms);
    check_type(&fields, &channel);
    enum rc rc = fields_close(&fields);
    if (rc != RC_OK)
        return rc;
    channel.name = arena_strdup(arena, name);
    *ret_channel = channel;
    return RC_OK;
}

enum rc notify_channels_decode(const struct js *array, const char *path, struct arena *arena,
                               struct notify_channels *ret_channels, struct err *err)
{
    size_t count = js_count(array);
    assert(count <= NOTIFY_CHANNELS_MAX); /* The form that read it has checked that. */
    struct notify_channel *items = arena_array(arena, count + 1, sizeof *items);
    for (size_t i = 0; i < count; i++) {
        const char *where = arena_printf(arena, "%s[%zu]", path, i);
        enum rc rc = notify_channel_decode(js_at(array, i), where, arena, &items[i], err);
        if (rc != RC_OK)
            return rc;
        const struct notify_channels before = {items, i};
        if (notify_channel_find(&before, items[i].name) != NULL)
            return err_field(err, RC_INVALID, "INVALID_FIELD", where,
                             "there are two channels called %s", items[i].name);
    }
    *ret_channels = (struct notify_channels){items, count};
    return RC_OK;
}

static void write_list(struct jw *jw, const char *key, const char *const *list)
{
    if (list[0] == NULL)
        return;
    jw_key(jw, key);
    jw_begin(jw, '[');
    for (size_t i = 0; list[i] != NULL; i++)
        jw_str(jw, list[i]);
    jw_end(jw, ']');
}

void notify_channel_write(struct jw *jw, const struct notify_channel *channel)
{
    jw_begin(jw, '{');
    jw_kstr(jw, "name", channel->name);
    jw_key(jw, "on");
    jw_begin(jw, '[');
    for (int kind = 0; kind < NOTIFY_KIND_COUNT; kind++) {
        if (channel->on[kind])
            jw_str(jw, kinds[kind].name);
    }
    jw_end(jw, ']');
    write_list(jw, "repositories", channel->repositories);
    jw_kstr(jw, "type", type_names[channel->type]);
    jw_optstr(jw, "url", channel->url);
    jw_optstr(jw, "urlEnv", channel->url_env);
    jw_optstr(jw, "secretEnv", channel->secret_env);
    write_list(jw, "command", channel->command);
    write_list(jw, "env", channel->env);
    if (channel->buttons)
        jw_kbool(jw, "buttons", true);
    jw_kint(jw, "timeoutMs", channel->timeout_ms);
    jw_end(jw, '}');
}
