/*
 * test_snapshot_thread.c - snapshots of an agent's tree, and what becomes of trees that hold work.
 */
#include "base/fd.h"
#include "tests/unit/work_kit.h"
#include "work/agent/agent_tree.h"
#include "work/tree/rescue.h"
#include "work/tree/snapshot_thread.h"
#include "work/tree/worktree.h"
#include <check.h>
#include <string.h>

static struct kit kit;
static struct step step;
static struct err err;
static const char *base;

static const char *in_run(const char *name)
{
    return arena_printf(&kit.arena, "%s/runs/%s/%s", kit.work_dir, kit.run_id.text, name);
}

/* In the agent's tree. */
static void work(const char *script)
{
    kit_sh(&kit, "cd %s; %s", in_run("tree"), script);
}

static struct step another_step(const struct kit_task *task)
{
    struct kit_task full = *task;
    full.payload = arena_printf(&kit.arena, "\"baseCommit\":\"%s\"%s%s", base,
                                task->payload != NULL ? "," : "",
                                task->payload != NULL ? task->payload : "");
    return kit_step(&kit, &full);
}

static void setup(void)
{
    kit_open(&kit);
    err = (struct err){0};
    base = kit_sh(&kit, "git --git-dir=origin.git rev-parse main");
    step = another_step(&(struct kit_task){0});
    ck_assert_msg(step_prepare(&step, &err) == RC_OK, "%s", err.text);
    ck_assert_int_eq(worktree_hand_out(&step, base, &err), RC_OK);
}

static void teardown(void)
{
    kit_close(&kit);
}

static struct snapshot take(const char *reason)
{
    struct snapshot last = {0};
    ck_assert_msg(rescue_snapshot(&step, reason, &last, &err) == RC_OK, "%s", err.text);
    return last;
}

static const char *in_repository(const char *args)
{
    return kit_sh(&kit, "git --git-dir=%s %s", mirror_snapshots(&step), args);
}

static const char *show(const struct snapshot *snapshot, const char *path)
{
    return in_repository(arena_printf(&kit.arena, "show %s:%s", snapshot->ref, path));
}

static const char *parent_of(const struct snapshot *snapshot)
{
    return in_repository(arena_printf(&kit.arena, "rev-parse %s^", snapshot->commit));
}

START_TEST(each_snapshot_follows_the_one_before)
{
    struct snapshot none = take("first");
    ck_assert_str_eq(none.ref, "");
    ck_assert(!kit_saw_event(&kit, "agent.snapshot.taken"));
    work("echo two >file.txt; echo new >other.txt");
    struct snapshot one = take("first");
    ck_assert_str_eq(one.ref,
                     arena_printf(&kit.arena, "refs/drover/snapshots/%s/1-1", kit.run_id.text));
    ck_assert_int_eq(one.files, 2);
    ck_assert_str_eq(parent_of(&one), base);
    ck_assert(kit_saw_event(&kit, "agent.snapshot.taken"));
    ck_assert_str_eq(take("again").commit, one.commit);
    step.input.attempt = 2;
    work("git add -A; git -c user.name=a -c user.email=b commit -qm mine; echo three >file.txt");
    struct snapshot two = take("second");
    ck_assert(text_ends(two.ref, "/2-1"));
    ck_assert_str_eq(parent_of(&two), one.commit);
    ck_assert_str_eq(show(&two, "file.txt"), "three");
    ck_assert_str_eq(show(&two, "other.txt"), "new");
}
END_TEST

START_TEST(the_tenth_comes_after_the_ninth)
{
    work("echo two >file.txt");
    struct snapshot first = take("first");
    for (int i = 2; i <= 11; i++)
        in_repository(arena_printf(&kit.arena, "update-ref refs/drover/snapshots/%s/1-%d %s",
                                   kit.run_id.text, i, first.commit));
    in_repository(arena_printf(&kit.arena, "update-ref refs/drover/snapshots/%s/nonsense %s",
                               kit.run_id.text, base));
    struct snapshot last;
    ck_assert_int_eq(snapshot_find_last(&step, base, &last, &err), RC_OK);
    ck_assert_int_eq(last.number, 11);
    work("echo three >file.txt");
    ck_assert(text_ends(take("next").ref, "/1-12"));
}
END_TEST

START_TEST(the_limit_of_size_counts_what_is_new_also_in_another_git_directory)
{
    struct snapshot last;
    struct treegit treegit;
    struct snapshot_news news;
    base = kit_commit(&kit, "head -c 1000000 /dev/urandom >large");
    step = another_step(&(struct kit_task){0});
    ck_assert_msg(step_prepare(&step, &err) == RC_OK, "%s", err.text);
    ck_assert_int_eq(snapshot_find_last(&step, base, &last, &err), RC_OK);
    for (int i = 1; i <= 3; i++) {
        /* git takes what is as young as its index for changed. */
        work(arena_printf(&kit.arena,
                          "head -c 1000000 /dev/urandom >%d; touch -d '1 minute ago' %d large", i,
                          i));
        treegit = snapshot_treegit(&step, "x.git", base);
        ck_assert_msg(snapshot_open(&treegit, &last, &err) == RC_OK, "%s", err.text);
        ck_assert_msg(snapshot_take(&treegit, &last, &news, &err) == RC_OK, "%s", err.text);
        ck_assert_int_ge(last.kib, i * 976);
        ck_assert_int_le(last.kib, i * 1076);
    }
    last.kib = SNAPSHOT_KIB_MAX - 100;
    work("head -c 200000 /dev/urandom >file.txt");
    ck_assert_int_eq(snapshot_take(&treegit, &last, &news, &err), RC_TOO_LARGE);
    ck_assert(!news.fresh);
    treegit_close(&treegit);
}
END_TEST

START_TEST(a_patch_writes_anew_only_what_has_changed)
{
    base = kit_commit(&kit, "head -c 1000000 /dev/urandom >large");
    step = another_step(&(struct kit_task){0});
    ck_assert_msg(step_prepare(&step, &err) == RC_OK, "%s", err.text);
    work("touch -d '1 minute ago' large; echo two >file.txt");
    CLEANUP(buf_release) struct buf diff;
    buf_init(&diff, 4096);
    struct treegit treegit = treegit_at(&step, "x.git", base);
    struct treegit_patch patch = {.options = GIT_ARGS("--binary"), .diff = &diff};
    ck_assert_msg(treegit_patch(&treegit, &patch, &err) == RC_OK, "%s", err.text);
    ck_assert_ptr_nonnull(strstr(buf_text(&diff), "+two"));
    ck_assert_str_eq(kit_sh(&kit, "find %s/objects -type f -size +99k | wc -l", treegit.git_dir),
                     "0");
    treegit_close(&treegit);
}
END_TEST

START_TEST(planted_configuration_runs_nothing)
{
    work("git config core.fsmonitor 'touch ../../../../planted'; "
         "git config filter.x.clean 'touch ../../../../planted; cat'; "
         "echo '* filter=x' >.gitattributes; echo 'two' >file.txt; mkfifo pipe; "
         "ln -s /etc/passwd link");
    struct snapshot last = take("hostile");
    ck_assert_str_eq(show(&last, "file.txt"), "two");
    ck_assert(!file_exists(arena_printf(&kit.arena, "%s/planted", kit.dir)));
}
END_TEST

static enum rc patch_into(struct buf *diff, struct treegit_patch *ret_patch)
{
    struct treegit treegit = treegit_at(&step, "x.git", base);
    *ret_patch = (struct treegit_patch){.options = GIT_ARGS("--binary", "--no-renames"),
                                        .diff = diff};
    buf_init(diff, 1 << 20);
    enum rc rc = treegit_patch(&treegit, ret_patch, &err);
    treegit_close(&treegit);
    return rc;
}

/* git add would start git status in it, with its own configuration. */
START_TEST(a_repository_within_the_tree_runs_nothing)
{
    base = kit_commit(&kit, "mkdir inner; git update-index --add --cacheinfo "
                            "160000,$(git rev-parse HEAD),inner");
    step = another_step(&(struct kit_task){0});
    ck_assert_msg(step_prepare(&step, &err) == RC_OK, "%s", err.text);
    ck_assert_int_eq(worktree_hand_out(&step, base, &err), RC_OK);
    const char *mark = in_run("x.git/planted");
    work(arena_printf(&kit.arena,
                      "echo two >file.txt; for d in inner new; do git init -q $d; cd $d; "
                      "echo a >f; git add f; git -c user.name=a -c user.email=b commit -qm x; "
                      "git config filter.x.clean 'touch %s; cat'; "
                      "git config core.fsmonitor 'touch %s'; echo '* filter=x' >.gitattributes; "
                      "echo b >f; cd ..; done; chmod -R a+rX .",
                      mark, mark));
    struct treegit treegit = treegit_at(&step, "x.git", base);
    struct treegit_state state = {0};
    ck_assert_msg(treegit_open(&treegit, &(struct treegit_source){.tree = base}, &err) == RC_OK,
                  "%s", err.text);
    for (int i = 0; i < 3; i++) {
        ck_assert_msg(treegit_take(&treegit, &state, &err) == RC_OK, "%s", err.text);
        ck_assert(!file_exists(mark));
        ck_assert_str_eq(state.nested, "inner\nnew\n");
        ck_assert_int_eq(state.files, 1);
    }
    treegit_close(&treegit);
}
END_TEST

/* What the agent does to the gitlink `inner` of the base, and what the patch says of it. */
static const struct {
    const char *work, *shows;
} links[] = {
    {"true", NULL},
    {"git init -q inner", NULL},
    {"cd inner; git init -q; git -c user.name=a -c user.email=b commit -qm x --allow-empty", NULL},
    {"git init -q 'new [one]'; git init -q two", NULL},
    {"rmdir inner", "deleted file mode 160000"},
    {"rmdir inner; echo text >inner", "+text"},
    {"echo vendored >inner/file", "+vendored"},
    {"rmdir inner; ln -s /etc inner", "new file mode 120000"},
};

START_TEST(a_gitlink_of_the_base_stays_while_its_directory_does)
{
    base = kit_commit(&kit, "mkdir inner; git update-index --add --cacheinfo "
                            "160000,$(git rev-parse HEAD),inner");
    step = another_step(&(struct kit_task){0});
    ck_assert_msg(step_prepare(&step, &err) == RC_OK, "%s", err.text);
    work(links[_i].work);
    CLEANUP(buf_release) struct buf diff;
    struct treegit_patch patch;
    ck_assert_msg(patch_into(&diff, &patch) == RC_OK, "%s", err.text);
    if (links[_i].shows != NULL)
        ck_assert_msg(strstr(buf_text(&diff), links[_i].shows) != NULL, "%s", buf_text(&diff));
    else
        ck_assert_str_eq(buf_text(&diff), "");
}
END_TEST

/* Gitlinks with names that git quotes, and one that it does not. */
#define ODD_NAMES "plain 's\303\274b' 'q\"uote' 'back\\slash' 'tab\there' 'new\nline' 'end\n' '*'"

static void commit_odd_links(void)
{
    base = kit_commit(&kit, "head=$(git rev-parse HEAD)\n"
                            "for name in " ODD_NAMES "; do mkdir \"$name\"\n"
                            "git update-index --add --cacheinfo \"160000,$head,$name\"; done");
    step = another_step(&(struct kit_task){0});
    ck_assert_msg(step_prepare(&step, &err) == RC_OK, "%s", err.text);
}

static size_t count_in(const char *text, const char *what)
{
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, what)) != NULL; at += strlen(what))
        count++;
    return count;
}

START_TEST(a_file_below_a_gitlink_is_taken_whatever_the_name)
{
    CLEANUP(buf_release) struct buf diff;
    struct treegit_patch patch;
    commit_odd_links();
    work("for name in " ODD_NAMES "; do echo mine >\"$name/work.txt\"; done");
    ck_assert_msg(patch_into(&diff, &patch) == RC_OK, "%s", err.text);
    ck_assert_msg(count_in(buf_text(&diff), "\n+mine\n") == 8, "%s", buf_text(&diff));
    ck_assert_uint_eq(count_in(buf_text(&diff), "\ndeleted file mode 160000\n"), 8);
}
END_TEST

START_TEST(a_gitlink_stays_or_goes_with_its_directory_whatever_the_name)
{
    commit_odd_links();
    for (int gone = 0; gone <= 1; gone++) {
        CLEANUP(buf_release) struct buf diff;
        struct treegit_patch patch;
        if (gone)
            work("for name in " ODD_NAMES "; do rmdir \"$name\"; done");
        ck_assert_msg(patch_into(&diff, &patch) == RC_OK, "%s", err.text);
        ck_assert_msg(count_in(buf_text(&diff), "deleted file mode 160000") == (gone ? 8 : 0), "%s",
                      buf_text(&diff));
    }
}
END_TEST

/* git add fails at each of them, and names one. */
START_TEST(repositories_without_a_commit_are_left_out_however_many)
{
    base = kit_commit(&kit, "echo text >was; mkdir held; echo text >held/file");
    step = another_step(&(struct kit_task){0});
    ck_assert_msg(step_prepare(&step, &err) == RC_OK, "%s", err.text);
    work("for i in $(seq 60); do git init -q fix$i; done; rm was; mkdir 'new*line'; "
         "for name in 'new\nline' '[x]' 'q\"\\' was held d/e; do git init -q \"$name\"; done; "
         "echo mine >held/new; echo mine >'new*line/file'; echo mine >d/file; mkdir x; echo mine "
         ">x/f");
    struct treegit treegit = treegit_at(&step, "x.git", base);
    struct treegit_state state = {0};
    CLEANUP(buf_release) struct buf diff;
    struct treegit_patch patch;
    ck_assert_msg(patch_into(&diff, &patch) == RC_OK, "%s", err.text);
    ck_assert_int_eq(patch.state.nested_count, 65);
    ck_assert_uint_eq(count_in(patch.state.nested, "\n"), 50);
    ck_assert_msg(count_in(buf_text(&diff), "\n+mine\n") == 4, "%s", buf_text(&diff));
    ck_assert_uint_eq(count_in(buf_text(&diff), "deleted file mode"), 1);
    /* One that is no repository any more is taken by the next snapshot. */
    ck_assert_msg(treegit_open(&treegit, &(struct treegit_source){.tree = base}, &err) == RC_OK,
                  "%s", err.text);
    ck_assert_msg(treegit_take(&treegit, &state, &err) == RC_OK, "%s", err.text);
    ck_assert_int_eq(state.files, 5);
    work("rm -r fix*/.git; echo mine >fix7/file");
    ck_assert_msg(treegit_take(&treegit, &state, &err) == RC_OK, "%s", err.text);
    ck_assert_int_eq(state.files, 6);
    ck_assert_str_eq(state.nested, "[x]\nd/e\n\"new\\nline\"\n\"q\\\"\\\\\"\nwas\n");
    treegit_close(&treegit);
}
END_TEST

START_TEST(a_file_that_is_too_large_is_refused_before_git_reads_it)
{
    base = kit_commit(&kit, "truncate -s 66M large; echo /ignored >.gitignore");
    step = another_step(&(struct kit_task){0});
    ck_assert_msg(step_prepare(&step, &err) == RC_OK, "%s", err.text);
    static const struct {
        const char *work;
        enum rc rc;
    } table[] = {
        {"truncate -s 1T ignored; echo two >file.txt", RC_OK}, /* large is as the base has it. */
        {"truncate -s 1T file.txt", RC_LIMIT},
        {"echo one >file.txt; truncate -s 1T -- \"$(printf -- '-a\\nb')\"", RC_LIMIT},
        {"rm -- -a*; truncate -s 1T large", RC_LIMIT},
        {"truncate -s 66M large; mkdir d; truncate -s 1T d/ignored", RC_LIMIT},
    };
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        CLEANUP(buf_release) struct buf diff;
        struct treegit_patch patch;
        work(table[i].work);
        enum rc rc = patch_into(&diff, &patch);
        ck_assert_msg(rc == table[i].rc, "%zu: %s %s", i, rc_name(rc), err.text);
        if (rc != RC_OK)
            ck_assert_str_eq(err.code, "FILE_TOO_LARGE");
    }
}
END_TEST

START_TEST(git_has_the_memory_of_the_agent)
{
    work("yes '' | head -c 30000000 >lines");           /* A record of git diff for each. */
    step.input.config.agent.resources.memory_bytes = 1; /* git gets the least that it needs. */
    CLEANUP(buf_release) struct buf diff;
    struct treegit_patch patch;
    enum rc rc = patch_into(&diff, &patch);
    ck_assert_msg(rc == RC_LIMIT, "%s %s", rc_name(rc), err.text);
    ck_assert_str_eq(err.code, "TREE_LIMIT");
}
END_TEST

START_TEST(attributes_of_the_tree_hide_no_text)
{
    work("echo '* -diff' >.gitattributes; echo two >file.txt");
    CLEANUP(buf_release) struct buf diff;
    struct treegit_patch patch;
    ck_assert_msg(patch_into(&diff, &patch) == RC_OK, "%s", err.text);
    ck_assert_ptr_nonnull(strstr(buf_text(&diff), "\n+two\n"));
}
END_TEST

START_TEST(the_origin_keeps_what_another_worker_brought)
{
    work("echo two >file.txt");
    struct snapshot last = take("first");
    const char *ref = NULL;
    bool fresh = false;
    ck_assert_msg(snapshot_push(&step, &last, &ref, &fresh, &err) == RC_OK, "%s", err.text);
    ck_assert_str_eq(ref, last.ref);
    ck_assert(fresh);
    ck_assert_msg(snapshot_push(&step, &last, &ref, &fresh, &err) == RC_OK, "%s", err.text);
    ck_assert_str_eq(ref, last.ref);
    ck_assert(!fresh);
    /* The same name, another commit. */
    in_repository(arena_printf(&kit.arena, "update-ref -d %s", last.ref));
    work("echo other >file.txt");
    struct snapshot other = take("second");
    ck_assert_str_eq(other.ref, last.ref);
    ck_assert_msg(snapshot_push(&step, &other, &ref, &fresh, &err) == RC_OK, "%s", err.text);
    ck_assert(text_starts(ref, last.ref));
    ck_assert_str_eq(kit_sh(&kit, "git --git-dir=origin.git show %s:file.txt", last.ref), "two");
    ck_assert_str_eq(kit_sh(&kit, "git --git-dir=origin.git show %s:file.txt", ref), "other");
}
END_TEST

START_TEST(making_a_tree_anew_saves_what_was_in_it)
{
    work("echo two >file.txt");
    ck_assert_msg(agent_tree_make(&step, base, &err) == RC_OK, "%s", err.text);
    ck_assert_str_eq(kit_sh(&kit, "cat %s", in_run("tree/file.txt")), "one");
    struct snapshot last;
    ck_assert_int_eq(snapshot_find_last(&step, base, &last, &err), RC_OK);
    ck_assert_str_eq(show(&last, "file.txt"), "two");
    ck_assert(kit_saw_event(&kit, "recovered"));
    /* Nobody has worked in the new one. */
    ck_assert(!worktree_has_work(&step));
}
END_TEST

/* The base commit is nowhere but in the damaged mirror. */
START_TEST(snapshots_outlive_a_damaged_mirror)
{
    work("echo two >file.txt");
    ck_assert_msg(agent_tree_make(&step, base, &err) == RC_OK, "%s", err.text);
    struct snapshot last;
    ck_assert_int_eq(snapshot_find_last(&step, base, &last, &err), RC_OK);
    kit_sh(&kit, "cd origin.git && tree=$(git rev-parse main^{tree}) && git update-ref "
                 "refs/heads/main $(git commit-tree $tree -m again) && "
                 "git reflog expire --expire=now --all && git gc -q --prune=now");
    kit_sh(&kit, "cd %s && : >HEAD && printf another >%s.fetching", step.mirror, step.mirror);
    ck_assert_msg(worktree_fetch(&step, &err) == RC_OK, "%s", err.text);
    ck_assert_str_eq(kit_sh(&kit, "ls -d %s.damaged-1 | wc -l", step.mirror), "1");
    ck_assert_str_eq(show(&last, "file.txt"), "two");
    in_repository("rev-list --objects --all --quiet");
}
END_TEST

START_TEST(what_cannot_be_saved_is_kept)
{
    work("echo two >file.txt");
    kit_sh(&kit, "mv %s away.git", step.mirror);
    for (int i = 1; i <= 2; i++) {
        step = another_step(&(struct kit_task){.payload = "\"outcome\":\"failed\""});
        ck_assert_msg(step_clean(&step, &err) == RC_OK, "%s", err.text);
        ck_assert(!file_exists(step.run_dir));
        const char *kept = js_get_str(kit_result(&kit), "keptTree", "");
        ck_assert_str_eq(kept, arena_printf(&kit.arena, "%s/kept/%s%s", kit.work_dir,
                                            kit.run_id.text, i == 1 ? "" : ".2"));
        ck_assert_str_eq(kit_sh(&kit, "cat %s/file.txt", kept), "two");
        ck_assert_int_eq(rescue_count_kept(kit.work_dir), i);
        kit_sh(&kit, "mkdir -p %s; cp -r %s %s; echo '%s x.git' >%s", step.run_dir, kept,
               in_run("tree"), base, in_run("tree.work"));
    }
    ck_assert(kit_saw_event(&kit, "agent.snapshot.failed"));
}
END_TEST

/* What the base commit has besides file.txt, and where the agent makes a repository. */
static const struct {
    const char *commit, *make;
} nested[] = {
    {"echo more >more.txt", "mkdir inner"},
    {"echo text >inner", "rm inner; mkdir inner"},
    {"mkdir inner; git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),inner", "true"},
    {"mkdir inner; git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),inner;"
     "printf '[submodule \"x\"]\\n\\tpath = inner\\n\\turl = ./x\\n\\tignore = all\\n' "
     ">.gitmodules",
     "true"},
};

START_TEST(a_repository_within_the_tree_is_kept)
{
    base = kit_commit(&kit, nested[_i].commit);
    step = another_step(&(struct kit_task){0});
    ck_assert_msg(step_prepare(&step, &err) == RC_OK, "%s", err.text);
    ck_assert_int_eq(worktree_hand_out(&step, base, &err), RC_OK);
    work(arena_printf(&kit.arena,
                      "%s; echo two >file.txt; git init -q inner; cd inner; echo deep >deep.txt; "
                      "git add .; git -c user.name=a -c user.email=b commit -qm deep",
                      nested[_i].make));
    ck_assert_msg(step_clean(&step, &err) == RC_OK, "%s", err.text);
    struct snapshot last;
    ck_assert_int_eq(snapshot_find_last(&step, base, &last, &err), RC_OK);
    ck_assert_str_eq(show(&last, "file.txt"), "two");
    ck_assert_ptr_nonnull(step.kept_tree);
    ck_assert_str_eq(kit_sh(&kit, "cat %s/inner/deep.txt", step.kept_tree), "deep");
}
END_TEST

START_TEST(a_stop_leaves_the_tree_where_it_is)
{
    work("echo two >file.txt");
    stop_ask(&kit.stop, STOP_TIMEOUT);
    ck_assert_int_eq(step_clean(&step, &err), RC_CANCELLED);
    ck_assert(file_exists(in_run("tree/file.txt")));
    ck_assert_int_eq(rescue_count_kept(kit.work_dir), 0);
}
END_TEST

START_TEST(clean_drops_snapshots_of_published_work_only)
{
    work("echo two >file.txt");
    struct snapshot last = take("first");
    ck_assert_int_eq(worktree_mark(&step, base, NULL, &err), RC_OK);
    step = another_step(&(struct kit_task){.payload = "\"outcome\":\"completed\""});
    ck_assert_msg(step_clean(&step, &err) == RC_OK, "%s", err.text);
    ck_assert_str_ne(in_repository("for-each-ref refs/drover"),
                     ""); /* The origin has no pull request. */
    const char *pr = arena_printf(&kit.arena, "refs/drover/pulls/%s/1", kit.run_id.text);
    kit_sh(&kit, "git --git-dir=origin.git update-ref %s main", pr);
    step = another_step(&(struct kit_task){.payload = "\"outcome\":\"completed\""});
    ck_assert_msg(step_clean(&step, &err) == RC_OK, "%s", err.text);
    ck_assert_str_eq(in_repository("for-each-ref refs/drover"), "");
    ck_assert_str_eq(kit_sh(&kit, "git --git-dir=origin.git for-each-ref --format='%%(refname)' "
                                  "refs/drover"),
                     pr);
    in_repository(arena_printf(&kit.arena, "update-ref %s %s", last.ref, last.commit));
    step = another_step(&(struct kit_task){.payload = "\"outcome\":\"failed\""});
    ck_assert_msg(step_clean(&step, &err) == RC_OK, "%s", err.text);
    ck_assert_str_ne(in_repository("for-each-ref refs/drover"), "");
}
END_TEST

START_TEST(the_broom_saves_what_nobody_else_knows_of)
{
    work("echo two >file.txt");
    ck_assert(rescue_stray(&kit.site, &kit.run_id, &kit.stop));
    struct snapshot last;
    ck_assert_int_eq(snapshot_find_last(&step, base, &last, &err), RC_OK);
    ck_assert_str_eq(show(&last, "file.txt"), "two");
    kit_sh(&kit, "echo nonsense >%s", in_run("tree.work"));
    ck_assert(rescue_stray(&kit.site, &kit.run_id, &kit.stop));
    ck_assert_int_eq(rescue_count_kept(kit.work_dir), 1);
}
END_TEST

START_TEST(a_thread_takes_them_while_the_agent_works)
{
    struct progress progress;
    progress_init(&progress, step.site->port, &step.lease, &kit.stop);
    step.input.config.timeouts.snapshot_ms = 0;
    ck_assert_ptr_null(snapshot_thread_begin(&step, base));
    ck_assert_int_eq(snapshot_thread_tick(NULL, &progress), INT64_MAX);
    step.input.config.timeouts.snapshot_ms = 20;
    struct snapshot_thread *snapshots = snapshot_thread_begin(&step, base);
    ck_assert_ptr_nonnull(snapshots);
    work("echo two >file.txt");
    int64_t until_us = clock_mono_us() + 60 * US_PER_SECOND;
    while (!kit_saw_event(&kit, "\"interval\"") && clock_mono_us() < until_us) {
        ck_assert_int_gt(snapshot_thread_tick(snapshots, &progress), 0);
        (void)progress_tick(&progress, clock_mono_us());
        kit_sh(&kit, "sleep 0.02");
    }
    ck_assert(kit_saw_event(&kit, "/1-1\""));
    snapshot_thread_end(&snapshots, &progress);
    ck_assert_ptr_null(snapshots);
    ck_assert(!file_exists(in_run("snapshot.git")));
    progress_release(&progress);
}
END_TEST

static void await_ref(const char *name)
{
    kit_await_file(&kit, arena_printf(&kit.arena, "%s/refs/drover/snapshots/%s/%s",
                                      mirror_snapshots(&step), kit.run_id.text, name));
}

START_TEST(a_server_that_is_away_is_asked_no_sooner_for_a_snapshot)
{
    struct progress progress;
    progress_init(&progress, step.site->port, &step.lease, &kit.stop);
    step.input.config.timeouts.snapshot_ms = 20;
    struct snapshot_thread *snapshots = snapshot_thread_begin(&step, base);
    ck_assert_ptr_nonnull(snapshots);
    progress_add(&progress, "agent.message", str_of("{}"));
    progress.next_us = INT64_MAX; /* As after a refusal, but for longer. */
    for (int i = 1; i <= 3; i++) {
        work(arena_printf(&kit.arena, "echo %d >../next; mv ../next file.txt", i));
        await_ref(arena_printf(&kit.arena, "1-%d", i));
    }
    /* With the third under way, two are among the news. */
    for (int i = 0; i < 20; i++)
        (void)snapshot_thread_tick(snapshots, &progress);
    ck_assert_int_eq(kit.port.progress_calls, 0);
    ck_assert_int_eq(progress.count, 1);
    kit.port.refuse = RC_UNREACHABLE;
    kit.port.refuse_times = 1;
    snapshot_thread_end(&snapshots, &progress); /* The one flush fails; nothing is forgotten. */
    ck_assert_int_ge(progress.count, 3);
    progress_flush(&progress);
    ck_assert(kit_saw_event(&kit, "/1-1\"") && kit_saw_event(&kit, "/1-2\""));
    progress_release(&progress);
}
END_TEST

Suite *snapshot_thread_suite(void)
{
    Suite *suite = suite_create("snapshot_thread");
    TCase *tests = tcase_create("snapshot_thread");
    tcase_set_timeout(tests, 60);
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, each_snapshot_follows_the_one_before);
    tcase_add_test(tests, the_tenth_comes_after_the_ninth);
    tcase_add_test(tests, the_limit_of_size_counts_what_is_new_also_in_another_git_directory);
    tcase_add_test(tests, a_patch_writes_anew_only_what_has_changed);
    tcase_add_test(tests, planted_configuration_runs_nothing);
    tcase_add_test(tests, a_repository_within_the_tree_runs_nothing);
    tcase_add_loop_test(tests, a_gitlink_of_the_base_stays_while_its_directory_does, 0,
                        (int)COUNT_OF(links));
    tcase_add_test(tests, a_file_below_a_gitlink_is_taken_whatever_the_name);
    tcase_add_test(tests, a_gitlink_stays_or_goes_with_its_directory_whatever_the_name);
    tcase_add_test(tests, repositories_without_a_commit_are_left_out_however_many);
    tcase_add_test(tests, a_file_that_is_too_large_is_refused_before_git_reads_it);
    tcase_add_test(tests, git_has_the_memory_of_the_agent);
    tcase_add_test(tests, attributes_of_the_tree_hide_no_text);
    tcase_add_test(tests, the_origin_keeps_what_another_worker_brought);
    tcase_add_test(tests, making_a_tree_anew_saves_what_was_in_it);
    tcase_add_test(tests, snapshots_outlive_a_damaged_mirror);
    tcase_add_test(tests, what_cannot_be_saved_is_kept);
    tcase_add_loop_test(tests, a_repository_within_the_tree_is_kept, 0, (int)COUNT_OF(nested));
    tcase_add_test(tests, a_stop_leaves_the_tree_where_it_is);
    tcase_add_test(tests, clean_drops_snapshots_of_published_work_only);
    tcase_add_test(tests, the_broom_saves_what_nobody_else_knows_of);
    tcase_add_test(tests, a_thread_takes_them_while_the_agent_works);
    tcase_add_test(tests, a_server_that_is_away_is_asked_no_sooner_for_a_snapshot);
    suite_add_tcase(suite, tests);
    return suite;
}
