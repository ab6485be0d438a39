#include "core/queue/saga_plan.h"
#include "base/fields.h"
#include "base/str.h"
#include "core/queue/job.h"
#include "core/queue/queue_config.h"

enum { NAME_MAX_BYTES = 100, TYPE_MAX_BYTES = 100 };

static void read_call(struct fields *fields, struct saga_call *call)
{
    fields_string(fields, "queue", FIELD_REQUIRED,
                  &(struct field_text){.min = 1, .max = NAME_MAX_BYTES}, &call->queue);
    if (call->queue != NULL && !queue_name_valid(call->queue))
        fields_fail(fields, "queue", "a queue's name has letters, digits, '.', '_' and '-'");
    fields_string(fields, "type", FIELD_REQUIRED,
                  &(struct field_text){.min = 1, .max = TYPE_MAX_BYTES}, &call->type);
    fields_any(fields, "payload", FIELD_OPTIONAL, &call->payload);
    fields_int(fields, "maxAttempts", FIELD_OPTIONAL, &(struct field_range){1, JOB_ATTEMPTS_MAX},
               &call->max_attempts);
}

static enum rc read_compensation(const struct js *object, const char *path,
                                 struct saga_plan_step *step, struct err *err)
{
    if (object == NULL) {
        if (step->compensate_failed)
            return err_field(err, RC_INVALID, "INVALID_FIELD", path,
                             "a step with compensateFailed needs a compensation");
        return RC_OK;
    }
    struct fields fields;
    fields_open(&fields, object, path, err);
    read_call(&fields, &step->compensation);
    step->compensable = true;
    return fields_close(&fields);
}

static enum rc read_step(const struct js *object, const char *path, struct arena *arena,
                         struct saga_plan_step *step, struct err *err)
{
    struct fields fields;
    const struct js *compensation = NULL;
    fields_open(&fields, object, path, err);
    fields_string(&fields, "name", FIELD_REQUIRED,
                  &(struct field_text){.min = 1, .max = NAME_MAX_BYTES}, &step->name);
    read_call(&fields, &step->call);
    fields_bool(&fields, "compensateFailed", FIELD_OPTIONAL, &step->compensate_failed);
    fields_object(&fields, "compensation", FIELD_OPTIONAL, &compensation);
    enum rc rc = fields_close(&fields);
    if (rc != RC_OK)
        return rc;
    return read_compensation(compensation, arena_printf(arena, "%s.compensation", path), step, err);
}

static bool is_taken(const struct saga_plan_step *steps, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (text_same(steps[i].name, name))
            return true;
    return false;
}

enum rc saga_plan_decode(const struct js *steps, struct arena *arena, struct saga_plan *ret_plan,
                         struct err *err)
{
    size_t count = js_count(steps);
    if (js_type(steps) != JS_ARRAY || count == 0 || count > SAGA_STEPS_MAX)
        return err_field(err, RC_INVALID, "INVALID_FIELD", "steps",
                         "steps must be a list of 1 to %d steps", SAGA_STEPS_MAX);
    struct saga_plan_step *decoded = arena_array(arena, count, sizeof *decoded);
    for (size_t i = 0; i < count; i++) {
        const char *path = arena_printf(arena, "steps[%zu]", i);
        enum rc rc = read_step(js_at(steps, i), path, arena, &decoded[i], err);
        if (rc != RC_OK)
            return rc;
        if (is_taken(decoded, i, decoded[i].name))
            return err_field(err, RC_INVALID, "INVALID_FIELD", arena_printf(arena, "%s.name", path),
                             "another step is called %.100s too", decoded[i].name);
    }
    *ret_plan = (struct saga_plan){decoded, count};
    return RC_OK;
}
