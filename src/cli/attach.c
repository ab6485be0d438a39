/*
 * attach.c - see attach.h.
 */
#include "cli/attach.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/str.h"
#include "cli/client.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { UPLOAD_TIMEOUT_MS = 10 * 60 * 1000 };

static enum rc failed(const char *path, struct err *err)
{
    return err_set(err, RC_MALFORMED, "CANNOT_READ", "cannot read %s: %s", path, strerror(errno));
}

/* The caller closes *ret_fd in any case. */
static enum rc open_file(const char *path, int *ret_fd, struct err *err)
{
    struct stat status;
    *ret_fd = open(path, O_RDONLY | O_CLOEXEC);
    if (*ret_fd < 0)
        return failed(path, err);
    if (fstat(*ret_fd, &status) != 0 || !S_ISREG(status.st_mode))
        return err_set(err, RC_MALFORMED, "CANNOT_READ", "%s is no file", path);
    return RC_OK;
}

static enum rc upload(struct cli *cli, const char *path, char sha256[SHA256_TEXT_BYTES],
                      struct err *err)
{
    CLEANUP(fd_closep) int fd = -1;
    CLEANUP(cli_answer_release) struct cli_answer answer = {0};
    enum rc rc = open_file(path, &fd, err);
    if (rc != RC_OK)
        return rc;
    struct http_file file = {.fd = fd};
    if (sha256_file(fd, sha256, &file.bytes) != RC_OK)
        return failed(path, err);
    const struct http_call call = {.method = "PUT",
                                   .path = cli_path(cli, "/v1/artifacts/", sha256, ""),
                                   .file = &file,
                                   .timeout_ms = UPLOAD_TIMEOUT_MS};
    return cli_call(cli, &call, &answer, err);
}

enum rc cli_attach(struct cli *cli, struct jw *jw, struct err *err)
{
    size_t at = 0;
    const char *path = args_next(&cli->args, "attach", &at);
    if (path == NULL)
        return RC_OK;
    jw_key(jw, "attachments");
    jw_begin(jw, '[');
    for (; path != NULL; path = args_next(&cli->args, "attach", &at)) {
        char sha256[SHA256_TEXT_BYTES];
        const char *slash = strrchr(path, '/');
        enum rc rc = upload(cli, path, sha256, err);
        if (rc != RC_OK)
            return rc;
        jw_begin(jw, '{');
        jw_kstr(jw, "name", slash != NULL ? slash + 1 : path);
        jw_kstr(jw, "sha256", sha256);
        jw_end(jw, '}');
    }
    jw_end(jw, ']');
    return RC_OK;
}
