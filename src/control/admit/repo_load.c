#include "control/admit/repo_load.h"
#include "base/log.h"
#include "control/run/names.h"
#include "store/capacity.h"

struct repo_load_member {
    struct id run_id;
    struct id root_run_id; /* Of its budget tree, or none. */
    struct file_set files;
    bool asking;   /* Waits for a person. */
    bool will_ask; /* By the current policy. */
    bool will_publish;
    bool waits; /* Not at work: keeps its place. */
    struct repo_load_member *next;
};

void repo_load_open(struct repo_load *load, const struct repository_row *repository,
                    const struct repo_config *config)
{
    *load = (struct repo_load){.repository = repository->name, .repository_id = repository->id};
    if (config == NULL)
        return;
    load->limits = (struct repo_load_limits){
        .active_max = config->limits.max_active_runs,
        .approvals_max = config->limits.max_open_approvals,
        .pull_requests_max = config->limits.max_open_pull_requests,
        .overlap = config->limits.overlap,
        .approval = config->approval,
    };
}

/* ---- members ---- */

static enum rc read_files(struct context *ctx, struct str scope, struct str paths,
                          struct file_set *ret)
{
    struct names globs, touched;
    enum rc rc = names_read(ctx, scope, NULL, &globs);
    if (rc == RC_OK)
        rc = names_read(ctx, paths, NULL, &touched);
    if (rc == RC_OK)
        *ret = (struct file_set){.globs = globs.at,
                                 .glob_count = globs.count,
                                 .paths = touched.at,
                                 .path_count = touched.count};
    return rc;
}

static void add_member(struct repo_load *load, struct repo_load_member *member)
{
    if (load->first == NULL)
        load->first = member;
    else
        load->last->next = member;
    load->last = member;
}

static enum rc load_member(struct context *ctx, struct repo_load *load,
                           const struct working_row *row)
{
    struct repo_load_member *member = arena_alloc(ctx->arena, sizeof *member);
    member->run_id = row->run_id;
    member->root_run_id = row->root_run_id;
    member->asking = row->status == RUN_AWAITING_APPROVAL;
    member->will_ask = row->status != RUN_CREATING_PR &&
                       policy_decide(row->mode, row->risk, load->limits.approval) == POLICY_ASK;
    member->will_publish = row->mode != MODE_PATCH_ONLY && !row->has_pull_request;
    add_member(load, member);
    if (load->limits.overlap == OVERLAP_ALLOW)
        return RC_OK;
    /* Other runs must not fail for it: it counts as one without declared files. */
    if (read_files(ctx, row->scope, row->paths, &member->files) != RC_OK) {
        LOG(LOG_ERROR, "cannot read the files that a run works on",
            LOG_STR("runId", row->run_id.text), LOG_STR("error", ctx->err->text));
        err_clear(ctx->err);
        member->files = (struct file_set){0};
    }
    return RC_OK;
}

static bool has_limits(const struct repo_load_limits *limits)
{
    return limits->approvals_max > 0 || limits->pull_requests_max > 0 ||
           limits->overlap != OVERLAP_ALLOW;
}

static enum rc read_rows(struct context *ctx, struct repo_load *load)
{
    if (load->loaded)
        return RC_OK;
    struct working_row *rows;
    size_t count;
    enum rc rc = capacity_working(ctx->db, &load->repository_id, ctx->arena, &rows, &count,
                                  ctx->err);
    for (size_t i = 0; rc == RC_OK && i < count; i++)
        rc = load_member(ctx, load, &rows[i]);
    if (rc == RC_OK && load->limits.pull_requests_max > 0)
        rc = capacity_open_pull_requests(ctx->db, &load->repository_id, &load->pull_requests,
                                         ctx->err);
    load->loaded = rc == RC_OK;
    return rc;
}

/* ---- what it means for one that would like to join ---- */

static void count_reviews(const struct repo_load *load, const struct repo_load_member *self,
                          struct start_facts *facts)
{
    int64_t asking = 0, coming_questions = 0, coming_pull_requests = 0;
    for (const struct repo_load_member *other = load->first; other != NULL; other = other->next) {
        asking += other->asking;
        coming_questions += !other->waits && !other->asking && other->will_ask;
        coming_pull_requests += !other->waits && other->will_publish;
    }
    const struct repo_load_limits *limits = &load->limits;
    facts->of[CHECK_OPEN_APPROVALS] = (struct start_fact){asking, limits->approvals_max,
                                                          load->repository};
    facts->of[CHECK_OPEN_PULL_REQUESTS] = (struct start_fact){
        load->pull_requests, limits->pull_requests_max, load->repository};
    if (self->will_ask)
        facts->of[CHECK_COMING_APPROVALS] = (struct start_fact){
            asking + coming_questions, limits->approvals_max, load->repository};
    if (self->will_publish)
        facts->of[CHECK_COMING_PULL_REQUESTS] = (struct start_fact){
            load->pull_requests + coming_pull_requests, limits->pull_requests_max,
            load->repository};
}

static const char *describe_overlap(struct context *ctx, const struct repo_load_member *other,
                                    const struct overlap *overlap)
{
    return arena_printf(ctx->arena, "run %s %s %s, and this task %s%s", other->run_id.text,
                        other->waits ? "is in line before it and wants" : "is at work on",
                        overlap->held != NULL ? overlap->held : "files that it has not declared",
                        overlap->wanted != NULL ? "wants " : "declares no scope",
                        overlap->wanted != NULL ? overlap->wanted : "");
}

/* A sub-task may change what its parent and its siblings change: they have divided the work.  Nor
   does it wait behind one that waits for them, since its parent may wait for it. */
static bool is_passed_over(const struct repo_load_member *self,
                           const struct repo_load_member *other)
{
    if (id_is_none(&self->root_run_id))
        return false;
    return other->waits || id_same(&self->root_run_id, &other->root_run_id);
}

/* The first run whose files overlap. */
static bool find_meeting(struct context *ctx, const struct repo_load *load,
                         const struct repo_load_member *self, struct meeting *ret_meeting)
{
    for (const struct repo_load_member *other = load->first; other != NULL; other = other->next) {
        struct overlap overlap;
        if (is_passed_over(self, other) ||
            !file_sets_overlap(&self->files, &other->files, &overlap))
            continue;
        *ret_meeting = (struct meeting){other->run_id, overlap,
                                        describe_overlap(ctx, other, &overlap)};
        return true;
    }
    return false;
}

enum rc repo_load_check(struct context *ctx, struct repo_load *load, struct flow *flow,
                        struct repo_load_view *ret_view, struct start_facts *facts)
{
    const struct repo_config *config;
    if (!has_limits(&load->limits))
        return RC_OK;
    enum rc rc = flow_config(ctx, flow, &config);
    if (rc == RC_OK)
        rc = read_rows(ctx, load);
    if (rc != RC_OK)
        return rc;
    struct repo_load_member *self = arena_alloc(ctx->arena, sizeof *self);
    self->run_id = flow->run.id;
    self->root_run_id = flow->run.root_run_id;
    self->will_ask = policy_decide(flow->task.mode, flow->task.risk, config->approval) ==
                     POLICY_ASK;
    self->will_publish = flow->task.mode != MODE_PATCH_ONLY;
    count_reviews(load, self, facts);
    struct repo_load_view view = {.self = self};
    if (load->limits.overlap != OVERLAP_ALLOW) {
        rc = read_files(ctx, flow->task.scope, flow->run.paths, &self->files);
        bool meets = rc == RC_OK && find_meeting(ctx, load, self, &view.meeting);
        view.warn = meets && load->limits.overlap == OVERLAP_WARN;
        if (meets && !view.warn)
            facts->of[CHECK_OVERLAP] = (struct start_fact){1, 1, view.meeting.detail};
    }
    if (rc == RC_OK)
        *ret_view = view;
    return rc;
}

void repo_load_join(struct repo_load *load, struct repo_load_view *view,
                    enum admission_check outcome)
{
    if (view->self == NULL || (outcome != ADMISSION_PASSED && outcome != CHECK_OVERLAP))
        return;
    view->self->waits = outcome == CHECK_OVERLAP;
    add_member(load, view->self);
}

void repo_load_restore(struct repo_load *load, const struct repo_load *before)
{
    *load = *before;
    if (load->last != NULL)
        load->last->next = NULL;
}
