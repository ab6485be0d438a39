/*
 * scratch_book.c - leases of ports and databases, a file for each.
 *
 *     {"version": 1, "instance", "runId", "taskId", "ports": [20000, ...],
 *      "databases": [{"name", "database"}, ...], "config": {...}}
 *
 * Files are written beside, synced and renamed, so that a file is whole or not there.
 */
#include "work/job/scratch_book.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/js.h"
#include "base/jw.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/random.h"
#include <assert.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    FORMAT_VERSION = 1,
    FILE_BYTES_MAX = 4 * 1024 * 1024,
    TAKEN_RETRY_MS = 5000,
    PORT_MIN = 1024,
    PORT_MAX = 65535,
};

struct scratch_book {
    char *dir;
    char instance[SCRATCH_INSTANCE_BYTES];
    struct port_range range;
    pthread_mutex_t lock;
    int64_t next_port; /* Where the search begins: a port that was just given back comes last. */
    struct scratch_total total;
};

enum rc port_range_parse(const char *text, struct port_range *ret_range, struct err *err)
{
    struct port_range range = {0};
    char from[8] = "";
    const char *dash = strchr(text, '-');
    size_t len = dash != NULL ? (size_t)(dash - text) : sizeof from;
    if (len < sizeof from)
        memcpy(from, text, len);
    bool valid = len < sizeof from && text_to_i64(from, &range.from) &&
                 text_to_i64(dash + 1, &range.to) && range.from >= PORT_MIN &&
                 range.to <= PORT_MAX && range.from <= range.to;
    if (!valid)
        return err_set(err, RC_INVALID, "INVALID_PORTS",
                       "%.40s is no range of ports: write FROM-TO, such as %d-%d, between %d and "
                       "%d",
                       text, SCRATCH_PORT_FROM, SCRATCH_PORT_TO, PORT_MIN, PORT_MAX);
    *ret_range = range;
    return RC_OK;
}

/* ---- the file ---- */

static const char *path_of(const struct scratch_book *book, const struct id *holder,
                           struct arena *arena)
{
    return arena_printf(arena, "%s/%s.json", book->dir, holder->text);
}

static void write_lease(struct buf *text, const struct scratch_lease *lease)
{
    struct jw jw = jw_to(text);
    jw_begin(&jw, '{');
    jw_kint(&jw, "version", FORMAT_VERSION);
    jw_kstr(&jw, "instance", lease->instance);
    jw_optstr(&jw, "runId", lease->run_id.text[0] ? lease->run_id.text : NULL);
    jw_optstr(&jw, "taskId", lease->task_id.text[0] ? lease->task_id.text : NULL);
    jw_key(&jw, "ports");
    jw_begin(&jw, '[');
    for (size_t i = 0; i < lease->port_count; i++)
        jw_int(&jw, lease->ports[i]);
    jw_end(&jw, ']');
    jw_key(&jw, "databases");
    jw_begin(&jw, '[');
    for (size_t i = 0; i < lease->database_count; i++) {
        jw_begin(&jw, '{');
        jw_kstr(&jw, "name", lease->databases[i].name);
        jw_kstr(&jw, "database", lease->databases[i].database);
        jw_end(&jw, '}');
    }
    jw_end(&jw, ']');
    jw_kraw(&jw, "config", str_of(lease->config));
    jw_end(&jw, '}');
}

static enum rc invalid(const char *path, struct err *err)
{
    return err_set(err, RC_INVALID, "INVALID_LEASE", "%.300s is no lease of this version", path);
}

static enum rc decode_lease(const struct js *tree, struct arena *arena, struct scratch_lease *lease)
{
    const struct js *ports = js_get(tree, "ports"), *databases = js_get(tree, "databases");
    if (js_get_int(tree, "version", 0) != FORMAT_VERSION || js_count(ports) > SCRATCH_PORTS_MAX ||
        js_count(databases) > SCRATCH_DATABASES_MAX || js_get(tree, "config") == NULL)
        return RC_INVALID;
    lease->instance = arena_strdup(arena, js_get_str(tree, "instance", ""));
    lease->config = js_text(js_get(tree, "config"), arena);
    (void)!id_parse(js_get_str(tree, "runId", ""), &lease->run_id);
    (void)!id_parse(js_get_str(tree, "taskId", ""), &lease->task_id);
    for (; lease->port_count < js_count(ports); lease->port_count++)
        lease->ports[lease->port_count] = js_int(js_at(ports, lease->port_count), 0);
    for (; lease->database_count < js_count(databases); lease->database_count++) {
        const struct js *one = js_at(databases, lease->database_count);
        lease->databases[lease->database_count].name = arena_strdup(arena,
                                                                    js_get_str(one, "name", ""));
        lease->databases[lease->database_count].database = arena_strdup(
            arena, js_get_str(one, "database", ""));
    }
    return RC_OK;
}

enum rc scratch_book_find(struct scratch_book *book, const struct id *holder, struct arena *arena,
                          struct scratch_lease *ret_lease, struct err *err)
{
    const char *path = path_of(book, holder, arena);
    struct scratch_lease lease = {.holder = *holder};
    struct stat info;
    CLEANUP(buf_release) struct buf text;
    CLEANUP(js_freep) struct js *tree = NULL;
    buf_init(&text, FILE_BYTES_MAX);
    if (stat(path, &info) != 0 && errno == ENOENT)
        return err_set(err, RC_NOT_FOUND, "NOT_FOUND", "%s holds nothing here", holder->text);
    enum rc rc = file_read(path, &text, err);
    if (rc == RC_OK)
        rc = js_parse(text.data, text.len, &tree, err);
    if (rc == RC_OK && decode_lease(tree, arena, &lease) != RC_OK)
        rc = invalid(path, err);
    if (rc != RC_OK)
        return rc;
    lease.used_us = (int64_t)info.st_mtim.tv_sec * US_PER_SECOND;
    *ret_lease = lease;
    return RC_OK;
}

size_t scratch_book_list(struct scratch_book *book, struct arena *arena,
                         struct scratch_lease **ret_leases)
{
    struct scratch_lease *leases = arena_array(arena, SCRATCH_LEASES_MAX, sizeof *leases);
    size_t count = 0;
    DIR *dir = opendir(book->dir);
    const struct dirent *entry;
    while (dir != NULL && count < SCRATCH_LEASES_MAX && (entry = readdir(dir)) != NULL) {
        size_t len = strlen(entry->d_name);
        struct id holder;
        struct err err = {0};
        if (!text_ends(entry->d_name, ".json") ||
            !id_parse(arena_strndup(arena, entry->d_name, len - strlen(".json")), &holder))
            continue;
        enum rc rc = scratch_book_find(book, &holder, arena, &leases[count], &err);
        if (rc == RC_OK)
            count++;
        else if (rc != RC_NOT_FOUND)
            LOG(LOG_WARN, "a lease of ports and databases cannot be read",
                LOG_STR("holder", holder.text), LOG_STR("error", err.text));
    }
    if (dir != NULL)
        (void)closedir(dir);
    *ret_leases = leases;
    return count;
}

/* Under the lock. */
static void count_all(struct scratch_book *book)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct scratch_lease *leases = NULL;
    struct scratch_total total = {.leases = (int64_t)scratch_book_list(book, &arena, &leases)};
    for (int64_t i = 0; i < total.leases; i++) {
        total.ports += (int64_t)leases[i].port_count;
        total.databases += (int64_t)leases[i].database_count;
    }
    __atomic_store_n(&book->total.leases, total.leases, __ATOMIC_RELAXED);
    __atomic_store_n(&book->total.ports, total.ports, __ATOMIC_RELAXED);
    __atomic_store_n(&book->total.databases, total.databases, __ATOMIC_RELAXED);
}

static enum rc put_file(struct scratch_book *book, const struct scratch_lease *lease,
                        struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, FILE_BYTES_MAX);
    write_lease(&text, lease);
    if (text.overflow)
        return err_set(err, RC_TOO_LARGE, "LEASE_TOO_LARGE",
                       "The configuration of the repository is larger than %d bytes.",
                       FILE_BYTES_MAX);
    return file_write_durable(path_of(book, &lease->holder, &arena), text.data, text.len, 0600,
                              err);
}

enum rc scratch_book_save(struct scratch_book *book, const struct scratch_lease *lease,
                          struct err *err)
{
    (void)pthread_mutex_lock(&book->lock);
    enum rc rc = put_file(book, lease, err);
    count_all(book);
    (void)pthread_mutex_unlock(&book->lock);
    return rc;
}

enum rc scratch_book_end(struct scratch_book *book, const struct id *holder, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const char *path = path_of(book, holder, &arena);
    enum rc rc = RC_OK;
    (void)pthread_mutex_lock(&book->lock);
    if (unlink(path) == 0)
        rc = dir_sync(book->dir, err);
    else if (errno != ENOENT)
        rc = err_set(err, RC_IO, "IO_ERROR", "cannot remove %.300s: %s", path, strerror(errno));
    count_all(book);
    (void)pthread_mutex_unlock(&book->lock);
    return rc;
}

/* ---- ports ---- */

/* Does a program of this machine listen there?  Only then a second one cannot. */
static bool is_free(int family, int64_t port)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)};
    const struct sockaddr *address = family == AF_INET ? (const struct sockaddr *)&v4
                                                       : (const struct sockaddr *)&v6;
    socklen_t len = family == AF_INET ? sizeof v4 : sizeof v6;
    const int on = 1;
    CLEANUP(fd_closep) int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return true; /* This machine has no such addresses. */
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (family == AF_INET6)
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    return bind(fd, address, len) == 0 || errno != EADDRINUSE;
}

static bool is_leased(const struct scratch_lease *leases, size_t count, int64_t port)
{
    for (size_t i = 0; i < count; i++) {
        for (size_t at = 0; at < leases[i].port_count; at++) {
            if (leases[i].ports[at] == port)
                return true;
        }
    }
    return false;
}

/* Under the lock. */
static enum rc choose_ports(struct scratch_book *book, struct scratch_lease *lease, int64_t wanted,
                            struct arena *arena, struct err *err)
{
    struct scratch_lease *leases = NULL;
    size_t count = scratch_book_list(book, arena, &leases);
    int64_t size = book->range.to - book->range.from + 1;
    if (count >= SCRATCH_LEASES_MAX)
        return err_set(err, RC_LIMIT, "SCRATCH_FULL",
                       "%d leases of ports and databases are left over on this worker: its log "
                       "says why they cannot be dropped.",
                       SCRATCH_LEASES_MAX);
    if (wanted > size)
        return err_set(err, RC_INVALID, "NOT_ENOUGH_PORTS",
                       "scratch.ports is %" PRId64 ", and this worker has %" PRId64
                       ": give it a wider range with --ports.",
                       wanted, size);
    lease->port_count = 0;
    for (int64_t i = 0; i < size && (int64_t)lease->port_count < wanted; i++) {
        int64_t port = book->range.from + (book->next_port + i) % size;
        if (!is_leased(leases, count, port) && is_free(AF_INET, port) && is_free(AF_INET6, port))
            lease->ports[lease->port_count++] = port;
    }
    if ((int64_t)lease->port_count == wanted) {
        if (wanted > 0)
            book->next_port = lease->ports[wanted - 1] - book->range.from + 1;
        return RC_OK;
    }
    lease->port_count = 0;
    enum rc rc = err_set(err, RC_LIMIT, "PORTS_TAKEN",
                         "All ports of this worker are taken (%" PRId64 "-%" PRId64 ").",
                         book->range.from, book->range.to);
    if (err != NULL)
        err->retry_ms = TAKEN_RETRY_MS;
    return rc;
}

enum rc scratch_book_lease(struct scratch_book *book, struct scratch_lease *lease, int64_t ports,
                           struct arena *arena, struct err *err)
{
    assert(ports >= 0 && ports <= SCRATCH_PORTS_MAX);
    lease->instance = book->instance;
    (void)pthread_mutex_lock(&book->lock);
    enum rc rc = choose_ports(book, lease, ports, arena, err);
    if (rc == RC_OK)
        rc = put_file(book, lease, err);
    count_all(book);
    (void)pthread_mutex_unlock(&book->lock);
    return rc;
}

/* ---- the book ---- */

enum rc scratch_book_open(const char *work_dir, const struct port_range *ports,
                          struct scratch_book **ret_book, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct random random = random_from_os();
    const char *dir = arena_printf(&arena, "%s/scratch", work_dir);
    enum rc rc = dir_make_durable(dir, 0700, err);
    if (rc != RC_OK)
        return rc;
    struct scratch_book *book = mem_alloc(sizeof *book);
    book->dir = mem_strdup(dir);
    book->range = ports->to > 0 ? *ports : (struct port_range){SCRATCH_PORT_FROM, SCRATCH_PORT_TO};
    (void)snprintf(book->instance, sizeof book->instance, "%016" PRIx64, random_next(&random));
    /* Two workers of one machine that have the same range should not meet at its begin. */
    book->next_port = (int64_t)random_below(&random,
                                            (uint64_t)(book->range.to - book->range.from + 1));
    (void)pthread_mutex_init(&book->lock, NULL);
    count_all(book);
    *ret_book = book;
    return RC_OK;
}

void scratch_book_free(struct scratch_book *book)
{
    if (book == NULL)
        return;
    (void)pthread_mutex_destroy(&book->lock);
    mem_free(book->dir);
    mem_free(book);
}

const char *scratch_book_dir(const struct scratch_book *book)
{
    return book->dir;
}

void scratch_book_touch(const struct scratch_book *book, const struct id *holder)
{
    CLEANUP(arena_release) struct arena arena = {0};
    (void)utimensat(AT_FDCWD, path_of(book, holder, &arena), NULL, AT_SYMLINK_NOFOLLOW);
}

bool scratch_book_is_own(const struct scratch_book *book, const struct scratch_lease *lease)
{
    return text_same(book->instance, lease->instance);
}

struct scratch_total scratch_book_total(const struct scratch_book *book)
{
    return (struct scratch_total){
        .leases = __atomic_load_n(&book->total.leases, __ATOMIC_RELAXED),
        .ports = __atomic_load_n(&book->total.ports, __ATOMIC_RELAXED),
        .databases = __atomic_load_n(&book->total.databases, __ATOMIC_RELAXED),
    };
}

const char *scratch_database_name(const char *name, struct arena *arena)
{
    struct random random = random_from_os();
    char *text = arena_printf(arena, "drover_%016" PRIx64 "_%.*s", random_next(&random),
                              SCRATCH_NAME_BYTES_MAX, name);
    for (char *at = text; *at != '\0'; at++)
        *at = *at == '-' ? '_' : *at;
    return text;
}
