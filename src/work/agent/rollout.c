#include "work/agent/rollout.h"
#include "base/fd.h"
#include "work/agent/quota.h"
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    LOOK_EVERY_MS = 1000,
    SEARCHES_MAX = 60,    /* Codex makes the file before it prints the id of its thread. */
    ENTRIES_MAX = 20000,  /* Of one search. */
    EXTRA_LOOKS_MAX = 20, /* Between those of every second. */
    DEPTH = 3,            /* Year, month, day. */
    MINUTES_FIVE_HOURS = 300,
    MINUTES_WEEK = 7 * 24 * 60,
};

/* ---- finding the file ---- */

static int open_dir(int at, const char *name)
{
    return openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
}

static const char *codex_home_of(const struct childenv *env)
{
    static const char name[] = "CODEX_HOME=";
    for (size_t i = 0; i < env->count; i++) {
        if (text_starts(env->entries[i], name))
            return env->entries[i] + sizeof name - 1;
    }
    return NULL;
}

/* $CODEX_HOME, else .codex in the home.  In the home every component may be the agent's; another
   directory is one that the configuration names. */
static int open_codex_home(const struct rollout *rollout)
{
    const char *named = codex_home_of(rollout->env);
    const char *inside = ".codex";
    if (named != NULL && !path_is_inside(named, rollout->home))
        return open(named, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (named != NULL)
        inside = named + strlen(rollout->home);
    int at = open(rollout->home, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    while (at >= 0 && *(inside += strspn(inside, "/")) != '\0') {
        char name[NAME_MAX + 1];
        size_t len = strcspn(inside, "/");
        bool fits = len < sizeof name;
        text_copy(name, fits ? len + 1 : 1, inside);
        int next = fits && !text_same(name, "..") ? open_dir(at, name) : -1;
        fd_closep(&at);
        at = next;
        inside += len;
    }
    return at;
}

/* The file whose name ends so, depth levels below the directory; -1: there is none. */
static int search(int dir_fd, const char *ending, int depth, int64_t *entries)
{
    int copy = fcntl(dir_fd, F_DUPFD_CLOEXEC, 0), found = -1;
    DIR *dir = copy >= 0 ? fdopendir(copy) : NULL;
    if (dir == NULL) {
        fd_closep(&copy);
        return -1;
    }
    rewinddir(dir);
    const struct dirent *entry;
    while (found < 0 && (entry = readdir(dir)) != NULL && (*entries)++ < ENTRIES_MAX) {
        const char *name = entry->d_name;
        if (depth == 0 && text_starts(name, "rollout-") && text_ends(name, ending)) {
            found = openat(dir_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
        } else if (depth > 0 && name[0] >= '0' && name[0] <= '9') {
            CLEANUP(fd_closep) int below = open_dir(dir_fd, name);
            if (below >= 0)
                found = search(below, ending, depth - 1, entries);
        }
    }
    (void)closedir(dir);
    return found;
}

/* An id of letters, digits and dashes only: it becomes part of a name. */
static bool id_is_plain(const char *id)
{
    static const char allowed[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-";
    return id[0] != '\0' && strspn(id, allowed) == strlen(id);
}

static void find(struct rollout *rollout)
{
    char ending[ADAPTER_ID_MAX + 16];
    const char *id = rollout->transcript->session_id;
    int64_t entries = 0;
    struct stat status;
    if (!id_is_plain(id))
        return; /* Not told yet. */
    rollout->over = ++rollout->searches >= SEARCHES_MAX;
    (void)snprintf(ending, sizeof ending, "-%s.jsonl", id);
    CLEANUP(fd_closep) int home = open_codex_home(rollout);
    CLEANUP(fd_closep) int sessions = home >= 0 ? open_dir(home, "sessions") : -1;
    CLEANUP(fd_closep) int found = sessions >= 0 ? search(sessions, ending, DEPTH, &entries) : -1;
    if (found < 0 || fstat(found, &status) != 0 || !S_ISREG(status.st_mode))
        return;
    rollout->fd = found;
    rollout->over = false;
    found = -1;
}

/* ---- lines ---- */

static struct tokens read_tokens(const struct js *usage)
{
    return (struct tokens){
        .input = tokens_bounded(js_get_int(usage, "input_tokens", 0)),
        .cached_input = tokens_bounded(js_get_int(usage, "cached_input_tokens", 0)),
        .cache_write = tokens_bounded(js_get_int(usage, "cache_write_input_tokens", 0)),
        .output = tokens_bounded(js_get_int(usage, "output_tokens", 0)),
    };
}

static int64_t more(int64_t has, int64_t had)
{
    return has > had ? has - had : 0;
}

/* One request more: what the totals have grown by. */
static void on_tokens(struct rollout *rollout, const struct js *usage, bool earlier)
{
    struct transcript *transcript = rollout->transcript;
    struct tokens total = read_tokens(usage), had = rollout->total;
    struct request_usage request = {
        .tokens = {.input = more(total.input, had.input),
                   .cached_input = more(total.cached_input, had.cached_input),
                   .cache_write = more(total.cache_write, had.cache_write),
                   .output = more(total.output, had.output)},
    };
    rollout->total = total;
    if (earlier || (request.tokens.input == 0 && request.tokens.output == 0))
        return; /* Of an attempt before this one, or noted twice. */
    transcript_requests_known(transcript);
    (void)transcript_tokens(transcript, &request);
    transcript_turn(transcript, 0);
}

/* {"used_percent":12.5,"window_minutes":300,"resets_at":1794835873} */
static void on_account(struct rollout *rollout, const struct js *limit)
{
    double percent = js_num(js_get(limit, "used_percent"), -1);
    int64_t minutes = js_get_int(limit, "window_minutes", 0);
    int64_t now_us = clock_now_us(&rollout->transcript->clock);
    if (!(percent >= 0 && percent <= 100) || (int64_t)percent == rollout->account_percent)
        return;
    rollout->account_percent = (int64_t)percent;
    transcript_account(
        rollout->transcript,
        &(struct account_usage){
            .window = minutes == MINUTES_FIVE_HOURS ? "five_hour"
                      : minutes == MINUTES_WEEK     ? "seven_day"
                                                    : NULL,
            .utilization = percent / 100,
            .resets_us = quota_reset_epoch(js_get_int(limit, "resets_at", 0), now_us),
            .status = "allowed",
        });
}

static void on_line(struct rollout *rollout, struct str line)
{
    bool counts = memmem(line.at, line.len, STR("\"token_count\"").at, 13) != NULL;
    if (!counts && memmem(line.at, line.len, STR("\"turn_context\"").at, 14) == NULL)
        return;
    CLEANUP(js_freep) struct js *object = transcript_parse(line);
    const struct js *payload = js_get(object, "payload");
    const char *type = js_get_str(object, "type", "");
    int64_t at_us = 0;
    bool earlier = time_parse(js_get_str(object, "timestamp", ""), &at_us) &&
                   at_us < rollout->begun_us;
    if (text_same(type, "turn_context") && !earlier) {
        transcript_model(rollout->transcript, js_get_str(payload, "model", NULL));
    } else if (text_same(type, "event_msg") &&
               text_same(js_get_str(payload, "type", ""), "token_count")) {
        const struct js *usage = js_path(payload, "info.total_token_usage");
        if (usage != NULL)
            on_tokens(rollout, usage, earlier);
        if (!earlier)
            on_account(rollout, js_path(payload, "rate_limits.primary"));
    }
}

/* ---- reading ---- */

static void take(struct rollout *rollout, struct str bytes)
{
    while (bytes.len > 0) {
        const char *end = memchr(bytes.at, '\n', bytes.len);
        size_t len = end != NULL ? (size_t)(end - bytes.at) : bytes.len;
        if (!rollout->skipping)
            buf_add(&rollout->line, bytes.at, len);
        rollout->skipping |= rollout->line.overflow;
        if (end != NULL && !rollout->skipping)
            on_line(rollout, buf_str(&rollout->line));
        if (end != NULL || rollout->skipping)
            buf_clear(&rollout->line);
        rollout->line.overflow = false;
        rollout->skipping &= end == NULL;
        len += end != NULL;
        bytes = (struct str){bytes.at + len, bytes.len - len};
    }
}

static void read_on(struct rollout *rollout, int64_t bytes_max)
{
    char chunk[16 * 1024];
    ssize_t got = 1;
    for (int64_t total = 0; got > 0 && total < bytes_max; total += got) {
        got = read(rollout->fd, chunk, sizeof chunk);
        if (got > 0)
            take(rollout, (struct str){chunk, (size_t)got});
    }
}

static void find_and_read(struct rollout *rollout, int64_t bytes_max)
{
    if (rollout->fd < 0)
        find(rollout);
    if (rollout->fd >= 0)
        read_on(rollout, bytes_max);
}

/* A turn has ended: its requests should be there. */
static bool look_now(void *ctx)
{
    struct rollout *rollout = ctx;
    if (!rollout->over && rollout->extra_looks++ < EXTRA_LOOKS_MAX)
        find_and_read(rollout, ROLLOUT_LOOK_BYTES);
    return rollout->fd >= 0;
}

/* ---- from outside ---- */

void rollout_init(struct rollout *rollout, struct transcript *transcript,
                  const struct childenv *env, const char *home)
{
    struct clock clock = clock_real();
    *rollout = (struct rollout){
        .transcript = transcript,
        .env = env,
        .home = home,
        .fd = -1,
        .over = transcript->ops != &adapter_codex,
        .begun_us = clock_now_us(&clock),
        .account_percent = -1,
    };
    buf_init(&rollout->line, ROLLOUT_LINE_MAX);
    if (!rollout->over) {
        transcript->requests.look = look_now;
        transcript->requests.ctx = rollout;
    }
}

void rollout_release(struct rollout *rollout)
{
    fd_closep(&rollout->fd);
    buf_release(&rollout->line);
}

int64_t rollout_look(struct rollout *rollout)
{
    int64_t now_us = clock_mono_us();
    if (rollout->over)
        return INT64_MAX;
    if (now_us < rollout->next_us)
        return rollout->next_us;
    rollout->next_us = now_us + LOOK_EVERY_MS * US_PER_MS;
    find_and_read(rollout, ROLLOUT_LOOK_BYTES);
    return rollout->next_us;
}

void rollout_finish(struct rollout *rollout)
{
    if (!rollout->over)
        find_and_read(rollout, ROLLOUT_LAST_BYTES);
    rollout->over = true;
    transcript_requests_over(rollout->transcript);
}
