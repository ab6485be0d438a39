#include "server/audit_anchor.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/signature.h"
#include "net/http_client.h"
#include "net/url.h"
#include "store/audit.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TICK_MS = 1000, WEBHOOK_MS = 10000, NOTE_FILE_MODE = 0644, ANSWER_BYTES_MAX = 64 * 1024 };
#define RETRY_US (30 * US_PER_SECOND) /* After a failure, and at least every_us. */

struct audit_anchor {
    struct api *api;
    struct buf private_pem;
    struct event *tick;
    struct pool_work work;
    atomic_bool asked;           /* The work is in progress; what follows is its own then. */
    int64_t file_seq;            /* Of the newest note in the file, */
    int64_t webhook_seq;         /* and of the newest one that the webhook has accepted. */
    bool failed;                 /* The last try; logged once. */
    atomic_int_fast64_t next_us; /* On the monotonic clock: the next try. */
};

/* ---- where notes go ---- */

static enum rc failed(const char *what, const char *path, struct err *err)
{
    return err_set(err, RC_IO, "IO_ERROR", "cannot %s %.300s: %s", what, path, strerror(errno));
}

/* A line of its own, whole or not at all.  Where the disk only takes appends, part of a line can
   stay: the next note begins another one. */
static enum rc append(const char *path, struct str line, struct err *err)
{
    struct stat status;
    char last = '\n';
    /* O_NONBLOCK: to open a FIFO would wait for its reader. */
    const int flags = O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
    CLEANUP(fd_closep) int fd = open(path, flags, NOTE_FILE_MODE);
    if (fd < 0 || fstat(fd, &status) != 0)
        return failed("open", path, err);
    if (!S_ISREG(status.st_mode))
        return err_set(err, RC_IO, "IO_ERROR", "%.300s is not a regular file", path);
    if (status.st_size > 0 && pread(fd, &last, 1, status.st_size - 1) != 1)
        return failed("read", path, err);
    enum rc rc = last != '\n' ? fd_write_all(fd, "\n", 1, err) : RC_OK;
    if (rc == RC_OK)
        rc = fd_write_all(fd, line.at, line.len, err);
    if (rc == RC_OK && fsync(fd) != 0)
        rc = failed("write", path, err);
    if (rc != RC_OK && ftruncate(fd, status.st_size) == 0)
        (void)fsync(fd);
    return rc;
}

static enum rc post(const char *webhook, struct str line, const atomic_int *stop, struct err *err)
{
    CLEANUP(http_client_freep) struct http_client *client = NULL;
    CLEANUP(buf_release) struct buf answer;
    struct url url;
    char path[URL_PREFIX_BYTES], text[URL_TEXT_BYTES];
    struct http_reply reply;
    buf_init(&answer, ANSWER_BYTES_MAX);
    enum rc rc = url_parse(webhook, &url, err);
    if (rc != RC_OK)
        return rc;
    text_copy(path, sizeof path, url.prefix[0] != '\0' ? url.prefix : "/");
    url.prefix[0] = '\0';
    rc = http_client_new(
        &(struct http_client_options){.url = url_format(text, &url), .timeout_ms = WEBHOOK_MS},
        &client, err);
    if (rc != RC_OK)
        return rc;
    const struct http_call call = {.method = "POST", .path = path, .body = line, .stop = stop};
    return http_client_call(client, &call, &answer, &reply, err);
}

/* ---- one note ---- */

static enum rc make_note(struct audit_anchor *anchor, const struct audit_mark *head,
                         struct buf *line, struct err *err)
{
    struct clock clock = control_clock(anchor->api->control);
    const struct audit_note note = {.mark = *head, .time_us = clock_now_us(&clock)};
    char text[AUDIT_NOTE_BYTES], signature[SIGNATURE_TEXT_BYTES];
    audit_note_text(&note, text);
    enum rc rc = signature_make(buf_str(&anchor->private_pem), str_of(text), signature, err);
    if (rc == RC_OK)
        audit_note_write(line, text, signature);
    return rc;
}

/* To the file and to the webhook, to each once, though the other one fails. */
static enum rc write_note(struct audit_anchor *anchor, const struct audit_mark *head,
                          struct err *err)
{
    const struct audit_anchor_config *config = &anchor->api->audit_anchor;
    bool to_file = config->file != NULL && head->seq != anchor->file_seq;
    bool to_webhook = config->webhook != NULL && head->seq != anchor->webhook_seq;
    struct err away = {0};
    CLEANUP(buf_release) struct buf line;
    buf_init(&line, AUDIT_NOTE_LINE_MAX);
    enum rc rc = to_file || to_webhook ? make_note(anchor, head, &line, err) : RC_OK, posted = rc;
    if (rc == RC_OK && to_file)
        rc = append(config->file, buf_str(&line), err);
    if (rc == RC_OK && to_file)
        anchor->file_seq = head->seq;
    if (posted == RC_OK && to_webhook)
        posted = post(config->webhook, buf_str(&line), &anchor->api->stopping, &away);
    if (posted == RC_OK && to_webhook)
        anchor->webhook_seq = head->seq;
    if (rc == RC_OK && posted != RC_OK)
        *err = away;
    return rc == RC_OK ? posted : rc;
}

static enum rc anchor_head(struct audit_anchor *anchor, struct db *db, struct err *err)
{
    struct timers_state timers;
    struct audit_mark head;
    control_timers(anchor->api->control, &timers);
    if (!timers.here)
        return RC_OK;
    enum rc rc = audit_head(db, &head, err);
    if (rc == RC_OK && head.seq < anchor->file_seq)
        LOG(LOG_ERROR, "the audit log ends before its newest note: drover audit verify",
            LOG_INT("lastSeq", head.seq), LOG_INT("noted", anchor->file_seq));
    return rc == RC_OK ? write_note(anchor, &head, err) : rc;
}

/* On a pool thread. */
static void run_anchor(struct pool_work *work, struct db *db)
{
    struct audit_anchor *anchor = (struct audit_anchor *)((char *)work -
                                                          offsetof(struct audit_anchor, work));
    struct err err = {0};
    int64_t wait_us = anchor->api->audit_anchor.every_us;
    enum rc rc = anchor_head(anchor, db, &err);
    if (rc != RC_OK && !anchor->failed)
        LOG(LOG_WARN, "the audit log could not be anchored; trying again",
            LOG_STR("code", err.code), LOG_STR("error", err.text));
    if (rc == RC_OK && anchor->failed)
        LOG(LOG_INFO, "the audit log is anchored again");
    anchor->failed = rc != RC_OK;
    if (anchor->failed && wait_us > RETRY_US)
        wait_us = RETRY_US;
    atomic_store(&anchor->next_us, clock_mono_us() + wait_us);
    atomic_store(&anchor->asked, false);
}

static void on_tick(void *arg)
{
    struct audit_anchor *anchor = arg;
    if (clock_mono_us() < atomic_load(&anchor->next_us) || atomic_exchange(&anchor->asked, true))
        return;
    anchor->work = (struct pool_work){.run = run_anchor, .class = POOL_SLOW};
    if (pool_post(anchor->api->pool, &anchor->work) != RC_OK)
        atomic_store(&anchor->asked, false);
}

/* ---- start ---- */

static enum rc read_key(struct audit_anchor *anchor, struct arena *arena, struct err *err)
{
    struct audit_anchor_config *config = &anchor->api->audit_anchor;
    CLEANUP(buf_release) struct buf public_pem;
    buf_init(&public_pem, SIGNATURE_PEM_MAX);
    enum rc rc = file_read(config->key, &anchor->private_pem, err);
    if (rc == RC_OK)
        rc = signature_public(buf_str(&anchor->private_pem), &public_pem, err);
    if (rc != RC_OK)
        return err_wrap(err, rc, "audit.anchor.key");
    config->public_pem = str_of(arena_strdup(arena, buf_text(&public_pem)));
    return RC_OK;
}

/* The row that the newest note of the file names; 0: there is none. */
static int64_t last_noted(const struct audit_anchor_config *config)
{
    CLEANUP(buf_release) struct buf text;
    CLEANUP(arena_release) struct arena arena = {0};
    struct audit_notes notes = {0};
    struct err err = {0};
    buf_init(&text, AUDIT_NOTES_BYTES_MAX);
    if (config->file == NULL || file_read(config->file, &text, &err) != RC_OK ||
        audit_notes_parse(buf_str(&text), (struct str){0}, &arena, &notes, &err) != RC_OK)
        return 0;
    return notes.count > 0 ? notes.items[notes.count - 1].mark.seq : 0;
}

enum rc audit_anchor_start(struct api *api, struct arena *arena, struct audit_anchor **ret_anchor,
                           struct err *err)
{
    *ret_anchor = NULL;
    if (api->audit_anchor.key == NULL)
        return RC_OK;
    struct audit_anchor *anchor = mem_alloc(sizeof *anchor);
    anchor->api = api;
    buf_init(&anchor->private_pem, SIGNATURE_PEM_MAX);
    enum rc rc = read_key(anchor, arena, err);
    if (rc != RC_OK) {
        audit_anchor_free(anchor);
        return rc;
    }
    anchor->file_seq = last_noted(&api->audit_anchor);
    anchor->tick = loop_every(api->loop, TICK_MS, on_tick, anchor);
    *ret_anchor = anchor;
    return RC_OK;
}

void audit_anchor_free(struct audit_anchor *anchor)
{
    if (anchor == NULL)
        return;
    loop_event_free(anchor->tick);
    if (anchor->private_pem.data != NULL)
        explicit_bzero(anchor->private_pem.data, anchor->private_pem.len);
    buf_release(&anchor->private_pem);
    mem_free(anchor);
}
