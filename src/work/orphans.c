#include "work/orphans.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/str.h"
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#define AGENTS_DIR "/work/agents" /* Below the data directory: steps/launch.c */
enum { PROC_FILE_MAX = 256 * 1024, GONE_WAIT_MS = 5000, LOOK_EVERY_MS = 10 };

/* The NUL-separated words of /proc/PID/cmdline or environ. */
static void read_words(pid_t pid, const char *name, struct buf *into)
{
    char path[64], chunk[4096];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    CLEANUP(fd_closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got;
    while (fd >= 0 && !into->overflow && (got = read(fd, chunk, sizeof chunk)) > 0)
        buf_add(into, chunk, (size_t)got);
}

static bool has_word(const struct buf *words, const char *prefix, bool whole)
{
    for (size_t at = 0; at < words->len; at += strlen(words->data + at) + 1) {
        const char *word = words->data + at;
        if (whole ? strcmp(word, prefix) == 0 : text_starts(word, prefix))
            return true;
    }
    return false;
}

static bool is_our_sandbox(pid_t pid, const char *data_dir)
{
    CLEANUP(buf_release) struct buf words;
    buf_init(&words, PROC_FILE_MAX);
    read_words(pid, "cmdline", &words);
    return strcmp(buf_text(&words), "bwrap") == 0 && has_word(&words, data_dir, true);
}

/* Without a sandbox: the agent of a run, or one that was launched, in its directory.  The shell of
   a person in that directory has neither in its environment. */
static bool is_our_agent(pid_t pid, const char *data_dir)
{
    char link[64], cwd[PATH_MAX];
    snprintf(link, sizeof link, "/proc/%d/cwd", (int)pid);
    ssize_t len = readlink(link, cwd, sizeof cwd - 1);
    if (len <= 0)
        return false;
    cwd[len] = '\0';
    const char *below = text_starts(cwd, data_dir) ? cwd + strlen(data_dir) : "";
    bool of_run = text_starts(below, "/work/runs/");
    if (!of_run && !text_starts(below, AGENTS_DIR "/"))
        return false;
    CLEANUP(buf_release) struct buf words;
    buf_init(&words, PROC_FILE_MAX);
    read_words(pid, "environ", &words);
    return has_word(&words, of_run ? "DROVER_RUN_ID=" : "DROVER_AGENT=", false);
}

/* Kills all there are; how many. */
static int kill_all(const char *data_dir)
{
    DIR *proc = opendir("/proc");
    if (proc == NULL)
        return 0;
    int count = 0;
    const struct dirent *entry;
    while ((entry = readdir(proc)) != NULL) {
        int64_t number;
        if (!text_to_i64(entry->d_name, &number) || number <= 1 || number > INT_MAX)
            continue;
        pid_t pid = (pid_t)number;
        if (pid == getpid() || (!is_our_sandbox(pid, data_dir) && !is_our_agent(pid, data_dir)))
            continue;
        (void)kill(pid, SIGKILL);
        count++;
    }
    (void)closedir(proc);
    return count;
}

/* Of agents that were launched: no process is left that could use them. */
static void remove_places(const char *data_dir)
{
    char path[PATH_MAX];
    int len = snprintf(path, sizeof path, "%s" AGENTS_DIR, data_dir);
    if (len > 0 && (size_t)len < sizeof path && dir_remove(path, NULL) != RC_OK)
        return; /* The start of an agent removes its own. */
}

int orphans_end(const char *data_dir)
{
    int found = kill_all(data_dir);
    int64_t until_us = clock_mono_us() + GONE_WAIT_MS * US_PER_MS;
    const struct timespec pause = {.tv_nsec = LOOK_EVERY_MS * 1000000L};
    for (int left = found; left > 0 && clock_mono_us() < until_us; left = kill_all(data_dir))
        (void)nanosleep(&pause, NULL);
    remove_places(data_dir);
    return found;
}
