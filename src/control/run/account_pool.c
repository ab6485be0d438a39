#include "control/run/account_pool.h"
#include "base/hash.h"
#include "control/run/account_view.h"
#include "control/run/accounts.h"
#include "core/config/profile.h"
#include "core/event_types.h"
#include <string.h>

enum { POOL_BYTES_MAX = 200, DETAILS_MAX = 4 };

/* ---- candidates ---- */

static bool has_word(const char *words, const char *word)
{
    size_t len = strlen(word);
    for (const char *at = words; at != NULL && *at != '\0'; at += strspn(at, " ")) {
        size_t next = strcspn(at, " ");
        if (next == len && memcmp(at, word, len) == 0)
            return true;
        at += next;
    }
    return false;
}

/* A run that is already counted does not stand in its own way. */
static bool is_counted(const struct flow *flow, const char *name)
{
    enum run_status status = flow->stored_run.status;
    return run_is_active(status) && status != RUN_AWAITING_APPROVAL && status != RUN_CREATING_PR &&
           text_same(flow->stored_run.account, name);
}

/* An active run that tries a parked account may use it; one that was sent back met its limit. */
static int64_t parked_for(const struct flow *flow, const struct account_row *row)
{
    bool tries_it = id_same(&row->probe_run_id, &flow->run.id) && run_is_active(flow->run.status);
    return tries_it ? 0 : row->parked_until_us;
}

static enum rc fill(struct context *ctx, const struct flow *flow, struct account_candidate *to)
{
    const struct run_row *run = &flow->run;
    const struct account_config *config = account_configs_find(ctx->accounts, to->name);
    const struct seen_account *seen;
    to->is_own = text_same(run->account, to->name) && run->fallback == (int64_t)to->list;
    to->held = run->held_until_us > ctx->now_us && has_word(run->tried_accounts, to->name);
    to->price = 1;
    if (config != NULL) {
        to->known = true;
        to->max_runs = config->max_runs;
        to->price = config->price;
        to->reserve = config->reserve;
    }
    enum rc rc = to->max_runs > 0 ? account_view_runs(ctx, to->name, &to->runs) : RC_OK;
    if (to->runs > 0 && is_counted(flow, to->name))
        to->runs--;
    if (rc == RC_OK)
        rc = account_view_find(ctx, to->name, &seen);
    if (rc != RC_OK || seen == NULL)
        return rc;
    to->used_us = seen->row.used_us;
    to->windows = seen->windows.items;
    to->window_count = seen->windows.count;
    to->parked_until_us = parked_for(flow, &seen->row);
    return to->parked_until_us > ctx->now_us ? accounts_may_probe(ctx, &seen->row, &to->may_probe)
                                             : RC_OK;
}

/* The names that a configuration leads to. */
struct names {
    struct {
        const char *name;
        size_t list;
        bool known;
    } items[ACCOUNT_CANDIDATES_MAX];
    size_t count;
};

static void add(struct names *names, const char *name, size_t list, bool known)
{
    if (names->count == ACCOUNT_CANDIDATES_MAX)
        return;
    names->items[names->count].name = name;
    names->items[names->count].list = list;
    names->items[names->count++].known = known;
}

static void add_agent(struct context *ctx, const struct agent_config *agent, size_t list,
                      struct names *names)
{
    const struct account_configs *accounts = ctx->accounts;
    size_t before = names->count;
    for (size_t i = 0; agent->accounts[i] != NULL; i++)
        add(names, agent->accounts[i], list, false); /* A misspelt one must not be used. */
    bool any = agent->accounts[0] == NULL && agent->account == NULL && agent->profile != NULL;
    for (size_t i = 0; any && i < accounts->count; i++)
        if (text_same(accounts->items[i].provider, agent->profile->name))
            add(names, accounts->items[i].name, list, true);
    if (names->count == before)
        add(names, agent_account(agent, ctx->arena), list, true);
}

static enum rc add_candidates(struct context *ctx, const struct flow *flow,
                              const struct names *names, struct account_offer *offer)
{
    enum rc rc = RC_OK;
    offer->candidates = arena_array(ctx->arena, names->count, sizeof *offer->candidates);
    for (size_t i = 0; rc == RC_OK && i < names->count; i++) {
        offer->candidates[i] = (struct account_candidate){.name = names->items[i].name,
                                                          .list = names->items[i].list,
                                                          .known = names->items[i].known};
        rc = fill(ctx, flow, &offer->candidates[i]);
    }
    offer->count = names->count;
    return rc;
}

/* The names, or what stands for them when they are many. */
static const char *pool_name(const struct account_offer *offer, struct arena *arena)
{
    CLEANUP(buf_release) struct buf names;
    buf_init(&names, ACCOUNT_CANDIDATES_MAX * (size_t)POOL_BYTES_MAX);
    for (size_t i = 0; i < offer->count; i++) {
        buf_adds(&names, i > 0 ? " " : "");
        buf_adds(&names, offer->candidates[i].name);
    }
    if (names.len <= POOL_BYTES_MAX)
        return arena_strdup(arena, buf_text(&names));
    char hash[SHA256_TEXT_BYTES];
    sha256_hex(names.data, names.len, hash);
    return arena_strdup(arena, hash);
}

enum rc pool_ask(struct context *ctx, struct flow *flow, struct account_offer *ret_offer)
{
    const struct repo_config *config;
    enum rc rc = flow_config(ctx, flow, &config);
    if (rc != RC_OK)
        return rc;
    struct account_offer offer = {0};
    struct names names = {.count = 0};
    for (size_t list = 0; list <= config->fallback_count; list++)
        add_agent(ctx, repo_config_agent(config, (int64_t)list), list, &names);
    rc = add_candidates(ctx, flow, &names, &offer);
    if (rc != RC_OK)
        return rc;
    offer.pool = pool_name(&offer, ctx->arena);
    offer.choice = account_choose(offer.candidates, offer.count, ctx->now_us);
    *ret_offer = offer;
    return RC_OK;
}

/* ---- why none is free ---- */

static const char *describe(struct context *ctx, const struct account_candidate *candidate,
                            const struct account_verdict *verdict)
{
    char until[TIME_TEXT_BYTES];
    bool is_known = verdict->until_us > 0;
    return arena_printf(ctx->arena, "account %s %s%s%s", candidate->name,
                        account_standing_text(verdict->standing), is_known ? " at " : "",
                        is_known ? time_format(until, verdict->until_us) : "");
}

struct pool_refusal pool_refusal(struct context *ctx, const struct flow *flow,
                                 const struct account_offer *offer)
{
    const struct account_choice *choice = &offer->choice;
    int named = choice->earliest == ACCOUNT_NONE ? 0 : choice->earliest;
    struct pool_refusal refusal = {.check = CHECK_ACCOUNT,
                                   .account = offer->candidates[named].name};
    bool held = false;
    const char *text = "";
    for (size_t i = 0; i < offer->count; i++) {
        struct account_verdict verdict = account_judge(&offer->candidates[i], ctx->now_us);
        held |= verdict.standing == ACCOUNT_HELD;
        if (i < DETAILS_MAX)
            text = arena_printf(ctx->arena, "%s%s%s", text, i > 0 ? "; " : "",
                                describe(ctx, &offer->candidates[i], &verdict));
    }
    if (offer->count > DETAILS_MAX)
        text = arena_printf(ctx->arena, "%s; and %zu more", text, offer->count - DETAILS_MAX);
    if (!choice->full && choice->earliest != ACCOUNT_NONE)
        refusal.check = CHECK_QUOTA;
    else if (!choice->full && held)
        refusal.check = CHECK_REPORTED_QUOTA;
    refusal.detail = refusal.check == CHECK_REPORTED_QUOTA
                         ? accounts_held_detail(&flow->run, ctx->arena)
                         : text;
    return refusal;
}

void pool_note_empty(struct context *ctx, const struct account_offer *offer)
{
    for (size_t i = 0; i < offer->count; i++)
        if (offer->candidates[i].held)
            return; /* For this run only. */
    account_view_note_empty(ctx, offer->pool);
}

/* ---- taking one ---- */

static enum rc emit_chosen(struct context *ctx, struct flow *flow, const struct run_row *before,
                           enum account_standing standing)
{
    static const char *const standings[] = {
        [ACCOUNT_FREE] = "free", [ACCOUNT_NEAR_LIMIT] = "near_limit", [ACCOUNT_PROBE] = "probe"};
    const struct run_row *run = &flow->run;
    CLEANUP(event_body_release) struct event_body body;
    event_body_open(&body);
    jw_kstr(&body.jw, "runId", run->id.text);
    jw_kstr(&body.jw, "account", run->account);
    jw_kstr(&body.jw, "agent", run->agent);
    jw_kstr(&body.jw, "model", run->model);
    jw_kint(&body.jw, "fallback", run->fallback);
    jw_kstr(&body.jw, "standing", standings[standing]);
    if (!text_same(before->account, run->account))
        jw_optstr(&body.jw, "previousAccount", before->account);
    return flow_emit(ctx, flow, EV_ACCOUNT_CHOSEN, &body);
}

/* since_us: when it got the account; 0: one that is not configured. */
static enum rc note(struct context *ctx, struct flow *flow,
                    const struct account_candidate *candidate, int64_t since_us)
{
    struct run_row *run = &flow->run;
    const struct run_row before = *run;
    const struct account_config *account = account_configs_find(ctx->accounts, candidate->name);
    const struct agent_config *agent;
    bool same = candidate->is_own && since_us == run->account_us;
    enum rc rc = same ? RC_OK : pool_book(ctx, run);
    if (since_us > 0 && before.account_us == 0)
        run->booked_microusd = run->cost_microusd; /* What it cost elsewhere. */
    run->fallback = (int64_t)candidate->list;
    if (rc == RC_OK)
        rc = pool_agent(ctx, flow, &agent);
    if (rc != RC_OK)
        return rc;
    if (!text_same(run->account, candidate->name))
        run->account = candidate->name;
    run->account_us = since_us;
    if (!same)
        run->agent_session = NULL; /* It is in the home of the other one. */
    run->pool = NULL;
    if (!text_same(run->agent, agent_name(agent)))
        run->agent = agent_name(agent);
    const char *model = agent->model_told ? agent->model : NULL;
    bool told = agent->model_told || agent->profile != NULL;
    if (account != NULL && account->model != NULL && told)
        model = account->model;
    if (!same || run->model == NULL) /* Until the agent reports another. */
        run->model = model;
    bool is_chosen = account != NULL || run->fallback != before.fallback;
    return !same && is_chosen
               ? emit_chosen(ctx, flow, &before, account_judge(candidate, ctx->now_us).standing)
               : RC_OK;
}

/* The candidate as its row, locked now, has it. */
static enum rc refresh(struct context *ctx, const struct flow *flow, struct account_row *row,
                       struct account_candidate *candidate)
{
    struct account_key key = {.id = context_id(ctx),
                              .workspace_id = ctx->workspace_id,
                              .name = candidate->name,
                              .now_us = ctx->now_us};
    struct account_windows *windows = arena_alloc(ctx->arena, sizeof *windows);
    enum rc rc = accounts_take(ctx->db, &key, ctx->arena, row, ctx->err);
    if (rc == RC_OK)
        rc = account_windows_parse(row->windows, ctx->arena, windows, ctx->err);
    if (rc == RC_OK && candidate->max_runs > 0)
        rc = accounts_runs_but(ctx->db, row->name, &flow->run.id, &candidate->runs, ctx->err);
    if (rc != RC_OK)
        return rc;
    candidate->windows = windows->items;
    candidate->window_count = windows->count;
    candidate->parked_until_us = parked_for(flow, row);
    candidate->may_probe = false;
    return candidate->parked_until_us > ctx->now_us
               ? accounts_may_probe(ctx, row, &candidate->may_probe)
               : RC_OK;
}

/* A home that another run had meanwhile is not the one that this run left. */
static bool keeps(const struct account_candidate *candidate, const struct flow *flow,
                  const struct account_row *row)
{
    bool is_last = id_same(&row->used_run_id, &flow->run.id);
    return candidate->is_own && flow->run.account_us > 0 && (candidate->max_runs != 1 || is_last);
}

static enum rc take_configured(struct context *ctx, struct flow *flow,
                               struct account_candidate *candidate, bool *ret_taken)
{
    struct account_row row;
    enum account_standing hoped = account_judge(candidate, ctx->now_us).standing;
    enum rc rc = refresh(ctx, flow, &row, candidate);
    if (rc != RC_OK)
        return rc;
    enum account_standing standing = account_judge(candidate, ctx->now_us).standing;
    *ret_taken = standing <= hoped;
    if (!*ret_taken)
        return RC_OK;
    if (standing == ACCOUNT_PROBE)
        rc = accounts_probe(ctx, flow, row.name, ret_taken);
    candidate->may_probe &= *ret_taken;
    if (rc != RC_OK || !*ret_taken)
        return rc;
    int64_t since_us = flow->run.account_us;
    if (!keeps(candidate, flow, &row)) {
        since_us = ctx->now_us;
        rc = accounts_note_use(ctx, row.name, &flow->run.id);
    }
    return rc == RC_OK ? note(ctx, flow, candidate, since_us) : rc;
}

static enum rc take_plain(struct context *ctx, struct flow *flow,
                          struct account_candidate *candidate, bool *ret_taken)
{
    *ret_taken = true;
    bool probes = account_judge(candidate, ctx->now_us).standing == ACCOUNT_PROBE;
    enum rc rc = probes ? accounts_probe(ctx, flow, candidate->name, ret_taken) : RC_OK;
    candidate->may_probe &= *ret_taken;
    return rc == RC_OK && *ret_taken ? note(ctx, flow, candidate, 0) : rc;
}

enum rc pool_take(struct context *ctx, struct flow *flow, struct account_offer *offer)
{
    bool taken = false;
    enum rc rc = RC_OK;
    /* Each try that fails has found one account in a worse standing than it had seemed. */
    size_t tries = 3 * offer->count;
    while (rc == RC_OK && !taken && offer->choice.at != ACCOUNT_NONE && tries-- > 0) {
        struct account_candidate *candidate = &offer->candidates[offer->choice.at];
        bool configured = account_configs_find(ctx->accounts, candidate->name) != NULL;
        rc = configured ? take_configured(ctx, flow, candidate, &taken)
                        : take_plain(ctx, flow, candidate, &taken);
        if (rc == RC_OK && !taken)
            offer->choice = account_choose(offer->candidates, offer->count, ctx->now_us);
    }
    if (!taken)
        offer->choice.at = ACCOUNT_NONE;
    return rc;
}

/* ---- of a run ---- */

enum rc pool_agent(struct context *ctx, struct flow *flow, const struct agent_config **ret_agent)
{
    const struct repo_config *config;
    enum rc rc = flow_config(ctx, flow, &config);
    if (rc == RC_OK)
        *ret_agent = repo_config_agent(config, flow->run.fallback);
    return rc;
}

const struct account_config *pool_account(const struct context *ctx, const struct run_row *run)
{
    return run->account_us > 0 ? account_configs_find(ctx->accounts, run->account) : NULL;
}

/* The cost is reported by the agent: no more is booked than the run was admitted for. */
enum rc pool_book(struct context *ctx, struct run_row *run)
{
    int64_t cost = run->cost_microusd;
    if (run->budget_microusd > 0 && cost > run->budget_microusd)
        cost = run->budget_microusd;
    int64_t more = cost - run->booked_microusd;
    if (run->account_us == 0 || more <= 0)
        return RC_OK;
    run->booked_microusd = cost;
    return accounts_note_cost(ctx, run->account, more);
}
