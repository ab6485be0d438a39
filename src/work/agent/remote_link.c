#include "work/agent/remote_link.h"
#include "base/mem.h"
#include "core/run/said.h"
#include "net/http_client.h"
#include <stdlib.h>

enum {
    TASK_BYTES_MAX = 256 * 1024 * 1024, /* Prompt, feedback and patch, with every byte escaped. */
    ANSWER_SPARE_BYTES = 256 * 1024,    /* Of an answer, beside the patch. */
    STOP_CALL_MS = 10 * 1000,
};

struct remote_link {
    struct step *step;
    struct http_client *client;
    struct buf answer;
};

void remote_answer_release(struct remote_answer *answer)
{
    js_free(answer->tree);
    answer->tree = NULL;
}

static enum rc read_credential(struct step *step, const char **ret_token, struct err *err)
{
    const char *name = step->input.config.agent.remote.credential;
    *ret_token = name != NULL ? getenv(name) : NULL;
    if (name == NULL || !text_empty(*ret_token))
        return RC_OK;
    enum rc rc = err_set(err, RC_NOT_FOUND, "CREDENTIAL_MISSING",
                         "The worker's environment has no %.100s, which agent.remote.credential "
                         "names.",
                         name);
    return step_fail(step, rc, err, (struct port_failure){.code = "credential_missing"});
}

enum rc remote_link_open(struct step *step, struct remote_link **ret_link, struct err *err)
{
    const struct repo_config *config = &step->input.config;
    struct http_client_options options = {
        .url = config->agent.remote.url,
        .timeout_ms = config->agent.remote.call_ms,
        .connect_timeout_ms = config->agent.remote.call_ms,
    };
    struct http_client *client = NULL;
    enum rc rc = read_credential(step, &options.token, err);
    if (rc != RC_OK)
        return rc;
    rc = http_client_new(&options, &client, err);
    if (rc != RC_OK)
        return step_fail(step, rc, err, (struct port_failure){.code = "session_start_failed"});
    struct remote_link *link = mem_alloc(sizeof *link);
    link->step = step;
    link->client = client;
    /* A diff has few characters that need an escape, and each of those becomes two. */
    buf_init(&link->answer, 2 * (size_t)config->limits.max_patch_bytes + ANSWER_SPARE_BYTES);
    *ret_link = link;
    return RC_OK;
}

void remote_link_free(struct remote_link *link)
{
    if (link == NULL)
        return;
    http_client_free(link->client);
    buf_release(&link->answer);
    mem_free(link);
}

void remote_link_freep(struct remote_link **link)
{
    remote_link_free(*link);
}

/* ---- calls ---- */

static enum remote_status parse_status(const struct js *tree)
{
    static const struct {
        const char *name;
        enum remote_status status;
    } names[] = {
        {"accepted", REMOTE_ACCEPTED},   {"running", REMOTE_RUNNING},
        {"completed", REMOTE_COMPLETED}, {"end_turn", REMOTE_COMPLETED},
        {"failed", REMOTE_FAILED},
    };
    const char *status = js_get_str(tree, "status", "");
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        if (text_same(names[i].name, status))
            return names[i].status;
    }
    return REMOTE_UNKNOWN;
}

static enum rc post(struct remote_link *link, struct http_call *call, struct err *err)
{
    struct http_reply reply;
    call->method = "POST";
    call->path = "";
    return http_client_call(link->client, call, &link->answer, &reply, err);
}

/* What is 2xx and no JSON has no status either. */
static enum rc converse(struct remote_link *link, struct str body, struct remote_answer *ret_answer,
                        struct err *err)
{
    struct http_call call = {.body = body, .stop = &link->step->stop->reason};
    enum rc rc = post(link, &call, err);
    if (rc != RC_OK)
        return rc;
    struct remote_answer answer = {.status = REMOTE_UNKNOWN};
    if (js_parse(buf_text(&link->answer), link->answer.len, &answer.tree, NULL) == RC_OK)
        answer.status = parse_status(answer.tree);
    *ret_answer = answer;
    return RC_OK;
}

static void open_body(struct jw *jw, const struct step *step, const char *type)
{
    jw_begin(jw, '{');
    jw_kstr(jw, "type", type);
    jw_kstr(jw, "sessionId", step->input.session_id);
}

/* A text that is kept as an artifact, with `end` behind it; null when there is neither. */
struct member {
    const char *key, *sha256, *end;
};
static enum rc add_text(struct jw *jw, const struct member *member, struct step *step,
                        struct err *err)
{
    if (member->sha256 == NULL && text_empty(member->end)) {
        jw_kstr(jw, member->key, NULL);
        return RC_OK;
    }
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, STEP_TEXT_ARTIFACT_MAX + SAID_BYTES_MAX);
    enum rc rc = member->sha256 != NULL ? step_get(step, member->sha256, &text, err) : RC_OK;
    if (rc == RC_OK && member->end != NULL)
        buf_adds(&text, member->end);
    jw_key(jw, member->key);
    jw_strn(jw, buf_text(&text), text.len);
    return rc;
}

static void add_limits(struct jw *jw, const struct step_input *input)
{
    jw_key(jw, "maxTurns");
    if (input->max_turns > 0)
        jw_int(jw, input->max_turns);
    else
        jw_null(jw);
    jw_key(jw, "maxBudgetUsd");
    if (input->max_budget_usd > 0)
        jw_real(jw, input->max_budget_usd);
    else
        jw_null(jw);
    jw_key(jw, "maxTokens");
    if (input->max_tokens > 0)
        jw_int(jw, input->max_tokens);
    else
        jw_null(jw);
    jw_kint(jw, "timeoutMs", input->config.timeouts.agent_ms);
    jw_ktime(jw, "runDeadline", input->run_deadline_us);
}

/* What people have said stands in the text that is new: the prompt, later the feedback. */
static enum rc add_texts(struct jw *jw, struct step *step, struct err *err)
{
    const struct step_input *input = &step->input;
    CLEANUP(buf_release) struct buf said;
    buf_init(&said, SAID_BYTES_MAX);
    said_write(input->payload, &said);
    bool again = input->attempt > 1;
    const struct member members[] = {
        {"prompt", input->prompt_sha256, again ? NULL : buf_text(&said)},
        {"plan", input->plan_sha256, NULL},
        {"feedback", input->feedback_sha256, again ? buf_text(&said) : NULL},
        {"patch", input->patch_sha256, NULL},
    };
    enum rc rc = RC_OK;
    for (size_t i = 0; rc == RC_OK && i < COUNT_OF(members); i++)
        rc = add_text(jw, &members[i], step, err);
    return rc;
}

static enum rc write_task(struct step *step, struct buf *body, struct err *err)
{
    const struct step_input *input = &step->input;
    char *url = arena_strdup(step->arena, input->config.url);
    git_redact(url);
    struct jw jw = jw_to(body);
    open_body(&jw, step, "task");
    jw_kstr(&jw, "taskId", input->task_id.text);
    jw_kstr(&jw, "runId", input->run_id.text);
    jw_kint(&jw, "attempt", input->attempt);
    jw_kstr(&jw, "repository", input->repository);
    jw_kstr(&jw, "repositoryUrl", url);
    jw_kstr(&jw, "targetBranch", input->target_branch);
    jw_kstr(&jw, "branch", input->branch);
    jw_kstr(&jw, "baseCommit", input->base_commit);
    jw_kstr(&jw, "model", input->config.agent.model);
    add_limits(&jw, input);
    enum rc rc = add_texts(&jw, step, err);
    jw_end(&jw, '}');
    if (rc == RC_OK && body->overflow)
        return err_set(err, RC_INVALID, "TASK_TOO_LARGE",
                       "Prompt, feedback and patch together "
                       "are too large for one call.");
    return rc;
}

enum rc remote_begin(struct remote_link *link, struct remote_answer *ret_answer, struct err *err)
{
    CLEANUP(buf_release) struct buf body;
    buf_init(&body, TASK_BYTES_MAX);
    enum rc rc = write_task(link->step, &body, err);
    return rc == RC_OK ? converse(link, buf_str(&body), ret_answer, err) : rc;
}

static struct str short_body(struct remote_link *link, const char *type, struct buf *into)
{
    struct jw jw = jw_to(into);
    open_body(&jw, link->step, type);
    jw_end(&jw, '}');
    return buf_str(into);
}

enum rc remote_ask(struct remote_link *link, struct remote_answer *ret_answer, struct err *err)
{
    CLEANUP(buf_release) struct buf body;
    buf_init(&body, GIT_TEXT_MAX);
    return converse(link, short_body(link, "poll", &body), ret_answer, err);
}

enum rc remote_end(struct remote_link *link, struct err *err)
{
    CLEANUP(buf_release) struct buf body;
    buf_init(&body, GIT_TEXT_MAX);
    int64_t call_ms = link->step->input.config.agent.remote.call_ms;
    struct http_call call = {.body = short_body(link, "stop", &body),
                             .timeout_ms = call_ms < STOP_CALL_MS ? call_ms : STOP_CALL_MS};
    enum rc rc = post(link, &call, err);
    return rc == RC_NOT_FOUND ? RC_OK : rc;
}
