#include "api/saga_shape.h"

void shape_saga_open(struct jw *jw, const struct saga_row *saga)
{
    jw_begin(jw, '{');
    jw_kstr(jw, "id", saga->id.text);
    jw_kstr(jw, "name", saga->name);
    jw_kstr(jw, "dedupKey", saga->dedup_key);
    jw_kstr(jw, "status", saga_status_name(saga->life.status));
    jw_kstr(jw, "phase", saga_phase_name(saga->life.phase));
    jw_kint(jw, "position", saga->life.position);
    jw_kstr(jw, "jobId", id_or_null(&saga->job_id));
    jw_kstr(jw, "runId", id_or_null(&saga->run_id));
    jw_kstr(jw, "errorCode", saga->error_code);
    jw_kstr(jw, "errorMessage", saga->error_message);
    jw_ktime(jw, "createdAt", saga->created_us);
    jw_ktime(jw, "updatedAt", saga->updated_us);
    jw_ktime(jw, "endedAt", saga->ended_us);
}

static void shape_step(struct jw *jw, const struct saga_step_row *step)
{
    jw_begin(jw, '{');
    jw_kint(jw, "no", step->no);
    jw_kstr(jw, "step", step->name);
    jw_kstr(jw, "phase", saga_phase_name(step->phase));
    jw_kstr(jw, "status", step->status);
    jw_kstr(jw, "jobId", step->job_id.text);
    jw_kraw(jw, "result", step->result);
    jw_key(jw, "error");
    if (step->error_code != NULL) {
        jw_begin(jw, '{');
        jw_kstr(jw, "code", step->error_code);
        jw_kstr(jw, "message", step->error_message);
        jw_end(jw, '}');
    } else {
        jw_null(jw);
    }
    jw_ktime(jw, "startedAt", step->started_us);
    jw_ktime(jw, "endedAt", step->ended_us);
    jw_end(jw, '}');
}

void shape_saga_history(struct jw *jw, const struct saga_step_row *steps, size_t count)
{
    jw_key(jw, "history");
    jw_begin(jw, '[');
    for (size_t i = 0; i < count; i++)
        shape_step(jw, &steps[i]);
    jw_end(jw, ']');
}

enum rc shape_saga_of_job(struct jw *jw, struct db *db, const struct job_row *job,
                          struct arena *arena, struct err *err)
{
    if (id_is_none(&job->saga_id))
        return RC_OK;
    struct saga_row saga;
    struct saga_step_row *steps = NULL;
    size_t count = 0;
    enum rc rc = sagas_peek(db, &job->saga_id, arena, &saga, err);
    if (rc == RC_OK)
        rc = saga_steps_list(db, &saga.id, arena, &steps, &count, err);
    if (rc != RC_OK)
        return rc;
    jw_key(jw, "saga");
    shape_saga_open(jw, &saga);
    shape_saga_history(jw, steps, count);
    jw_end(jw, '}');
    return RC_OK;
}
