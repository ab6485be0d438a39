#include "work/agent/session_cost.h"
#include "base/fd.h"
#include "base/log.h"
#include "work/tree/worktree.h"

enum { FILE_BYTES_MAX = 4096 };

static const char *path_of(const struct step *step)
{
    return worktree_path(step, "session.json");
}

double session_cost_read(const struct step *step, const char *session_id)
{
    CLEANUP(buf_release) struct buf text;
    CLEANUP(js_freep) struct js *kept = NULL;
    buf_init(&text, FILE_BYTES_MAX);
    if (file_read(path_of(step), &text, NULL) != RC_OK ||
        js_parse(buf_text(&text), text.len, &kept, NULL) != RC_OK ||
        !text_same(js_get_str(kept, "sessionId", ""), session_id))
        return 0;
    return js_num(js_get(kept, "costUsd"), 0);
}

void session_cost_write(const struct step *step, const char *session_id, double usd)
{
    CLEANUP(buf_release) struct buf text;
    struct err err = {0};
    buf_init(&text, FILE_BYTES_MAX);
    struct jw jw = jw_to(&text);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "sessionId", session_id);
    jw_kreal(&jw, "costUsd", usd);
    jw_end(&jw, '}');
    if (file_write_durable(path_of(step), buf_text(&text), text.len, 0600, &err) != RC_OK)
        LOG(LOG_WARN, "the cost of a session could not be kept",
            LOG_STR("runId", step->input.run_id.text), LOG_STR("error", err.text));
}
