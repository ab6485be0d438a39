#include "work/sandbox/logins.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/js.h"
#include "base/log.h"
#include "base/str.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NOTES_BYTES_MAX = 16 * 1024 };

/* ---- files ---- */

/* A file below a directory that an agent has had: no component may be a link. */
static enum rc read_hostile(const char *home, const char *path, struct buf *into)
{
    const int directory = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    const int file = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
    CLEANUP(fd_closep) int fd = open(home, directory);
    char name[NAME_MAX + 1];
    for (const char *at = path; fd >= 0;) {
        size_t len = strcspn(at, "/");
        bool last = at[len] == '\0';
        text_copy(name, (len < sizeof name ? len : sizeof name - 1) + 1, at);
        int next = openat(fd, name, last ? file : directory);
        fd_close(fd);
        fd = next;
        if (last)
            break;
        at += len + 1;
    }
    return fd_read_regular(fd, into);
}

static const char *in_account(const struct logins *logins, const char *path, struct arena *arena)
{
    return arena_printf(arena, "%s/%s", logins->account, path);
}

bool login_present(const char *account, const struct agent_login *login)
{
    char path[PATH_MAX];
    struct stat status;
    int len = snprintf(path, sizeof path, "%s/%s", account, login->path);
    return len > 0 && (size_t)len < sizeof path && stat(path, &status) == 0 &&
           S_ISREG(status.st_mode) && status.st_size > 0;
}

/* Replaces the file, with its mode and owner. */
static enum rc replace(const char *path, struct str text, struct err *err)
{
    char real[PATH_MAX], temporary[PATH_MAX];
    struct stat status;
    if (realpath(path, real) == NULL || stat(real, &status) != 0)
        return err_set(err, RC_IO, "IO_ERROR", "%.300s: %s", path, strerror(errno));
    int len = snprintf(temporary, sizeof temporary, "%s.XXXXXX", real);
    CLEANUP(fd_closep)
    int fd = len > 0 && (size_t)len < sizeof temporary ? mkostemp(temporary, O_CLOEXEC) : -1;
    if (fd < 0)
        return err_set(err, RC_IO, "IO_ERROR", "cannot write beside %.300s: %s", real,
                       strerror(errno));
    enum rc rc = fd_write_all(fd, text.at, text.len, err);
    bool other = status.st_uid != geteuid() || status.st_gid != getegid();
    if (rc == RC_OK && (fchmod(fd, status.st_mode & 07777) != 0 ||
                        (other && fchown(fd, status.st_uid, status.st_gid) != 0)))
        rc = err_set(err, RC_IO, "IO_ERROR", "cannot give %.300s its owner: %s", real,
                     strerror(errno));
    if (rc == RC_OK)
        rc = file_put_in_place(fd, temporary, real, err);
    if (rc != RC_OK)
        (void)unlink(temporary);
    return rc;
}

/* ---- notes: "<sha256 in the home> <sha256 in the account> <path>" ---- */

struct note {
    char home[SHA256_TEXT_BYTES], account[SHA256_TEXT_BYTES];
};

static const char *notes_path(const char *home, struct arena *arena)
{
    return arena_printf(arena, "%s.logins", home);
}

bool logins_taken(const struct logins *logins)
{
    CLEANUP(arena_release) struct arena arena = {0};
    return file_exists(notes_path(logins->home, &arena));
}

enum rc logins_forget(const char *home, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const char *path = notes_path(home, &arena);
    if (unlink(path) != 0 && errno != ENOENT)
        return err_set(err, RC_IO, "IO_ERROR", "cannot remove %.300s: %s", path, strerror(errno));
    return RC_OK;
}

/* false: there is none for this file. */
static bool find_note(struct str notes, const char *path, struct note *ret)
{
    struct str line;
    size_t hash = SHA256_TEXT_BYTES - 1;
    while (str_take_line(&notes, &line)) {
        if (line.len <= 2 * (hash + 1) ||
            !str_is((struct str){line.at + 2 * (hash + 1), line.len - 2 * (hash + 1)}, path))
            continue;
        text_copy(ret->home, sizeof ret->home, line.at);
        text_copy(ret->account, sizeof ret->account, line.at + hash + 1);
        return true;
    }
    return false;
}

static void add_note(struct buf *notes, const char *path, const struct note *note)
{
    buf_addf(notes, "%s %s %s\n", note->home, note->account, path);
}

/* ---- to the run ---- */

static enum rc copy_one(const struct logins *logins, const char *path, struct str text,
                        struct arena *arena, struct err *err)
{
    const char *to = arena_printf(arena, "%s/%s", logins->home, path);
    const char *slash = strrchr(to, '/');
    enum rc rc = dir_make(arena_strndup(arena, to, (size_t)(slash - to)), 0700, err);
    return rc == RC_OK ? file_write_durable(to, text.at, text.len, 0600, err) : rc;
}

/* A file that cannot be read is one that is not there: the agent reports what it misses. */
static enum rc take_one(const struct logins *logins, const struct agent_login *login, bool copy,
                        struct buf *notes, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    CLEANUP(buf_release) struct buf text;
    struct note note;
    buf_init(&text, LOGIN_BYTES_MAX);
    if (file_read(in_account(logins, login->path, &arena), &text, NULL) != RC_OK)
        return RC_OK;
    sha256_hex(buf_text(&text), text.len, note.home);
    sha256_hex(buf_text(&text), text.len, note.account);
    add_note(notes, login->path, &note);
    return copy ? copy_one(logins, login->path, buf_str(&text), &arena, err) : RC_OK;
}

enum rc logins_take(const struct logins *logins, bool copy, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    CLEANUP(buf_release) struct buf notes;
    buf_init(&notes, NOTES_BYTES_MAX);
    enum rc rc = RC_OK;
    for (const struct agent_login *each = logins->list; rc == RC_OK && each->path != NULL; each++)
        rc = take_one(logins, each, copy, &notes, err);
    if (rc != RC_OK)
        return rc;
    return file_write_durable(notes_path(logins->home, &arena), buf_text(&notes), notes.len, 0600,
                              err);
}

void logins_secrets(const struct logins *logins, struct arena *arena, struct secrets *secrets)
{
    for (const struct agent_login *each = logins->list; each->path != NULL; each++) {
        CLEANUP(buf_release) struct buf text;
        CLEANUP(js_freep) struct js *tree = NULL;
        buf_init(&text, LOGIN_BYTES_MAX);
        if (each->refreshed == NULL ||
            file_read(in_account(logins, each->path, arena), &text, NULL) != RC_OK ||
            js_parse(buf_text(&text), text.len, &tree, NULL) != RC_OK)
            continue;
        for (size_t i = 0; each->refreshed[i] != NULL; i++) {
            const char *value = js_str(js_path(tree, each->refreshed[i]), NULL);
            secrets_add(secrets, "login", arena_strdup(arena, value));
        }
    }
}

/* ---- back from the run ---- */

static void log_back(enum log_level level, const char *what, const char *path, const char *why,
                     const char *run_id)
{
    LOG(level, what, LOG_STR("file", path), LOG_STR("error", why), LOG_STR("runId", run_id));
}

/* The account's file as it is now; false: it is not as it was when the run took it. */
static bool account_is_as_noted(const char *path, const struct note *note, struct buf *text)
{
    char hash[SHA256_TEXT_BYTES];
    if (file_read(path, text, NULL) != RC_OK)
        return false;
    sha256_hex(buf_text(text), text->len, hash);
    return strcmp(hash, note->account) == 0;
}

/* Updates the note for what was copied back. */
static void give_one(const struct logins *logins, const struct agent_login *login,
                     const char *run_id, struct note *note)
{
    CLEANUP(arena_release) struct arena arena = {0};
    CLEANUP(buf_release) struct buf had, has;
    const char *path = in_account(logins, login->path, &arena), *why = "";
    struct note now = *note;
    struct str text;
    struct err err = {0};
    buf_init(&had, LOGIN_BYTES_MAX);
    buf_init(&has, LOGIN_BYTES_MAX);
    if (read_hostile(logins->home, login->path, &has) != RC_OK)
        return;
    sha256_hex(buf_text(&has), has.len, now.home);
    if (strcmp(now.home, note->home) == 0)
        return;
    if (!account_is_as_noted(path, note, &had)) {
        log_back(LOG_INFO, "a login has changed elsewhere: that of a run is not copied back", path,
                 "", run_id);
        return;
    }
    switch (login_merge(login, buf_str(&had), buf_str(&has), &arena, &text, &why)) {
    case LOGIN_SAME:
        break;
    case LOGIN_REFUSED:
        log_back(LOG_WARN, "a login that an agent has changed is not copied back", path, why,
                 run_id);
        return;
    case LOGIN_REFRESHED:
        if (replace(path, text, &err) != RC_OK) {
            log_back(LOG_WARN, "a refreshed login cannot be copied back", path, err.text, run_id);
            return;
        }
        sha256_hex(text.at, text.len, now.account);
        log_back(LOG_INFO, "a login that an agent has refreshed is copied back", path, "", run_id);
        break;
    }
    *note = now;
}

void logins_give_back(const struct logins *logins, const char *run_id)
{
    CLEANUP(arena_release) struct arena arena = {0};
    CLEANUP(buf_release) struct buf notes, updated;
    buf_init(&notes, NOTES_BYTES_MAX);
    buf_init(&updated, NOTES_BYTES_MAX);
    const char *path = notes_path(logins->home, &arena);
    /* Of two runs that end at the same time the second sees what the first has written. */
    CLEANUP(fd_closep) int lock = open(logins->account, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (lock < 0 || flock(lock, LOCK_EX) != 0 || file_read(path, &notes, NULL) != RC_OK)
        return;
    for (const struct agent_login *each = logins->list; each->path != NULL; each++) {
        struct note note;
        if (!find_note(buf_str(&notes), each->path, &note))
            continue;
        if (each->refreshed != NULL)
            give_one(logins, each, run_id, &note);
        add_note(&updated, each->path, &note);
    }
    struct err err = {0};
    if (file_write_durable(path, buf_text(&updated), updated.len, 0600, &err) != RC_OK)
        log_back(LOG_WARN, "what was copied back cannot be noted", path, err.text, run_id);
}
