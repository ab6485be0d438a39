/*
 * treegit.c - see treegit.h.
 *
 * What is done in one sandbox is one shell script, with a verb:
 *
 *     open     read-tree
 *     take     drop gitlinks, look at sizes, add --all, drop gitlinks, put those of the base back,
 *              write-tree
 *     patch    open, take, diff
 *     pack     pack-objects
 *     blob     cat-file
 *
 * The script reports failures by its status (EXIT_*), with git's message on stderr.  Both come from
 * a sandbox where the agent's code may run: the message is cut to one line without control
 * characters and without secrets before it is reported.
 */
#include "work/tree/treegit.h"
#include "base/fd.h"
#include "base/proc.h"
#include "core/text/redact.h"
#include "work/job/step_secrets.h"
#include "work/sandbox/guard.h"
#include "work/tree/worktree.h"
#include <assert.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
    ARGS_MAX = 32,
    WORDS_MAX = 4096,
    TOLD_MAX = 300, /* Of git's message. */
    STATE_BYTES_MAX = 64 * 1024,
    OUTPUTS_BYTES_MAX = CONFIG_SETUPS_MAX * CONFIG_OUTPUTS_MAX * (2 * CONFIG_OUTPUT_BYTES_MAX + 2),
    CALL_MS = 5 * 60 * 1000,
    EXIT_LARGE = 71,      /* A file is too large. */
    EXIT_UNREADABLE = 72, /* A directory cannot be listed. */
    SIGNALLED = 128,      /* The status of a shell and of bubblewrap: this and the signal. */
};

/* What git needs to work at all; an agent may have less. */
static const int64_t memory_min = INT64_C(128) << 20, memory_usual = INT64_C(2) << 30,
                     cpu_seconds_min = 120, processes_min = 64, open_files_min = 256,
                     disk_bytes_usual = INT64_C(10) << 30, file_bytes_usual = INT64_C(64) << 20;

/* ---- the script ---- */

/* The git that runs here has one thread: the stack of every other one would count as memory. */
static const char script[] =
    "verb=$1 GIT_DIR=$2 GIT_WORK_TREE=$3 base=$4 memory=$5 large=$6 outputs=$7; shift 7\n"
    "export GIT_DIR GIT_WORK_TREE LC_ALL=C\n"
    "state=$GIT_DIR/drover\n"
    "ulimit -d \"$memory\" && cd \"$GIT_WORK_TREE\" && top=$(pwd -P) || exit 70\n"
    "g() { git -c core.preloadIndex=false -c pack.threads=1 -c advice.addEmbeddedRepo=false "
    "\"$@\"; }\n"
    /* Gitlinks of the index into a file, NUL-terminated, and out of the index; with a second
       argument their names, quoted by git, are added to that file. */
    "drop() {\n"
    "  g ls-files -z --stage >\"$1.all\" || exit 70\n"
    "  sed -zn '/^160000 /p' \"$1.all\" >\"$1\" || exit 70\n"
    "  [ -s \"$1\" ] || return 0\n"
    "  [ -z \"${2-}\" ] || g ls-files --stage | sed -n 's/^160000 [^\t]*\t//p' >>\"$2\"\n"
    "  sed -z 's/^160000 /0 /' \"$1\" | g update-index -z --index-info || exit 70\n"
    "}\n"
    /* Back into the index: those whose directory is there, with nothing of it in the index.
       update-index would replace that.  The dot keeps newlines at the end of a name. */
    "restore() {\n"
    "  [ -s \"$1\" ] || return 0\n"
    "  xargs -0 -n 1 sh -c 'path=${3#*\t}\n"
    "    at=$(cd \"./$path\" 2>/dev/null && pwd -P && echo .)\n"
    "    [ \"$at\" = \"$1/$path\n.\" ] || exit 0\n"
    "    git ls-files -z -- \":(literal)$path\" >\"$2\" || exit 255\n"
    "    [ -s \"$2\" ] || printf \"%s\\0\" \"$3\"\n"
    "  ' sh \"$top\" \"$1.below\" <\"$1\" >\"$1.back\" || exit 70\n"
    "  [ ! -s \"$1.back\" ] || g update-index -z --index-info <\"$1.back\" || exit 70\n"
    "}\n"
    /* Files that git would read, larger than $large KiB and not as large as the base has them. */
    "check_sizes() {\n"
    "  find . -name .git -prune -o -type f -size +\"${large}k\" -print0 >\"$state.large\" "
    "2>/dev/null\n"
    "  [ -s \"$state.large\" ] || return 0\n"
    "  xargs -0 -n 1 sh -c 'path=${2#./}\n"
    "    git check-ignore -q -- \"./$path\" && exit 0\n"
    "    [ \"$(stat -c %s -- \"./$path\")\" = \"$(git cat-file -s \"$1:$path\" 2>/dev/null)\" ] "
    "&& exit 0\n"
    "    printf \"%s\\n\" \"$path\"; exit 255' sh \"$base\" <\"$state.large\" >\"$state.over\" "
    "2>/dev/null\n"
    "  [ ! -s \"$state.over\" ] || { head -c 200 \"$state.over\" >&2; exit 71; }\n"
    "}\n"
    /* git add fails at a repository without a commit, and names one of them.  git ls-files names
       all repositories, with a slash at the end; a repository in the place of a file only once the
       file is out of the index.  In a pattern only a newline matches the bracket. */
    "exclude_nested() {\n"
    "  g -c core.bigFileThreshold=16m add --update 2>/dev/null\n"
    "  drop \"$state.replaced\"\n"
    "  g ls-files --others --exclude-standard | sed -n 's|/$||p; s|/\"$|\"|p' "
    ">>\"$state.names\" || exit 70\n"
    "  g ls-files -z --others --exclude-standard | sed -zn '\\|/$|p' |\n"
    "    sed -z 's/[][*?\\\\]/\\\\&/g; s/\\n/[!\\x01-\\x09\\x0b-\\xff]/g; s|^|/|' |\n"
    "    tr '\\000' '\\n' >>\"$GIT_DIR/info/exclude\"\n"
    "}\n"
    /* Without the refresh git add would write every file anew: it cannot touch the mirror's.
       More than two tries: while the agent works, repositories appear. */
    "take() {\n"
    "  : >\"$state.names\" && printf '%s' \"$outputs\" >\"$GIT_DIR/info/exclude\" || exit 70\n"
    "  drop \"$state.before\"\n"
    "  check_sizes\n"
    "  g update-index -q --refresh >/dev/null\n"
    "  for try in 1 2 3 4; do\n"
    "    g -c core.bigFileThreshold=16m add --all 2>\"$state.words\" && break\n"
    "    grep -q 'does not have a commit checked out$' \"$state.words\" && [ $try -lt 4 ] ||\n"
    "      { cat \"$state.words\" >&2; exit 70; }\n"
    "    exclude_nested\n"
    "  done\n"
    "  if [ -s \"$state.words\" ] &&\n"
    "    grep '^warning: could not open directory' \"$state.words\" >&2; then exit 72; fi\n"
    "  drop \"$state.nested\" \"$state.names\"\n"
    "  restore \"$state.before\"\n"
    "  g write-tree || exit 70\n"
    "}\n"
    /* How many, and the first names. */
    "nested() {\n"
    "  [ -s \"$state.names\" ] || { echo 0; return; }\n"
    "  wc -l <\"$state.names\"\n"
    "  head -n 50 \"$state.names\" | cut -c 1-300\n"
    "}\n"
    "case $verb in\n"
    "open) g read-tree \"$1\" ;;\n"
    "take) take\n"
    "  g diff-index --cached --name-only --no-renames -z \"$base\" | tr -dc '\\000' | wc -c\n"
    "  nested ;;\n"
    "patch) g read-tree \"$base\" && take && nested && echo && \n"
    "  g diff --cached \"$@\" \"$base\" -- ;;\n"
    "pack) ulimit -f \"$3\" && printf '%s\\n^%s^{tree}\\n' \"$1\" \"$2\" |\n"
    "  g -c core.bigFileThreshold=16m pack-objects --revs --thin --stdout -q "
    "--delta-base-offset ;;\n"
    "blob) exec git cat-file blob \"$1\" ;;\n"
    "esac\n";

/* ---- one sandbox ---- */

static int64_t at_least(int64_t limit, int64_t least)
{
    return limit > 0 && limit < least ? least : limit;
}

/* Of the agent.  A run of which only the directory is left has no configuration. */
static struct resource_config limits_of(const struct step *step)
{
    const struct resource_config *agent = &step->input.config.agent.resources;
    return (struct resource_config){
        .cpu_seconds = at_least(agent->cpu_seconds, cpu_seconds_min),
        .memory_bytes = agent->memory_bytes ? at_least(agent->memory_bytes, memory_min)
                                            : memory_usual,
        .processes = at_least(agent->processes, processes_min),
        .disk_bytes = agent->disk_bytes ? agent->disk_bytes : disk_bytes_usual,
        .open_files = at_least(agent->open_files, open_files_min),
    };
}

struct call {
    const char *verb;
    const char *const *args; /* Of the verb, NULL-terminated. */
    struct buf *out;         /* or NULL */
    int out_fd;              /* In place of out; 0: none. */
};

const char *treegit_excludes(const struct step *step)
{
    const struct repo_config *config = &step->input.config;
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, OUTPUTS_BYTES_MAX);
    for (size_t i = 0; i < config->setup_count; i++) {
        for (const char *const *path = config->setup[i].outputs; *path != NULL; path++) {
            buf_addc(&text, '/');
            for (const char *at = *path; *at != '\0'; at++) {
                if (strchr("[]*?\\ ", *at) != NULL)
                    buf_addc(&text, '\\');
                buf_addc(&text, *at);
            }
            buf_addc(&text, '\n');
        }
    }
    return arena_strndup(step->arena, buf_text(&text), text.len);
}

static const char **argv_of(const struct treegit *treegit, const struct call *call,
                            const struct resource_config *limits)
{
    struct arena *arena = treegit->step->arena;
    const char **argv = arena_array(arena, ARGS_MAX, sizeof(char *));
    const char *const head[] = {
        "/bin/sh",
        "-c",
        script,
        "sh",
        call->verb,
        treegit->git_dir,
        treegit->tree,
        treegit->base,
        arena_printf(arena, "%" PRId64, limits->memory_bytes / 1024),
        arena_printf(arena, "%" PRId64, treegit->file_bytes_max / 1024),
        treegit_excludes(treegit->step),
    };
    memcpy(argv, head, sizeof head);
    size_t count = COUNT_OF(head);
    for (size_t i = 0; call->args != NULL && call->args[i] != NULL; i++) {
        assert(count < ARGS_MAX - 1);
        argv[count++] = call->args[i];
    }
    return argv;
}

/* git's message as one line, for people. */
static const char *words_of(const struct treegit *treegit, struct buf *words)
{
    struct step *step = treegit->step;
    while (words->len > 0 && strchr("\r\n\t ", words->data[words->len - 1]) != NULL)
        buf_cut(words, words->len - 1);
    if (words->len == 0)
        return "it said nothing";
    char *text = arena_strndup(step->arena, words->data, words->len);
    git_clean(text);
    size_t len = strlen(text);
    return redact_dup(step_secrets(step), text + (len > TOLD_MAX ? len - TOLD_MAX : 0),
                      step->arena);
}

static bool ended_by(const struct proc_result *result, int signal)
{
    return result->exit.signal == signal || result->exit.code == SIGNALLED + signal;
}

static enum rc too_much(const char *verb, const char *what, struct err *err)
{
    return err_set(err, RC_LIMIT, "TREE_LIMIT",
                   "git (%s) was stopped in the agent's tree: it passed its %s. It has the limits "
                   "of agent.resources.",
                   verb, what);
}

static enum rc settle(const struct treegit *treegit, const struct call *call,
                      const struct proc_result *result, struct buf *words, struct err *err)
{
    if (result->exit.code == 0)
        return RC_OK;
    const char *text = words_of(treegit, words);
    if (result->exit.code == EXIT_LARGE)
        return err_set(err, RC_LIMIT, "FILE_TOO_LARGE",
                       "The tree has a changed file of more than %" PRId64 " MiB: %s",
                       treegit->file_bytes_max >> 20, text);
    if (result->exit.code == EXIT_UNREADABLE)
        return err_set(err, RC_IO, "TREE_UNREADABLE", "The tree cannot be read: %s", text);
    if (ended_by(result, SIGXFSZ) || strstr(text, "File too large") != NULL)
        return too_much(call->verb, "disk_limit", err);
    if (ended_by(result, SIGXCPU) || ended_by(result, SIGKILL))
        return too_much(call->verb, "cpu_limit or memory_limit", err);
    if (strstr(text, "ut of memory") != NULL || strstr(text, "annot allocate memory") != NULL)
        return too_much(call->verb, "memory_limit", err);
    return err_set(err, RC_IO, "GIT_FAILED", "git (%s) failed in the agent's tree: %s", call->verb,
                   text);
}

static int time_left(const struct step *step)
{
    int64_t left = step_left_ms(step);
    return left < CALL_MS ? (int)left : CALL_MS;
}

static bool exceeds(void *ctx, const struct proc *proc)
{
    struct guard *guard = ctx;
    guard->top = proc->pid;
    (void)guard_tick(guard, clock_mono_us());
    return guard->limit != NULL;
}

/* The sandbox shows what the path names: that must still be the directory that we made. */
static enum rc check_tree(const struct treegit *treegit, struct err *err)
{
    struct stat status;
    if (lstat(treegit->tree, &status) == 0 && S_ISDIR(status.st_mode))
        return RC_OK;
    return err_set(err, RC_IO, "TREE_GONE", "The agent's tree is no directory any more.");
}

static enum rc run_limited(const struct treegit *treegit, const struct call *call,
                           struct sandbox_view *view, struct err *err)
{
    struct step *step = treegit->step;
    const struct sandbox *sandbox = &step->site->sandbox;
    const struct git no_home = {0}; /* The sandbox has none for git. */
    CLEANUP(fd_closep) int filter_fd = -1;
    CLEANUP(guard_release) struct guard guard;
    CLEANUP(buf_release) struct buf words;
    buf_init(&words, WORDS_MAX);
    guard_init(&guard, view->limits, clock_mono_us());
    guard.dirs[guard.dir_count++] = treegit->git_dir;
    enum rc rc = sandbox_filter(sandbox, &filter_fd, err);
    if (rc != RC_OK)
        return rc;
    view->filter_fd = filter_fd;
    int kept[SANDBOX_KEPT_MAX];
    struct proc_spec spec = {
        .argv = sandbox_argv(sandbox, view, step->arena),
        .env = git_env(&no_home, &(struct git_call){.args = view->argv}, step->arena),
        .cwd = sandbox->kind == SANDBOX_BUBBLEWRAP ? "/" : treegit->tree,
        .keep_fds = sandbox->kind == SANDBOX_BUBBLEWRAP ? kept : NULL,
        .run_stdout_fd = call->out_fd,
    };
    sandbox_kept(sandbox, view, kept);
    struct proc_limits limits = {.timeout_ms = time_left(step),
                                 .cancel = &step->stop->reason,
                                 .exceeds = exceeds,
                                 .exceeds_ctx = &guard};
    struct proc_result result;
    rc = proc_run(&spec, (struct str){0}, call->out, &words, &limits, &result, err);
    if (rc != RC_OK)
        return rc;
    if (result.cancelled)
        return err_set(err, RC_CANCELLED, "CANCELLED", "stopped while reading the agent's tree");
    if (result.timed_out)
        return err_set(err, RC_IO, "TIMEOUT", "git (%s) took too long in the agent's tree",
                       call->verb);
    return result.exceeded ? too_much(call->verb, guard.limit, err)
                           : settle(treegit, call, &result, &words, err);
}

static enum rc run(const struct treegit *treegit, const struct call *call, struct err *err)
{
    struct step *step = treegit->step;
    const struct resource_config limits = limits_of(step);
    CLEANUP(bwrap_copies_close) struct bwrap_copies copies = {.count = 0};
    struct sandbox_view view = {
        .argv = argv_of(treegit, call, &limits),
        .cwd = treegit->tree,
        .binds = {{step->mirror, false}, {treegit->tree, false}, {treegit->git_dir, true}},
        .run_user = step->input.run_id.text,
        .limits = &limits,
        .copies = &copies,
        .status_fd = -1,
    };
    enum rc rc = check_tree(treegit, err);
    if (rc == RC_OK)
        rc = sandbox_hand_over(&step->site->sandbox, &view, err);
    return rc == RC_OK ? run_limited(treegit, call, &view, err) : rc;
}

/* ---- our git directory ---- */

struct treegit treegit_at(struct step *step, const char *name, const char *base)
{
    int64_t patch_max = step->input.config.limits.max_patch_bytes;
    return (struct treegit){
        .step = step,
        .git_dir = worktree_path(step, name),
        .tree = worktree_path(step, "tree"),
        .base = base,
        .file_bytes_max = patch_max > file_bytes_usual ? patch_max : file_bytes_usual,
    };
}

/* These override the attributes of the tree: without them a text file could be shown as a binary
   one. */
static const char attributes[] = "* !diff !filter\n";

static enum rc make_dir(const struct treegit *treegit, struct err *err)
{
    const char *info = arena_printf(treegit->step->arena, "%s/info", treegit->git_dir);
    enum rc rc = dir_remove(treegit->git_dir, err);
    if (rc == RC_OK)
        rc = git_borrow(treegit->step->mirror, treegit->git_dir, err);
    if (rc == RC_OK)
        rc = dir_make(info, 0700, err);
    if (rc == RC_OK)
        rc = file_write_new(arena_printf(treegit->step->arena, "%s/attributes", info), attributes,
                            sizeof attributes - 1, 0600, err);
    return rc;
}

/* Before any sandbox could write the git directory. */
static enum rc copy_source(const struct treegit *treegit, const struct treegit_source *source,
                           struct err *err)
{
    struct git git = step_git(treegit->step);
    const char *refspec = arena_printf(treegit->step->arena, "%s:refs/heads/source", source->ref);
    struct git_call fetch = {.git_dir = treegit->git_dir,
                             .args = GIT_ARGS("fetch", "--quiet", "--no-tags",
                                              "--no-write-fetch-head", "--", source->repository,
                                              refspec)};
    return git_run(&git, &fetch, err);
}

enum rc treegit_open(const struct treegit *treegit, const struct treegit_source *source,
                     struct err *err)
{
    const struct call call = {.verb = "open", .args = GIT_ARGS(source->tree)};
    enum rc rc = make_dir(treegit, err);
    if (rc == RC_OK && source->ref != NULL)
        rc = copy_source(treegit, source, err);
    return rc == RC_OK ? run(treegit, &call, err) : rc;
}

void treegit_close(const struct treegit *treegit)
{
    if (treegit->git_dir != NULL)
        worktree_drop(treegit->step, treegit->git_dir);
}

/* ---- verbs ---- */

/* Takes one line off the text. */
static const char *next_line(struct arena *arena, struct str *text)
{
    struct str line = {"", 0};
    (void)str_take_line(text, &line);
    return arena_strndup(arena, line.at, line.len);
}

static enum rc read_hash(struct arena *arena, struct str *text, const char **ret_hash,
                         struct err *err)
{
    *ret_hash = next_line(arena, text);
    return git_hash_valid(*ret_hash)
               ? RC_OK
               : err_set(err, RC_IO, "GIT_FAILED", "git write-tree gave no hash");
}

enum rc treegit_take(const struct treegit *treegit, struct treegit_state *ret_state,
                     struct err *err)
{
    struct arena *arena = treegit->step->arena;
    struct treegit_state state = {0};
    CLEANUP(buf_release) struct buf out;
    buf_init(&out, STATE_BYTES_MAX);
    const struct call call = {.verb = "take", .out = &out};
    enum rc rc = run(treegit, &call, err);
    struct str text = buf_str(&out);
    if (rc == RC_OK)
        rc = read_hash(arena, &text, &state.hash, err);
    if (rc != RC_OK)
        return rc;
    state.files = strtoll(next_line(arena, &text), NULL, 10);
    state.nested_count = strtoll(next_line(arena, &text), NULL, 10);
    state.nested = arena_strndup(arena, text.at, text.len);
    *ret_state = state;
    return RC_OK;
}

/* The hash, count and names of nested repositories, an empty line, the diff. */
static enum rc split_patch(const struct treegit *treegit, const struct buf *said,
                           struct treegit_patch *patch, struct err *err)
{
    struct arena *arena = treegit->step->arena;
    struct str text = buf_str(said), line;
    enum rc rc = read_hash(arena, &text, &patch->state.hash, err);
    if (rc != RC_OK)
        return rc;
    patch->state.nested_count = strtoll(next_line(arena, &text), NULL, 10);
    const char *begin = text.at;
    do {
        if (!str_take_line(&text, &line))
            return err_set(err, RC_IO, "GIT_FAILED", "git diff was not reached");
    } while (line.len > 0);
    patch->state.nested = arena_strndup(arena, begin, (size_t)(line.at - begin));
    buf_add(patch->diff, text.at, text.len);
    patch->diff->overflow |= said->overflow;
    return RC_OK;
}

enum rc treegit_patch(const struct treegit *treegit, struct treegit_patch *patch, struct err *err)
{
    CLEANUP(buf_release) struct buf said;
    buf_init(&said, patch->diff->max_bytes + STATE_BYTES_MAX);
    const struct call call = {.verb = "patch", .args = patch->options, .out = &said};
    enum rc rc = make_dir(treegit, err);
    if (rc == RC_OK)
        rc = run(treegit, &call, err);
    return rc == RC_OK ? split_patch(treegit, &said, patch, err) : rc;
}

enum rc treegit_blob(const struct treegit *treegit, const char *hash, struct buf *into,
                     struct err *err)
{
    const struct call call = {.verb = "blob", .args = GIT_ARGS(hash), .out = into};
    return run(treegit, &call, err);
}

enum rc treegit_pack(const struct treegit *treegit, const struct treegit_pack *pack,
                     struct err *err)
{
    enum { BLOCK_BYTES = 512 }; /* Of ulimit -f. */
    const char *blocks = arena_printf(treegit->step->arena, "%" PRId64,
                                      pack->bytes_max / BLOCK_BYTES + 1);
    const struct call call = {
        .verb = "pack", .args = GIT_ARGS(pack->tip, pack->known, blocks), .out_fd = pack->fd};
    struct stat status;
    enum rc rc = run(treegit, &call, err);
    bool full = fstat(pack->fd, &status) == 0 && status.st_size >= pack->bytes_max;
    if ((rc == RC_OK || rc == RC_LIMIT) && full)
        return err_set(err, RC_TOO_LARGE, "SNAPSHOT_TOO_LARGE",
                       "the agent's changes take more than the %" PRId64
                       " MiB that are left for snapshots",
                       pack->bytes_max >> 20);
    return rc;
}
