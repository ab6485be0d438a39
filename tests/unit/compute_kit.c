#include "tests/unit/compute_kit.h"
#include "base/clock.h"
#include <check.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

struct compute_kit compute_kit;

void compute_kit_open(void)
{
    struct kit *kit = &compute_kit.kit;
    memset(&compute_kit, 0, sizeof compute_kit);
    kit_open(kit);
    buf_init(&compute_kit.talk.bytes, 4 * 1024 * 1024);
    ck_assert(signal(SIGPIPE, SIG_IGN) != SIG_ERR); /* As main.c does. */
    compute_kit.tree = arena_printf(&kit->arena, "%s/tree", kit->work_dir);
    compute_kit.log_path = arena_printf(&kit->arena, "%s/log", kit->work_dir);
    kit_sh(kit, "mkdir data/work/tree");
}

void compute_kit_close(void)
{
    buf_release(&compute_kit.talk.bytes);
    kit_close(&compute_kit.kit);
}

void compute_kit_walls(int index)
{
    if (index == 1)
        compute_kit.kit.site.sandbox.kind = SANDBOX_NONE;
}

bool compute_kit_line(void *ctx, struct str line)
{
    (void)ctx;
    size_t room = sizeof compute_kit.heard.last - 1;
    size_t len = line.len < room ? line.len : room;
    compute_kit.heard.lines++;
    memcpy(compute_kit.heard.last, line.at, len);
    compute_kit.heard.last[len] = '\0';
    if (line.len > compute_kit.heard.longest)
        compute_kit.heard.longest = line.len;
    return compute_kit.heard.stop_after == 0 ||
           compute_kit.heard.lines < compute_kit.heard.stop_after;
}

static bool on_too_long(void *ctx, struct str beginning)
{
    (void)ctx;
    ck_assert_uint_gt(beginning.len, 0);
    compute_kit.heard.too_long++;
    return !compute_kit.heard.refuses_long;
}

static bool on_interrupt(void *ctx)
{
    (void)ctx;
    const char *farewell = compute_kit.talk.farewell;
    compute_kit.talk.interrupts++;
    buf_adds(&compute_kit.talk.bytes, farewell);
    return farewell != NULL;
}

struct compute_spec compute_kit_spec(const char *script)
{
    struct kit *kit = &compute_kit.kit;
    const char **argv = arena_array(&kit->arena, 4, sizeof(char *));
    argv[0] = "/bin/sh";
    argv[1] = "-c";
    argv[2] = script;
    const char **env = arena_array(&kit->arena, 2, sizeof(char *));
    env[0] = arena_printf(&kit->arena, "PATH=%s", getenv("PATH"));
    return (struct compute_spec){
        .sandbox = &kit->site.sandbox,
        .view = {.argv = argv, .cwd = compute_kit.tree, .binds = {{compute_kit.tree, true}}},
        .env = env,
        .log_path = compute_kit.log_path,
        .log_bytes_max = 1024 * 1024,
        .wall_ms = 20000,
        .stop = &kit->stop,
        .reader = {.line = compute_kit_line, .too_long = on_too_long, .interrupt = on_interrupt},
    };
}

struct compute_result compute_kit_run(const struct compute_spec *spec)
{
    struct compute_result result;
    struct err err = {0};
    ck_assert_msg(compute_run(spec, &result, &err) == RC_OK, "%s", err.text);
    return result;
}

void *compute_kit_stop_when_ready(void *path)
{
    kit_await_file(&compute_kit.kit, path);
    stop_ask(&compute_kit.kit.stop, STOP_CANCEL);
    return NULL;
}

/* A killed process group needs a moment to go; a sandbox was waited for. */
bool compute_kit_is_empty(void)
{
    bool walls = compute_kit.kit.site.sandbox.kind == SANDBOX_BUBBLEWRAP;
    int64_t until_us = clock_mono_us() + (walls ? 0 : 2 * US_PER_SECOND);
    bool left;
    do
        left = kit_sleeps(&compute_kit.kit);
    while (left && clock_mono_us() < until_us);
    return !left;
}
