#include "cli/event_spool.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/js.h"
#include "base/jw.h"
#include "cli/client.h"
#include "cli/paths.h"
#include "core/cloud_event.h"
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
    SEND_TIMEOUT_MS = 10 * 1000,
    SEND_BYTES_MAX = 512 * 1024,
    AGENT_SEND_BYTES_MAX = 7 * 1024, /* The server takes 8 KiB of an agent. */
    SEND_BYTES_MIN = 1024,
    SLOW_SECONDS = 30,
    KEYS_MAX = 1000,
    FAILURE_BYTES_MAX = 4096,
};

/* ---- where ---- */

static enum rc find_root(struct cli *cli, const char **ret_root, struct err *err)
{
    const char *given = getenv("DROVER_SPOOL"), *dir = NULL;
    if (!text_empty(given)) {
        *ret_root = given;
        return RC_OK;
    }
    enum rc rc = cli_data_dir(NULL, &cli->arena, &dir, err);
    if (rc == RC_OK)
        *ret_root = arena_printf(&cli->arena, "%s/event-spool", dir);
    return rc;
}

static const char *in_spool(struct arena *arena, const struct event_spool *spool, const char *name)
{
    return arena_printf(arena, "%s/%s", spool->dir, name);
}

static struct event_spool spool_at(struct cli *cli, const char *root, const char *key,
                                   const char *target)
{
    struct event_spool spool = {
        .key = key, .dir = arena_printf(&cli->arena, "%s/%s", root, key), .target = target};
    spool.waiting = (struct disk_queue){.dir = in_spool(&cli->arena, &spool, "waiting"),
                                        .records_max = SPOOL_EVENTS_MAX,
                                        .bytes_max = SPOOL_BYTES_MAX};
    spool.refused = (struct disk_queue){.dir = in_spool(&cli->arena, &spool, "refused"),
                                        .records_max = SPOOL_REFUSED_MAX,
                                        .bytes_max = SPOOL_REFUSED_BYTES_MAX};
    return spool;
}

enum rc event_spool_open(struct cli *cli, struct event_spool *ret, struct err *err)
{
    struct http_client_options server = {0};
    const char *root = NULL, *run = getenv("DROVER_RUN_ID");
    char sha256[SHA256_TEXT_BYTES];
    enum rc rc = find_root(cli, &root, err);
    if (rc == RC_OK)
        rc = cli_find_target(cli, &server, err);
    if (rc != RC_OK)
        return rc;
    const char *target = server.socket_path != NULL
                             ? arena_printf(&cli->arena, "unix:%s", server.socket_path)
                             : arena_strdup(&cli->arena, server.url);
    if (!text_empty(run))
        target = arena_printf(&cli->arena, "%s run %s", target, run);
    sha256_hex(target, strlen(target), sha256);
    *ret = spool_at(cli, root, arena_strndup(&cli->arena, sha256, SPOOL_KEY_LEN), target);
    return RC_OK;
}

static bool is_key(const char *text)
{
    return strlen(text) == SPOOL_KEY_LEN && strspn(text, "0123456789abcdef") == SPOOL_KEY_LEN;
}

enum rc event_spool_open_key(struct cli *cli, const char *key, struct event_spool *ret,
                             struct err *err)
{
    CLEANUP(buf_release) struct buf target;
    const char *root = NULL;
    buf_init(&target, FAILURE_BYTES_MAX);
    enum rc rc = find_root(cli, &root, err);
    if (rc != RC_OK)
        return rc;
    struct event_spool spool = spool_at(cli, root, arena_strdup(&cli->arena, key), "");
    if (!is_key(key) || !file_exists(spool.dir))
        return err_set(err, RC_NOT_FOUND, "SPOOL_NOT_FOUND",
                       "there is no spool \"%.40s\" under %.200s", key, root);
    if (file_read(in_spool(&cli->arena, &spool, "target"), &target, NULL) == RC_OK)
        spool.target = arena_strndup(&cli->arena, buf_text(&target),
                                     strcspn(buf_text(&target), "\n"));
    *ret = spool;
    return RC_OK;
}

static int compare_keys(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

enum rc event_spool_list(struct cli *cli, const char *const **ret_keys, size_t *ret_count,
                         struct err *err)
{
    const char *root = NULL;
    const char **keys = arena_array(&cli->arena, KEYS_MAX, sizeof *keys);
    size_t count = 0;
    const struct dirent *entry;
    enum rc rc = find_root(cli, &root, err);
    if (rc != RC_OK)
        return rc;
    DIR *dir = opendir(root);
    if (dir == NULL && errno != ENOENT)
        return err_set(err, RC_IO, "IO_ERROR", "cannot read %.300s: %s", root, strerror(errno));
    // cppcheck-suppress readdirCalled
    while (dir != NULL && count < KEYS_MAX && (entry = readdir(dir)) != NULL)
        if (is_key(entry->d_name))
            keys[count++] = arena_strdup(&cli->arena, entry->d_name);
    if (dir != NULL)
        (void)closedir(dir);
    qsort(keys, count, sizeof *keys, compare_keys);
    *ret_keys = keys;
    *ret_count = count;
    return RC_OK;
}

/* ---- why it stopped ---- */

bool event_spool_is_away(enum rc rc)
{
    return rc == RC_UNREACHABLE || rc == RC_TIMEOUT || rc == RC_BUSY || rc == RC_LIMIT ||
           rc == RC_IO;
}

/* A failure to write it down changes nothing. */
void event_spool_note(struct cli *cli, const struct event_spool *spool, const struct err *why)
{
    CLEANUP(buf_release) struct buf text;
    const struct clock clock = clock_real();
    const char *path = in_spool(&cli->arena, spool, "failure");
    buf_init(&text, FAILURE_BYTES_MAX);
    struct jw jw = jw_to(&text);
    jw_begin(&jw, '{');
    jw_ktime(&jw, "at", clock_now_us(&clock));
    jw_kstr(&jw, "code", why->code);
    jw_kstr(&jw, "reason", why->text);
    jw_end(&jw, '}');
    (void)!file_write_durable(path, text.data, text.len, 0600, NULL);
}

static void note_success(struct cli *cli, const struct event_spool *spool)
{
    const char *path = in_spool(&cli->arena, spool, "failure");
    if (file_exists(path))
        (void)remove(path);
}

static struct js *read_failure(struct cli *cli, const struct event_spool *spool)
{
    CLEANUP(buf_release) struct buf text;
    struct js *tree = NULL;
    buf_init(&text, FAILURE_BYTES_MAX);
    if (file_read(in_spool(&cli->arena, spool, "failure"), &text, NULL) != RC_OK ||
        js_parse(text.data, text.len, &tree, NULL) != RC_OK)
        return NULL;
    return tree;
}

const char *event_spool_failure(struct cli *cli, const struct event_spool *spool)
{
    CLEANUP(js_freep) struct js *failure = read_failure(cli, spool);
    return failure != NULL ? js_text(failure, &cli->arena) : NULL;
}

bool event_spool_is_slow(struct cli *cli, const struct event_spool *spool)
{
    CLEANUP(js_freep) struct js *failure = read_failure(cli, spool);
    int64_t at_us = 0;
    if (!text_same(js_get_str(failure, "code", ""), "SERVER_TIMEOUT") ||
        !time_parse(js_get_str(failure, "at", ""), &at_us))
        return false;
    int64_t age_us = cli->term.now_us - at_us;
    return age_us >= 0 && age_us < SLOW_SECONDS * US_PER_SECOND;
}

/* ---- keeping ---- */

enum rc event_spool_keep(const struct event_spool *spool, const struct str *events, size_t count,
                         struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const char *path = in_spool(&arena, spool, "target");
    enum rc rc = disk_queue_append(&spool->waiting, events, count, err);
    if (rc == RC_LIMIT)
        return err_set(err, RC_LIMIT, "SPOOL_FULL",
                       "the spool %.200s is full (%d events, %d MiB), and the server is away: "
                       "deliver it with drover event flush",
                       spool->dir, SPOOL_EVENTS_MAX, SPOOL_BYTES_MAX / (1024 * 1024));
    if (rc == RC_OK && !file_exists(path)) {
        const char *line = arena_printf(&arena, "%s\n", spool->target);
        (void)!file_write_durable(path, line, strlen(line), 0600, NULL); /* For people only. */
    }
    return rc;
}

/* ---- sending ---- */

enum rc event_spool_send(struct cli *cli, const struct str *events, size_t count,
                         struct event_tally *tally, struct err *err)
{
    static const struct http_field headers[] = {
        {"Content-Type", "application/cloudevents-batch+json"}, {0}};
    CLEANUP(buf_release) struct buf body;
    CLEANUP(cli_answer_release) struct cli_answer answer = {0};
    size_t bytes = 2;
    for (size_t i = 0; i < count; i++)
        bytes += events[i].len + 1;
    buf_init(&body, bytes);
    for (size_t i = 0; i < count; i++) {
        buf_addc(&body, i == 0 ? '[' : ',');
        buf_add(&body, events[i].at, events[i].len);
    }
    buf_addc(&body, ']');
    const struct http_call call = {.method = "POST",
                                   .path = "/v1/events",
                                   .headers = headers,
                                   .body = buf_str(&body),
                                   .timeout_ms = SEND_TIMEOUT_MS};
    enum rc rc = cli_call(cli, &call, &answer, err);
    if (rc != RC_OK)
        return rc;
    int64_t accepted = js_get_int(answer.tree, "accepted", -1);
    if (accepted < 0 || accepted > (int64_t)count)
        return err_set(err, RC_UNREACHABLE, "ODD_ANSWER", "%s does not answer like a drover server",
                       http_client_url(cli->client));
    tally->accepted += (size_t)accepted;
    tally->duplicates += count - (size_t)accepted;
    return RC_OK;
}

/* "[12].data.ok": the place of the event that is wrong. */
static bool place_of(const struct err *err, size_t count, size_t *ret_place)
{
    char *end = NULL;
    if (err->field[0] != '[' || strspn(err->field + 1, "0123456789") == 0)
        return false;
    unsigned long place = strtoul(err->field + 1, &end, 10);
    if (*end != ']' || place >= count)
        return false;
    *ret_place = place;
    return true;
}

/* ---- delivering ---- */

struct delivery {
    struct cli *cli;
    const struct event_spool *spool;
    struct event_tally *tally;
    size_t bytes_max; /* Of a call; smaller after the server has refused one as too large. */
    size_t count_max;
    struct arena arena; /* For one part. */
    struct err *err;
};

/* The oldest give way. */
static enum rc make_room(struct delivery *delivery)
{
    const struct disk_queue *refused = &delivery->spool->refused;
    const struct disk_queue_want want = {SPOOL_REFUSED_MAX / 2, SPOOL_REFUSED_BYTES_MAX / 2};
    struct disk_queue_part part;
    enum rc rc = disk_queue_read(refused, &want, &delivery->arena, &part, delivery->err);
    return rc == RC_OK && part.count > 0
               ? disk_queue_remove(refused, &part, part.count, delivery->err)
               : rc;
}

/* Its place in a batch says nothing to who reads it later. */
static const char *reason_of(const struct err *why)
{
    static const char before[] = "of the batch: ";
    const char *at = text_starts(why->text, "event [") ? strstr(why->text, before) : NULL;
    return at != NULL ? at + strlen(before) : why->text;
}

/* Written down before it leaves the queue. */
static enum rc set_aside(struct delivery *delivery, struct str event, const struct err *why)
{
    CLEANUP(buf_release) struct buf text;
    const struct clock clock = clock_real();
    const struct disk_queue *refused = &delivery->spool->refused;
    buf_init(&text, DISK_QUEUE_RECORD_MAX);
    struct jw jw = jw_to(&text);
    jw_begin(&jw, '{');
    jw_ktime(&jw, "refusedAt", clock_now_us(&clock));
    jw_kstr(&jw, "code", why->code);
    jw_kstr(&jw, "reason", reason_of(why));
    jw_kraw(&jw, "event", event);
    jw_end(&jw, '}');
    const struct str record = buf_str(&text);
    enum rc rc = disk_queue_append(refused, &record, 1, delivery->err);
    if (rc == RC_LIMIT) {
        rc = make_room(delivery);
        if (rc == RC_OK)
            rc = disk_queue_append(refused, &record, 1, delivery->err);
    }
    if (rc != RC_OK)
        return rc;
    delivery->tally->refused++;
    if (str_same(event, delivery->tally->about))
        delivery->tally->about_err = *why;
    return RC_OK;
}

/* The first event is the one that is refused. */
static enum rc refuse_first(struct delivery *delivery, const struct disk_queue_part *part,
                            const struct err *why)
{
    enum rc rc = set_aside(delivery, part->records[0], why);
    return rc == RC_OK ? disk_queue_remove(&delivery->spool->waiting, part, 1, delivery->err) : rc;
}

/*
 * A refusal that is not the server's state: with a place it is that event's, and the events before
 * it make the next call.  Without one, smaller calls find it, unless the whole call was refused for
 * its token or its address.
 */
static enum rc take_refusal(struct delivery *delivery, const struct disk_queue_part *part,
                            enum rc why_rc, const struct err *why)
{
    size_t place = 0;
    bool placed = place_of(why, part->count, &place);
    bool divisible = why_rc == RC_MALFORMED || why_rc == RC_INVALID || why_rc == RC_CONFLICT ||
                     why_rc == RC_TOO_LARGE;
    if (event_spool_is_away(why_rc) || why_rc == RC_CANCELLED || (!placed && !divisible)) {
        *delivery->err = *why;
        return why_rc;
    }
    if (part->count == 1 || (placed && place == 0))
        return refuse_first(delivery, part, why);
    if (why_rc == RC_TOO_LARGE && !placed && delivery->bytes_max / 2 >= SEND_BYTES_MIN)
        delivery->bytes_max /= 2;
    delivery->count_max = placed ? place : part->count / 2;
    return RC_OK;
}

/* Sends one part; *ret_done: nothing waits. */
static enum rc deliver_part(struct delivery *delivery, bool *ret_done)
{
    const struct disk_queue *waiting = &delivery->spool->waiting;
    const struct disk_queue_want want = {delivery->count_max, delivery->bytes_max};
    struct disk_queue_part part;
    struct err why = {0};
    arena_reset(&delivery->arena);
    enum rc rc = disk_queue_read(waiting, &want, &delivery->arena, &part, delivery->err);
    if (rc != RC_OK)
        return rc;
    *ret_done = part.count == 0;
    if (*ret_done)
        return RC_OK;
    rc = event_spool_send(delivery->cli, part.records, part.count, delivery->tally, &why);
    if (rc != RC_OK)
        return take_refusal(delivery, &part, rc, &why);
    delivery->tally->damaged_bytes += part.damaged_bytes;
    delivery->count_max = CLOUD_EVENT_BATCH_MAX;
    return disk_queue_remove(waiting, &part, part.count, delivery->err);
}

enum rc event_spool_deliver(struct cli *cli, const struct event_spool *spool, int wait_ms,
                            struct event_tally *tally, struct err *err)
{
    CLEANUP(fd_closep) int lock = -1;
    struct delivery delivery = {
        .cli = cli,
        .spool = spool,
        .tally = tally,
        .bytes_max = text_empty(getenv("DROVER_RUN_ID")) ? SEND_BYTES_MAX : AGENT_SEND_BYTES_MAX,
        .count_max = CLOUD_EVENT_BATCH_MAX,
        .err = err};
    struct disk_queue_level level = {0};
    bool done = false;
    if (!file_exists(spool->waiting.dir))
        return RC_OK;
    enum rc rc = disk_queue_lock_reader(&spool->waiting, wait_ms, &lock, err);
    if (rc == RC_BUSY)
        return err_set(err, RC_BUSY, "SPOOL_IN_USE",
                       "another process delivers the events of %.200s", spool->dir);
    while (rc == RC_OK && !done)
        rc = deliver_part(&delivery, &done);
    arena_release(&delivery.arena);
    if (rc == RC_OK)
        note_success(cli, spool);
    else if (rc != RC_CANCELLED)
        event_spool_note(cli, spool, err);
    if (disk_queue_level(&spool->waiting, &level, NULL) == RC_OK)
        tally->waiting = level.records;
    return rc;
}

enum rc event_spool_forget(const struct event_spool *spool, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const struct disk_queue_want want = {SPOOL_REFUSED_MAX, SPOOL_REFUSED_BYTES_MAX};
    struct disk_queue_part part = {.count = 1};
    enum rc rc = RC_OK;
    while (rc == RC_OK && part.count > 0) {
        arena_reset(&arena);
        rc = disk_queue_read(&spool->refused, &want, &arena, &part, err);
        if (rc == RC_OK && part.count > 0)
            rc = disk_queue_remove(&spool->refused, &part, part.count, err);
    }
    return rc;
}
