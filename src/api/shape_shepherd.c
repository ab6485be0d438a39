/*
 * shape_shepherd.c - how far drover has come with a pull request, as clients see it.
 */
#include "api/shapes.h"
#include "store/shepherds.h"

static void key_work(struct jw *jw, const struct shepherd_row *shepherd)
{
    jw_key(jw, "work");
    if (shepherd->work == NULL) {
        jw_null(jw);
        return;
    }
    jw_begin(jw, '{');
    jw_kstr(jw, "kind", shepherd->work);
    jw_optstr(jw, "cause", shepherd->work_cause);
    jw_kstr(jw, text_same(shepherd->work, "repair") ? "taskId" : "jobId", shepherd->work_id.text);
    jw_kstr(jw, "head", shepherd->work_head);
    jw_end(jw, '}');
}

void shape_shepherd(struct jw *jw, const struct shepherd_row *shepherd)
{
    if (shepherd == NULL) {
        jw_null(jw);
        return;
    }
    bool fresh = shepherd->certified_head != NULL &&
                 text_same(shepherd->certified_head, shepherd->head);
    jw_begin(jw, '{');
    jw_kstr(jw, "state", shepherd_state_name(shepherd->state));
    jw_kstr(jw, "reason", shepherd->reason);
    jw_kstr(jw, "head", shepherd->head);
    jw_kstr(jw, "certificate", fresh ? shepherd->certificate_sha256 : NULL);
    jw_kbool(jw, "verified", fresh && shepherd->certified);
    jw_key(jw, "attempts");
    jw_begin(jw, '{');
    jw_kint(jw, "reruns", shepherd->reruns);
    jw_kint(jw, "repairs", shepherd->repairs);
    jw_kint(jw, "rebases", shepherd->rebases);
    jw_kint(jw, "verifications", shepherd->verifies);
    jw_end(jw, '}');
    jw_kreal(jw, "costUsd", (double)shepherd->repair_microusd / 1e6);
    key_work(jw, shepherd);
    jw_kraw(jw, "failures", shepherd->failures.len > 0 ? shepherd->failures : STR("[]"));
    jw_kstr(jw, "approvalId", id_or_null(&shepherd->approval_id));
    jw_kbool(jw, "stopped", shepherd->stopped);
    jw_ktime(jw, "lookedAt", shepherd->looked_us);
    jw_ktime(jw, "endedAt", shepherd->ended_us);
    jw_end(jw, '}');
}
