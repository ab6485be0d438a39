/*
 * stock.c - what the parent of the tests keeps for them, and what tests have asked for.
 */
#include "tests/store/stock.h"
#include "base/fd.h"
#include "store/artifact_dir.h"
#include "tests/store/schema_stock.h"
#include "tests/unit/memo.h"
#include <check.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

/* What tests have asked for. */
static const char wish_memory[] = "stock memory", wish_file[] = "stock file";

static pid_t parent;
static struct store *in_memory;
static bool has_file, refused;
static char directory[PATH_MAX - 32], artifacts[PATH_MAX], url[PATH_MAX]; /* url: of the file */

static void make_file(void)
{
    struct store *store = NULL;
    const struct store_options options = {.url = url};
    has_file = store_open(&options, &store, NULL) == RC_OK;
    store_close(store);
}

/* Before a fork.  What does not work here works in the test, which has the words for it. */
static void fill(void)
{
    if (getpid() != parent)
        return;
    const struct store_options options = {.url = "sqlite::memory:", .artifact_dir = artifacts};
    if (memo_get(wish_memory, NULL, 0) && in_memory == NULL &&
        store_open(&options, &in_memory, NULL) != RC_OK)
        in_memory = NULL;
    if (memo_get(wish_file, NULL, 0) && !has_file)
        make_file();
}

static void empty(void)
{
    if (getpid() != parent)
        return;
    store_close(in_memory);
    in_memory = NULL;
    schema_stock_empty();
    if (dir_remove(directory, NULL) != RC_OK)
        fprintf(stderr, "stock: %s is left\n", directory);
}

void stock_begin(void)
{
    const char *tmp = getenv("TMPDIR");
    tmp = tmp != NULL ? tmp : "/tmp";
    parent = getpid();
    (void)snprintf(directory, sizeof directory, "%s/drover-stock-%d", tmp, (int)parent);
    (void)snprintf(artifacts, sizeof artifacts, "%s/artifacts", directory);
    (void)snprintf(url, sizeof url, "sqlite:%s/stock.db", directory);
    if (dir_remove(directory, NULL) != RC_OK || dir_make(directory, 0700, NULL) != RC_OK)
        abort();
    schema_stock_begin();
    if (pthread_atfork(fill, NULL, NULL) != 0 || atexit(empty) != 0)
        abort();
}

struct store *stock_take(const char **ret_artifact_dir)
{
    memo_put(wish_memory, NULL, 0);
    struct store *taken = in_memory;
    if (taken == NULL || refused || getpid() == parent)
        return NULL;
    in_memory = NULL;
    /* A test that failed has left its own there. */
    ck_assert_int_eq(dir_remove(artifacts, NULL), RC_OK);
    ck_assert_int_eq(artifact_dir_prepare(artifacts, NULL), RC_OK);
    *ret_artifact_dir = artifacts;
    return taken;
}

void stock_refuse(void)
{
    refused = true;
}

bool stock_copy(const char *path)
{
    memo_put(wish_file, NULL, 0);
    if (!has_file)
        return false;
    CLEANUP(fd_closep) int from = open(url + strlen("sqlite:"), O_RDONLY | O_CLOEXEC);
    CLEANUP(fd_closep) int to = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    ck_assert_int_ge(from, 0);
    ck_assert_int_ge(to, 0);
    struct stat about;
    ck_assert_int_eq(fstat(from, &about), 0);
    for (off_t left = about.st_size; left > 0;) {
        ssize_t sent = sendfile(to, from, NULL, (size_t)left);
        ck_assert_int_gt(sent, 0);
        left -= sent;
    }
    return true;
}
