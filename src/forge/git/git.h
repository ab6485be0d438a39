/*
 * git.h - the one place that runs git.
 *
 * git runs with an environment of its own: no system or user configuration, no prompts, no hooks,
 * no remote helpers that run commands.  It must never run outside a sandbox in a repository that
 * an agent could write to: a planted .git/config names programs that git starts.
 *
 * The address of a remote may hold a password: it travels in the environment, never in argv and
 * never into a file, and texts for people show it as ***.  So does the credential, which git asks
 * for when the host of the remote demands one; no other host, to which that one may redirect, gets
 * it.
 */
#ifndef FORGE_GIT_GIT_H
#define FORGE_GIT_GIT_H
#include "base/arena.h"
#include "base/buf.h"
#include "base/rc.h"
#include "base/str.h"
#include <stdatomic.h>
#include <stdint.h>

enum { GIT_HASH_BYTES = 65, GIT_TEXT_MAX = 64 * 1024 };
/* What one git may allocate: bytes of an agent may unpack to any size.  The second is for commands
   that read nothing but such bytes. */
#define GIT_MEMORY_MAX   (INT64_C(8) << 30)
#define GIT_MEMORY_SMALL (INT64_C(1) << 30)

/* Another credential in place of one that the remote has refused: a token may be revoked before it
   ends. */
struct git_renewal {
    /* RC_OK: *ret_credential is to be used from now on, and lives as long as ctx.  Else there is no
       other, and the refusal stands.  Called once for each call that is refused. */
    enum rc (*renew)(void *ctx, const char *refused, const char **ret_credential);
    void *ctx;
};

/* Who runs git, and for how long.  Zeroed is fine: no home, no cancel, no deadline. */
struct git {
    const char *home;                  /* From git_home_make, or NULL. */
    const char *credential;            /* Token for "origin" over http or https; NULL: none. */
    const struct git_renewal *renewal; /* NULL: there is no other credential. */
    const atomic_int *cancel;          /* Non-zero stops it; may be NULL. */
    int64_t deadline_us;               /* By clock_mono_us; 0: none. */
};

struct git_call {
    const char *git_dir;     /* Bare repository, or NULL. */
    const char *dir;         /* Directory to run in, or NULL. */
    const char *const *args; /* Without "git"; NULL-terminated. */
    const char *const *env;  /* Further NAME=value, NULL-terminated; may be NULL. */
    const char *origin;      /* Address of the remote "origin", or NULL. */
    struct str input;
    int input_fd;         /* In place of input; 0: none. */
    int64_t memory_bytes; /* What it may allocate; 0: GIT_MEMORY_MAX. */
    bool unchecked;       /* Fetches what we have made ourselves: a few objects stay loose. */
    bool durable;         /* Syncs the contents of what it writes; see origin.h for names. */
    struct buf *out;      /* stdout; NULL drops it. */
    struct buf *words;    /* stderr as it is, for callers that parse it; may be NULL. */
};
#define GIT_ARGS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* The home of git: empty but for the configuration that the serving side of a local fetch needs. */
MUST_USE enum rc git_home_make(const char *home, struct err *err);

/* RC_OK: exit status 0.  RC_IO, code GIT_FAILED: git failed, the text has its message.
   RC_UNAUTHORIZED, code GIT_UNAUTHORIZED: the remote refused the credential. */
MUST_USE enum rc git_run(const struct git *git, const struct git_call *call, struct err *err);
/* The same for commands whose exit status is an answer: RC_OK for 0 and 1. */
MUST_USE enum rc git_ask(const struct git *git, const struct git_call *call, int *ret_status,
                         struct err *err);
/* One line of answer, such as a hash.  call->out is not used. */
MUST_USE enum rc git_line(const struct git *git, const struct git_call *call, struct arena *arena,
                          const char **ret_line, struct err *err);

/* A credential in place of git->credential, which the remote has refused.  false: there is none. */
bool git_renew(const struct git *git, const char **ret_credential);

/* The environment of a git that runs elsewhere, in a sandbox. */
const char **git_env(const struct git *git, const struct git_call *call, struct arena *arena);

/* A new bare repository of its own that borrows the objects of another. */
MUST_USE enum rc git_borrow(const char *lender, const char *path, struct err *err);
/* The same with a configuration of its own, such as that of a directory .git. */
struct git_loan {
    const char *lender, *path;
    const char *config;   /* The text of the file. */
    bool for_other_users; /* They may read it, where they can reach it. */
};
MUST_USE enum rc git_borrow_as(const struct git_loan *loan, struct err *err);

/* An exclusive lock on a file, made when missing, waited for as long as git may run.
   Closing the descriptor gives it back. */
MUST_USE enum rc git_lock(const struct git *git, const char *path, int *ret_fd, struct err *err);

bool git_hash_valid(const char *text); /* 40 or 64 lower-case hex digits. */
bool git_over_http(const char *url);
/* Blanks out user and password of addresses inside the text. */
void git_redact(char *text);
/* Puts blanks in place of line ends and control characters: git quotes names of files as they are.
   */
void git_clean(char *text);

/* For git commit-tree: drover as author and committer, and both dates, so that the same input makes
   the same commit. */
const char *const *git_author_env(int64_t time_us, struct arena *arena);
#endif
