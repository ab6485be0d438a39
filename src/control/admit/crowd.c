/*
 * crowd.c - see crowd.h.
 */
#include "control/admit/crowd.h"
#include "base/log.h"
#include "control/run/names.h"
#include "store/capacity.h"

struct crowd_member {
    struct id run_id;
    struct file_set files;
    bool asking;   /* Waits for a person. */
    bool will_ask; /* By the current policy. */
    bool will_publish;
    bool waits; /* Not at work: keeps its place. */
    struct crowd_member *next;
};

void crowd_open(struct crowd *crowd, const struct repository_row *repository,
                const struct repo_config *config)
{
    *crowd = (struct crowd){.repository = repository->name, .repository_id = repository->id};
    if (config == NULL)
        return;
    crowd->limits = (struct crowd_limits){
        .active_max = config->limits.max_active_runs,
        .approvals_max = config->limits.max_open_approvals,
        .pull_requests_max = config->limits.max_open_pull_requests,
        .overlap = config->limits.overlap,
        .approval = config->approval,
    };
}

/* ---- members ---------------------------------------------------------------------------- */

static enum rc read_files(struct cx *cx, struct str scope, struct str paths, struct file_set *ret)
{
    struct names globs, touched;
    enum rc rc = names_read(cx, scope, NULL, &globs);
    if (rc == RC_OK)
        rc = names_read(cx, paths, NULL, &touched);
    if (rc == RC_OK)
        *ret = (struct file_set){.globs = globs.at,
                                 .glob_count = globs.count,
                                 .paths = touched.at,
                                 .path_count = touched.count};
    return rc;
}

static void add_member(struct crowd *crowd, struct crowd_member *member)
{
    if (crowd->first == NULL)
        crowd->first = member;
    else
        crowd->last->next = member;
    crowd->last = member;
}

static enum rc load_member(struct cx *cx, struct crowd *crowd, const struct working_row *row)
{
    struct crowd_member *member = arena_alloc(cx->arena, sizeof(*member));
    member->run_id = row->run_id;
    member->asking = row->status == RUN_AWAITING_APPROVAL;
    member->will_ask = row->status != RUN_CREATING_PR &&
                       policy_decide(row->mode, row->risk, crowd->limits.approval) == POLICY_ASK;
    member->will_publish = row->mode != MODE_PATCH_ONLY && !row->has_pull_request;
    add_member(crowd, member);
    if (crowd->limits.overlap == OVERLAP_ALLOW)
        return RC_OK;
    /* Other runs must not fail for it: it counts as one without declared files. */
    if (read_files(cx, row->scope, row->paths, &member->files) != RC_OK) {
        LOG(LOG_ERROR, "cannot read the files that a run works on",
            LOG_STR("runId", row->run_id.text), LOG_STR("error", cx->err->text));
        err_clear(cx->err);
        member->files = (struct file_set){0};
    }
    return RC_OK;
}

static bool has_limits(const struct crowd_limits *limits)
{
    return limits->approvals_max > 0 || limits->pull_requests_max > 0 ||
           limits->overlap != OVERLAP_ALLOW;
}

static enum rc load(struct cx *cx, struct crowd *crowd)
{
    if (crowd->loaded)
        return RC_OK;
    struct working_row *rows;
    size_t count;
    enum rc rc = capacity_working(cx->db, &crowd->repository_id, cx->arena, &rows, &count, cx->err);
    for (size_t i = 0; rc == RC_OK && i < count; i++)
        rc = load_member(cx, crowd, &rows[i]);
    if (rc == RC_OK && crowd->limits.pull_requests_max > 0)
        rc = capacity_open_pull_requests(cx->db, &crowd->repository_id, &crowd->pull_requests,
                                         cx->err);
    crowd->loaded = rc == RC_OK;
    return rc;
}

/* ---- what it means for one that would like to join --------------------------------------- */

static void count_reviews(const struct crowd *crowd, const struct crowd_member *self,
                          struct start_facts *facts)
{
    int64_t asking = 0, coming_questions = 0, coming_pull_requests = 0;
    for (const struct crowd_member *other = crowd->first; other != NULL; other = other->next) {
        asking += other->asking;
        coming_questions += !other->waits && !other->asking && other->will_ask;
        coming_pull_requests += !other->waits && other->will_publish;
    }
    const struct crowd_limits *limits = &crowd->limits;
    facts->of[CHECK_OPEN_APPROVALS] = (struct start_fact){asking, limits->approvals_max,
                                                          crowd->repository};
    facts->of[CHECK_OPEN_PULL_REQUESTS] = (struct start_fact){
        crowd->pull_requests, limits->pull_requests_max, crowd->repository};
    if (self->will_ask)
        facts->of[CHECK_COMING_APPROVALS] = (struct start_fact){
            asking + coming_questions, limits->approvals_max, crowd->repository};
    if (self->will_publish)
        facts->of[CHECK_COMING_PULL_REQUESTS] = (struct start_fact){
            crowd->pull_requests + coming_pull_requests, limits->pull_requests_max,
            crowd->repository};
}

static const char *tell_meeting(struct cx *cx, const struct crowd_member *other,
                                const struct overlap *overlap)
{
    return arena_printf(cx->arena, "run %s %s %s, and this task %s%s", other->run_id.text,
                        other->waits ? "is in line before it and wants" : "is at work on",
                        overlap->held != NULL ? overlap->held : "files that nobody has declared",
                        overlap->wanted != NULL ? "wants " : "declares no scope",
                        overlap->wanted != NULL ? overlap->wanted : "");
}

/* The first run whose files overlap. */
static bool find_meeting(struct cx *cx, const struct crowd *crowd, const struct crowd_member *self,
                         struct meeting *ret_meeting)
{
    for (const struct crowd_member *other = crowd->first; other != NULL; other = other->next) {
        struct overlap overlap;
        if (!file_sets_overlap(&self->files, &other->files, &overlap))
            continue;
        *ret_meeting = (struct meeting){other->run_id, overlap, tell_meeting(cx, other, &overlap)};
        return true;
    }
    return false;
}

enum rc crowd_look(struct cx *cx, struct crowd *crowd, struct flow *flow,
                   struct crowd_view *ret_view, struct start_facts *facts)
{
    const struct repo_config *config;
    if (!has_limits(&crowd->limits))
        return RC_OK;
    enum rc rc = flow_config(cx, flow, &config);
    if (rc == RC_OK)
        rc = load(cx, crowd);
    if (rc != RC_OK)
        return rc;
    struct crowd_member *self = arena_alloc(cx->arena, sizeof(*self));
    self->run_id = flow->run.id;
    self->will_ask = policy_decide(flow->task.mode, flow->task.risk, config->approval) ==
                     POLICY_ASK;
    self->will_publish = flow->task.mode != MODE_PATCH_ONLY;
    count_reviews(crowd, self, facts);
    struct crowd_view view = {.self = self};
    if (crowd->limits.overlap != OVERLAP_ALLOW) {
        rc = read_files(cx, flow->task.scope, flow->run.paths, &self->files);
        bool meets = rc == RC_OK && find_meeting(cx, crowd, self, &view.meeting);
        view.warn = meets && crowd->limits.overlap == OVERLAP_WARN;
        if (meets && !view.warn)
            facts->of[CHECK_OVERLAP] = (struct start_fact){1, 1, view.meeting.detail};
    }
    if (rc == RC_OK)
        *ret_view = view;
    return rc;
}

void crowd_join(struct crowd *crowd, struct crowd_view *view, enum admission_check outcome)
{
    if (view->self == NULL || (outcome != ADMISSION_PASSED && outcome != CHECK_OVERLAP))
        return;
    view->self->waits = outcome == CHECK_OVERLAP;
    add_member(crowd, view->self);
}

void crowd_restore(struct crowd *crowd, const struct crowd *before)
{
    *crowd = *before;
    if (crowd->last != NULL)
        crowd->last->next = NULL;
}
