#include "core/conductor/issue_event.h"
#include "base/buf.h"
#include "base/fields.h"
#include "base/jw.h"

enum { DATA_BYTES_MAX = 512 * 1024 };

/* ---- reading ---- */

/* A text, or a number as its text. */
static void read_name(struct fields *fields, const char *key, enum field_need need,
                      struct arena *arena, const char **ret_name)
{
    const struct js *value = NULL;
    fields_any(fields, key, need, &value);
    if (js_type(value) == JS_INT) {
        *ret_name = arena_printf(arena, "%lld", (long long)js_int(value, 0));
        return;
    }
    if (value != NULL && js_type(value) != JS_NULL)
        fields_string(fields, key, need, &(struct field_text){1, ISSUE_EVENT_NAME_MAX}, ret_name);
}

/* A JSON array of names, each a text or a number; no name twice is needed. */
static void read_names(struct fields *fields, const char *key, size_t max, struct arena *arena,
                       struct str *ret_names)
{
    const struct js *array = NULL;
    fields_array(fields, key, FIELD_OPTIONAL, max, &array);
    if (js_count(array) == 0 || fields->rc != RC_OK)
        return;
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, DATA_BYTES_MAX);
    struct jw jw = jw_to(&text);
    jw_begin(&jw, '[');
    for (size_t i = 0; i < js_count(array); i++) {
        const struct js *item = js_at(array, i);
        const char *name = js_type(item) == JS_INT
                               ? arena_printf(arena, "%lld", (long long)js_int(item, 0))
                               : js_str(item, "");
        if (text_empty(name) || str_of(name).len > ISSUE_EVENT_NAME_MAX)
            fields_fail(fields, key, "%s[%zu] must be a text of 1 to %d bytes", key, i,
                        ISSUE_EVENT_NAME_MAX);
        jw_str(&jw, name);
    }
    jw_end(&jw, ']');
    *ret_names = str_of(str_dup(arena, buf_str(&text)));
}

static void read_approval(struct fields *fields, struct arena *arena, struct issue_event *event)
{
    const struct field_text name = {1, ISSUE_EVENT_NAME_MAX};
    fields_string(fields, "title", FIELD_OPTIONAL, &(struct field_text){1, ISSUE_EVENT_TITLE_MAX},
                  &event->title);
    fields_string(fields, "description", FIELD_OPTIONAL,
                  &(struct field_text){1, ISSUE_EVENT_TEXT_MAX}, &event->description);
    fields_string(fields, "repository", FIELD_OPTIONAL, &name, &event->repository);
    fields_string(fields, "persona", FIELD_OPTIONAL, &name, &event->persona);
    fields_int(fields, "priority", FIELD_OPTIONAL,
               &(struct field_range){1, ISSUE_EVENT_PRIORITY_MAX}, &event->priority);
    read_names(fields, "labels", ISSUE_EVENT_LABELS_MAX, arena, &event->labels);
    read_names(fields, "dependsOn", ISSUE_EVENT_DEPENDS_MAX, arena, &event->depends_on);
}

static void read_smoke(struct fields *fields, struct issue_event *event)
{
    static const char *const reasons[] = {SMOKE_REASON_CODE, SMOKE_REASON_EXTERNAL, NULL};
    int reason = 0;
    fields_choice(fields, "reason", FIELD_REQUIRED, reasons, &reason);
    event->reason = reasons[reason];
}

static void read_members(struct fields *fields, struct arena *arena, struct issue_event *event)
{
    enum issue_kind kind = event->kind;
    const char *task_id = NULL;
    const struct field_text name = {1, ISSUE_EVENT_NAME_MAX};
    bool of_milestone = kind == ISSUE_EV_MILESTONE_COMPLETE;
    bool needs_agent = kind == ISSUE_EV_ASSIGNED || kind == ISSUE_EV_HEARTBEAT;
    bool needs_branch = kind == ISSUE_EV_BRANCH_CREATED || kind == ISSUE_EV_PR_CREATED;
    if (!of_milestone)
        read_name(fields, "issueId", FIELD_REQUIRED, arena, &event->issue_id);
    fields_string(fields, "milestone", of_milestone ? FIELD_REQUIRED : FIELD_OPTIONAL, &name,
                  &event->milestone);
    fields_string(fields, "agentId", needs_agent ? FIELD_REQUIRED : FIELD_OPTIONAL, &name,
                  &event->agent_id);
    fields_string(fields, "branch", needs_branch ? FIELD_REQUIRED : FIELD_OPTIONAL, &name,
                  &event->branch);
    fields_string(fields, "base", FIELD_OPTIONAL, &name, &event->base);
    read_name(fields, "pullRequest", kind == ISSUE_EV_PR_CREATED ? FIELD_REQUIRED : FIELD_OPTIONAL,
              arena, &event->pull_request);
    if (kind == ISSUE_EV_SMOKE_FAILED)
        read_smoke(fields, event);
    else
        fields_string(fields, "reason", FIELD_OPTIONAL,
                      &(struct field_text){1, ISSUE_EVENT_REASON_MAX}, &event->reason);
    if (kind == ISSUE_EV_APPROVED)
        read_approval(fields, arena, event);
    if (kind == ISSUE_EV_GATE_REMINDER)
        fields_int(fields, "period", FIELD_REQUIRED, &(struct field_range){1, INT32_MAX},
                   &event->period);
    if (kind == ISSUE_EV_ASSIGNED || kind == ISSUE_EV_WORK_STARTED)
        fields_string(fields, "taskId", FIELD_OPTIONAL, &name, &task_id);
    if (task_id != NULL && !id_parse(task_id, &event->task_id))
        fields_fail(fields, "taskId", "taskId is not the id of a task");
}

enum rc issue_event_decode(enum issue_kind kind, const struct js *data, struct arena *arena,
                           struct issue_event *ret_event, struct err *err)
{
    struct issue_event event = {.kind = kind};
    struct fields fields;
    if (js_type(data) != JS_OBJECT)
        return err_field(err, RC_INVALID, "INVALID_FIELD", "data",
                         "data must be an object with issueId");
    fields_open(&fields, data, "data", err);
    read_members(&fields, arena, &event);
    if (fields.rc != RC_OK) /* Members that were not read are the writer's own. */
        return fields.rc;
    *ret_event = event;
    return RC_OK;
}

/* ---- writing ---- */

struct member {
    const char *key;
    const char *text; /* One of these: */
    struct str json;
    int64_t number;
};

static bool is_set(const struct member *member)
{
    return member->text != NULL || member->json.len > 0 || member->number != 0;
}

static void write_member(struct jw *jw, const struct member *member)
{
    if (member->text != NULL)
        jw_kstr(jw, member->key, member->text);
    else if (member->json.len > 0)
        jw_kraw(jw, member->key, member->json);
    else
        jw_kint(jw, member->key, member->number);
}

struct str issue_event_data(const struct issue_event *event, const struct js *given,
                            struct arena *arena)
{
    const struct member members[] = {
        {.key = "issueId", .text = event->issue_id},
        {.key = "agentId", .text = event->agent_id},
        {.key = "branch", .text = event->branch},
        {.key = "base", .text = event->base},
        {.key = "pullRequest", .text = event->pull_request},
        {.key = "reason", .text = event->reason},
        {.key = "title", .text = event->title},
        {.key = "description", .text = event->description},
        {.key = "repository", .text = event->repository},
        {.key = "milestone", .text = event->milestone},
        {.key = "persona", .text = event->persona},
        {.key = "labels", .json = event->labels},
        {.key = "dependsOn", .json = event->depends_on},
        {.key = "priority", .number = event->priority},
        {.key = "period", .number = event->period},
        {.key = "taskId", .text = id_or_null(&event->task_id)},
    };
    CLEANUP(buf_release) struct buf text;
    const char *key;
    const struct js *value;
    buf_init(&text, DATA_BYTES_MAX);
    struct jw jw = jw_to(&text);
    jw_begin(&jw, '{');
    for (size_t i = 0; i < COUNT_OF(members); i++)
        if (is_set(&members[i]))
            write_member(&jw, &members[i]);
    for (size_t it = 0; js_next(given, &it, &key, &value);) {
        size_t i = 0;
        while (i < COUNT_OF(members) && !(is_set(&members[i]) && text_same(members[i].key, key)))
            i++;
        if (i == COUNT_OF(members)) {
            jw_key(&jw, key);
            js_write(&jw, value);
        }
    }
    jw_end(&jw, '}');
    return str_of(str_dup(arena, buf_str(&text)));
}
