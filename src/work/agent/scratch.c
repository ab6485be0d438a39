#include "work/agent/scratch.h"
#include "base/fd.h"
#include "base/log.h"
#include "work/job/step_secrets.h"
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { LOG_BYTES_MAX = 1024 * 1024, WORDS_MAX = 300, SWEEP_MS = 10 * 60 * 1000, UNUSED_HOURS = 24 };

/* A lease with the configuration that it was made with, and the step that acts for it. */
struct holding {
    struct step *step;
    struct scratch_book *book;
    struct scratch_lease lease;
    const struct repo_config *config;
};

static const char *place_of(const struct holding *holding, const char *name)
{
    return arena_printf(holding->step->arena, "%s/%s/%s", scratch_book_dir(holding->book),
                        holding->lease.holder.text, name);
}

static const struct database_config *find_database(const struct scratch_config *config,
                                                   const char *name)
{
    for (size_t i = 0; i < config->database_count; i++) {
        if (text_same(config->databases[i].name, name))
            return &config->databases[i];
    }
    return NULL;
}

/* ---- commands ---- */

struct order {
    const char *what;    /* "made", "dropped": for people. */
    const char *command; /* By /bin/sh -c. */
    const char *database;
    const struct stop *stop; /* NULL: it ends by itself or by its time. */
};

static enum rc settle_order(const struct database_config *config, const struct order *order,
                            const struct compute_result *ended, struct err *err)
{
    const char *words = ended->last_words;
    size_t len = strlen(words);
    words += len > WORDS_MAX ? len - WORDS_MAX : 0;
    if (ended->end == COMPUTE_STOPPED)
        return err_set(err, RC_CANCELLED, "CANCELLED", "The step was stopped.");
    if (ended->end == COMPUTE_ENDED && ended->exited && ended->exit_code == 0)
        return RC_OK;
    if (ended->end == COMPUTE_TIMED_OUT)
        return err_set(err, RC_UNREACHABLE, "DATABASE_TIMED_OUT",
                       "Database %s could not be %s within %" PRId64 " ms. Its last words: %s",
                       config->name, order->what, config->timeout_ms, words);
    return err_set(err, RC_UNREACHABLE, "DATABASE_FAILED",
                   "Database %s could not be %s: its command ended with %s %d. Its last words: %s",
                   config->name, order->what, ended->exited ? "status" : "signal",
                   ended->exited ? ended->exit_code : ended->signal, words);
}

/* In the sandbox, as the user of the commands that use it, and with its own variables. */
static enum rc run_order(struct holding *holding, const struct database_config *config,
                         const struct order *order, struct err *err)
{
    struct step *step = holding->step;
    const char *io = place_of(holding, "command.io");
    struct childenv *env = arena_alloc(step->arena, sizeof *env);
    struct secrets *secrets = arena_alloc(step->arena, sizeof *secrets);
    enum rc rc = dir_make(io, 0700, err);
    if (rc != RC_OK)
        return rc;
    repo_secrets(holding->config, step->arena, secrets);
    childenv_init_bare(env, step, io);
    for (size_t i = 0; config->env[i] != NULL; i++) {
        if (getenv(config->env[i]) != NULL)
            childenv_set(env, step->arena, config->env[i], getenv(config->env[i]));
    }
    childenv_set(env, step->arena, "DROVER_DATABASE", order->database);
    const char *const argv[] = {"/bin/sh", "-c", order->command, NULL};
    struct compute_spec spec = {
        .sandbox = &step->site->sandbox,
        .view = {.argv = argv, .cwd = io, .binds = {{io, true}}},
        .env = env->entries,
        .log_path = place_of(holding, "command.log"),
        .secrets = secrets,
        .log_bytes_max = LOG_BYTES_MAX,
        .wall_ms = config->timeout_ms,
        .stop = order->stop,
    };
    compute_grant(&spec, &holding->config->agent, holding->lease.run_id.text);
    struct compute_result ended;
    rc = compute_run(&spec, &ended, err);
    return rc == RC_OK ? settle_order(config, order, &ended, err) : rc;
}

static enum rc drop_database(struct holding *holding, size_t at, struct err *err)
{
    const char *name = holding->lease.databases[at].name;
    const struct database_config *config = find_database(&holding->config->scratch, name);
    if (config == NULL) /* The lease has the configuration that named it. */
        return err_set(err, RC_INVALID, "INVALID_LEASE", "A lease has no command for database %s.",
                       name);
    if (config->directory)
        return dir_remove(place_of(holding, name), err);
    const struct order order = {.what = "dropped",
                                .command = config->drop,
                                .database = holding->lease.databases[at].database};
    return run_order(holding, config, &order, err);
}

/* ---- release ---- */

/* What cannot be dropped stays in the file, as left over. */
static enum rc release(struct holding *holding, struct err *err)
{
    struct scratch_lease *lease = &holding->lease;
    struct err why = {0};
    enum rc rc = RC_OK;
    size_t left = 0;
    for (size_t i = lease->database_count; i-- > 0;) {
        struct err *one = rc == RC_OK ? err : &why;
        enum rc dropped = drop_database(holding, i, one);
        rc = rc == RC_OK ? dropped : rc;
        if (dropped == RC_OK)
            lease->databases[i].name = NULL;
    }
    for (size_t i = 0; i < lease->database_count; i++) {
        if (lease->databases[i].name != NULL)
            lease->databases[left++] = lease->databases[i];
    }
    lease->database_count = left;
    if (left == 0)
        rc = dir_remove(arena_printf(holding->step->arena, "%s/%s", scratch_book_dir(holding->book),
                                     lease->holder.text),
                        err);
    if (rc == RC_OK)
        return scratch_book_end(holding->book, &lease->holder, err);
    lease->instance = "";
    lease->port_count = 0;
    enum rc saved = scratch_book_save(holding->book, lease, &why);
    return saved == RC_OK ? rc : saved;
}

/* As it was leased: the configuration may have changed since. */
static enum rc release_leased(struct step *step, struct scratch_book *book,
                              const struct scratch_lease *lease, struct err *err)
{
    CLEANUP(js_freep) struct js *tree = NULL;
    struct repo_config *config = arena_alloc(step->arena, sizeof *config);
    enum rc rc = js_parse(lease->config, strlen(lease->config), &tree, err);
    if (rc == RC_OK)
        rc = repo_config_decode(tree, NULL, step->arena, config, err);
    if (rc != RC_OK)
        return rc;
    struct holding holding = {.step = step, .book = book, .lease = *lease, .config = config};
    return release(&holding, err);
}

/* RC_OK as well where there is none. */
static enum rc release_held(struct step *step, const struct id *holder, struct err *err)
{
    struct scratch_book *book = step->site->scratch;
    struct scratch_lease lease;
    if (book == NULL)
        return RC_OK;
    enum rc rc = scratch_book_find(book, holder, step->arena, &lease, err);
    if (rc == RC_NOT_FOUND) {
        err_clear(err);
        return RC_OK;
    }
    return rc == RC_OK ? release_leased(step, book, &lease, err) : rc;
}

enum rc scratch_release(struct step *step, struct err *err)
{
    return release_held(step, &step->input.run_id, err);
}

void scratch_close(struct step *step)
{
    struct err err = {0};
    if (!step->holds_scratch)
        return;
    step->holds_scratch = false;
    if (stop_asked(step->stop) == STOP_SHUTDOWN) /* There is no time: the next start drops it. */
        return;
    if (release_held(step, &step->lease.id, &err) != RC_OK)
        LOG(LOG_WARN, "what a step has leased could not be dropped; it is tried again",
            LOG_STR("jobId", step->lease.id.text), LOG_STR("error", err.text));
}

/* ---- lease ---- */

static bool is_wanted(const struct database_config *database, enum scratch_user user)
{
    return (database->users & 1u << user) != 0;
}

static bool wants_any(const struct scratch_config *config, enum scratch_user user)
{
    bool any = config->ports > 0;
    for (size_t i = 0; i < config->database_count; i++)
        any |= is_wanted(&config->databases[i], user);
    return any;
}

/* The lease of the holder, made where there is none.  One of a killed process ends first. */
static enum rc take_lease(struct holding *holding, const struct id *holder, struct err *err)
{
    struct step *step = holding->step;
    struct scratch_book *book = holding->book;
    struct scratch_lease *lease = &holding->lease;
    enum rc rc = scratch_book_find(book, holder, step->arena, lease, err);
    if (rc == RC_OK && scratch_book_is_own(book, lease)) {
        scratch_book_touch(book, holder);
        return RC_OK;
    }
    if (rc == RC_OK)
        rc = release_leased(step, book, lease, err);
    else if (rc == RC_NOT_FOUND)
        rc = RC_OK;
    if (rc != RC_OK)
        return rc;
    err_clear(err);
    *lease = (struct scratch_lease){
        .holder = *holder,
        .run_id = step->input.run_id,
        .task_id = step->input.task_id,
        .config = js_text(js_get(step->input.payload, "config"), step->arena),
    };
    return scratch_book_lease(book, lease, holding->config->scratch.ports, step->arena, err);
}

static bool holds(const struct scratch_lease *lease, const char *name)
{
    for (size_t i = 0; i < lease->database_count; i++) {
        if (text_same(lease->databases[i].name, name))
            return true;
    }
    return false;
}

/* It stands in the file before it is made: a worker that is killed meanwhile leaves it there. */
static enum rc make_database(struct holding *holding, const struct database_config *config,
                             struct err *err)
{
    struct step *step = holding->step;
    struct scratch_lease *lease = &holding->lease;
    size_t at = lease->database_count;
    assert(at < SCRATCH_DATABASES_MAX);
    lease->databases[at].name = config->name;
    lease->databases[at].database = scratch_database_name(config->name, step->arena);
    lease->database_count++;
    enum rc rc = scratch_book_save(holding->book, lease, err);
    if (rc == RC_OK && config->directory)
        return dir_make(place_of(holding, config->name), 0700, err);
    const struct order order = {.what = "made",
                                .command = config->create,
                                .database = lease->databases[at].database,
                                .stop = step->stop};
    if (rc == RC_OK)
        rc = run_order(holding, config, &order, err);
    if (rc != RC_UNREACHABLE)
        return rc;
    /* It may be there by half: the next try makes another one. */
    struct err why = {0};
    if (drop_database(holding, at, &why) != RC_OK)
        return rc;
    lease->database_count--;
    (void)!scratch_book_save(holding->book, lease, &why);
    return rc;
}

static const char *address_of(const struct holding *holding, const struct database_config *config)
{
    const char *database = NULL;
    for (size_t i = 0; i < holding->lease.database_count; i++) {
        if (text_same(holding->lease.databases[i].name, config->name))
            database = holding->lease.databases[i].database;
    }
    assert(database != NULL);
    if (config->directory)
        return place_of(holding, config->name);
    if (config->url == NULL)
        return database;
    const char *mark = strstr(config->url, "{database}");
    return arena_printf(holding->step->arena, "%.*s%s%s", (int)(mark - config->url), config->url,
                        database, mark + strlen("{database}"));
}

static void add_variable(struct scratch *scratch, const char *name, const char *value)
{
    assert(scratch->variable_count < COUNT_OF(scratch->variables));
    scratch->variables[scratch->variable_count].name = name;
    scratch->variables[scratch->variable_count++].value = value;
}

static void describe(const struct holding *holding, enum scratch_user user, struct scratch *scratch)
{
    struct arena *arena = holding->step->arena;
    size_t dirs = 0;
    for (size_t i = 0; i < holding->lease.port_count; i++)
        add_variable(scratch, arena_printf(arena, "DROVER_PORT_%zu", i + 1),
                     arena_printf(arena, "%" PRId64, holding->lease.ports[i]));
    const struct scratch_config *all = &holding->config->scratch;
    for (size_t i = 0; i < all->database_count; i++) {
        const struct database_config *config = &all->databases[i];
        if (!is_wanted(config, user))
            continue;
        add_variable(scratch, config->variable, address_of(holding, config));
        if (config->directory)
            scratch->dirs[dirs++] = place_of(holding, config->name);
    }
}

static enum rc fail(struct step *step, enum rc rc, const struct err *err)
{
    if (rc == RC_CANCELLED || rc == RC_LIMIT)
        return rc;
    return step_fail(
        step, rc, err,
        (struct port_failure){.code = "scratch_failed", .retryable = rc != RC_INVALID});
}

enum rc scratch_open(struct step *step, enum scratch_user user, struct scratch *ret_scratch,
                     struct err *err)
{
    const struct scratch_config *config = &step->input.config.scratch;
    struct scratch scratch = {.variable_count = 0};
    if (!wants_any(config, user)) {
        *ret_scratch = scratch;
        return RC_OK;
    }
    assert(step->site->scratch != NULL);
    struct holding holding = {
        .step = step, .book = step->site->scratch, .config = &step->input.config};
    bool of_run = user == SCRATCH_AGENT;
    step->holds_scratch |= !of_run;
    enum rc rc = take_lease(&holding, of_run ? &step->input.run_id : &step->lease.id, err);
    for (size_t i = 0; rc == RC_OK && i < config->database_count; i++) {
        const struct database_config *database = &config->databases[i];
        if (is_wanted(database, user) && !holds(&holding.lease, database->name))
            rc = make_database(&holding, database, err);
    }
    if (rc != RC_OK)
        return fail(step, rc, err);
    describe(&holding, user, &scratch);
    *ret_scratch = scratch;
    return RC_OK;
}

void scratch_set(const struct scratch *scratch, struct arena *arena, struct childenv *env)
{
    for (size_t i = 0; i < scratch->variable_count; i++)
        childenv_set(env, arena, scratch->variables[i].name, scratch->variables[i].value);
}

void scratch_show(const struct scratch *scratch, struct compute_spec *spec)
{
    size_t at = 0;
    while (spec->view.binds[at].path != NULL)
        at++;
    for (size_t i = 0; scratch->dirs[i] != NULL; i++) {
        assert(at + 1 < SANDBOX_BINDS_MAX);
        spec->view.binds[at++] = (struct sandbox_bind){scratch->dirs[i], true};
    }
}

/* ---- sweep ---- */

static bool is_over(const struct step_site *site, const struct scratch_lease *lease)
{
    int64_t unused_us = clock_now_us(&site->clock) - lease->used_us;
    bool of_run = id_same(&lease->holder, &lease->run_id);
    return !scratch_book_is_own(site->scratch, lease) ||
           (of_run && unused_us > UNUSED_HOURS * US_PER_HOUR);
}

static bool sweep_one(const struct housekeeping *housekeeping, const struct id *holder)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const struct step_site *site = housekeeping->site;
    struct step step = {.site = site,
                        .arena = &arena,
                        .stop = housekeeping->stop,
                        .deadline_us = clock_mono_us() + SWEEP_MS * US_PER_MS};
    struct scratch_lease lease;
    struct err err = {0};
    /* Read again: a step of the run may have ended it, or made another. */
    enum rc rc = scratch_book_find(site->scratch, holder, &arena, &lease, &err);
    if (rc == RC_NOT_FOUND || (rc == RC_OK && !is_over(site, &lease)))
        return false;
    if (rc == RC_OK) {
        step.input.run_id = lease.run_id;
        step.input.task_id = lease.task_id;
        rc = release_leased(&step, site->scratch, &lease, &err);
    }
    if (rc != RC_OK)
        LOG(LOG_WARN, "ports and databases that are left over could not be dropped",
            LOG_STR("holder", holder->text), LOG_STR("error", err.text));
    return rc == RC_OK;
}

void scratch_sweep(const struct housekeeping *housekeeping)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct scratch_lease *leases = NULL;
    int64_t count = 0;
    size_t all = scratch_book_list(housekeeping->site->scratch, &arena, &leases);
    for (size_t i = 0; i < all && stop_asked(housekeeping->stop) == STOP_NONE; i++) {
        if (!is_over(housekeeping->site, &leases[i]) ||
            !housekeeping->take(housekeeping->ctx, &leases[i].holder))
            continue;
        count += sweep_one(housekeeping, &leases[i].holder);
        housekeeping->leave(housekeeping->ctx);
    }
    if (count > 0)
        LOG(LOG_INFO, "dropped ports and databases that were left over", LOG_INT("count", count));
}
