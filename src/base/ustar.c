#include "base/ustar.h"
#include "base/fd.h"
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { COPY_BYTES = 64 * 1024 };
static const int64_t member_bytes_max = INT64_C(0777777777777); /* 11 octal digits */

struct header {
    char name[USTAR_NAME_MAX];
    char mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8];
    char type;
    char linkname[100];
    char magic[6], version[2];
    char uname[32], gname[32], devmajor[8], devminor[8], prefix[155], rest[12];
};
_Static_assert(sizeof(struct header) == USTAR_BLOCK, "the header is one block");

void ustar_open(struct ustar *tar, int fd, int64_t mtime_s, int64_t bytes_max)
{
    *tar = (struct ustar){
        .fd = fd, .mtime_s = mtime_s > 0 ? mtime_s : 0, .bytes_max = bytes_max, .header_at = -1};
}

void ustar_release(struct ustar *tar)
{
    sha256_discard(tar->sha);
    tar->sha = NULL;
}

static enum rc append(struct ustar *tar, struct str bytes, struct err *err)
{
    if ((int64_t)bytes.len > tar->bytes_max - tar->bytes)
        return err_set(err, RC_TOO_LARGE, "ARCHIVE_TOO_LARGE",
                       "the archive would have more than %lld bytes", (long long)tar->bytes_max);
    enum rc rc = fd_write_all(tar->fd, bytes.at, bytes.len, err);
    if (rc == RC_OK)
        tar->bytes += (int64_t)bytes.len;
    return rc;
}

enum rc ustar_begin(struct ustar *tar, const char *name, struct err *err)
{
    static const char blank[USTAR_BLOCK];
    assert(tar->header_at < 0);
    size_t len = strlen(name);
    if (len == 0 || len > USTAR_NAME_MAX)
        return err_set(err, RC_INVALID, "INVALID_NAME", "%.120s cannot be the name of a member",
                       name);
    int64_t at = tar->bytes;
    enum rc rc = append(tar, (struct str){blank, sizeof blank}, err);
    if (rc != RC_OK)
        return rc;
    text_copy(tar->name, sizeof tar->name, name);
    tar->header_at = at;
    tar->sha = sha256_begin();
    return RC_OK;
}

enum rc ustar_add(struct ustar *tar, struct str bytes, struct err *err)
{
    assert(tar->header_at >= 0);
    sha256_add(tar->sha, bytes.at, bytes.len);
    return append(tar, bytes, err);
}

enum rc ustar_add_file(struct ustar *tar, int fd, struct err *err)
{
    char bytes[COPY_BYTES];
    for (;;) {
        ssize_t got = read(fd, bytes, sizeof bytes);
        if (got == 0)
            return RC_OK;
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return err_set(err, RC_IO, "IO_ERROR", "cannot read %s: %s", tar->name,
                           strerror(errno));
        enum rc rc = ustar_add(tar, (struct str){bytes, (size_t)got}, err);
        if (rc != RC_OK)
            return rc;
    }
}

static void put_octal(char *to, size_t width, int64_t value)
{
    char text[24];
    (void)snprintf(text, sizeof text, "%0*llo", (int)width - 1, (unsigned long long)value);
    memcpy(to, text, width - 1);
}

static void fill_header(struct header *header, const struct ustar *tar, int64_t bytes)
{
    *header = (struct header){.type = '0', .magic = "ustar", .version = {'0', '0'}};
    memcpy(header->name, tar->name, strlen(tar->name));
    put_octal(header->mode, sizeof header->mode, 0644);
    put_octal(header->uid, sizeof header->uid, 0);
    put_octal(header->gid, sizeof header->gid, 0);
    put_octal(header->size, sizeof header->size, bytes);
    put_octal(header->mtime, sizeof header->mtime, tar->mtime_s);
    memset(header->checksum, ' ', sizeof header->checksum);
    const unsigned char *at = (const unsigned char *)header;
    unsigned sum = 0;
    for (size_t i = 0; i < sizeof *header; i++)
        sum += at[i];
    put_octal(header->checksum, sizeof header->checksum - 1, sum); /* "123456\0 " */
    header->checksum[sizeof header->checksum - 2] = '\0';
}

enum rc ustar_end(struct ustar *tar, struct ustar_member *ret_member, struct err *err)
{
    static const char blank[USTAR_BLOCK];
    assert(tar->header_at >= 0);
    struct header header;
    struct ustar_member member = {.bytes = tar->bytes - tar->header_at - USTAR_BLOCK};
    size_t behind = (size_t)(member.bytes % USTAR_BLOCK);
    if (member.bytes > member_bytes_max)
        return err_set(err, RC_TOO_LARGE, "ARCHIVE_TOO_LARGE", "%s is too large", tar->name);
    enum rc rc = behind > 0 ? append(tar, (struct str){blank, USTAR_BLOCK - behind}, err) : RC_OK;
    if (rc != RC_OK)
        return rc;
    fill_header(&header, tar, member.bytes);
    if (pwrite(tar->fd, &header, sizeof header, tar->header_at) != (ssize_t)sizeof header)
        return err_set(err, RC_IO, "IO_ERROR", "cannot write the archive: %s", strerror(errno));
    sha256_end(tar->sha, member.sha256);
    tar->sha = NULL;
    tar->header_at = -1;
    *ret_member = member;
    return RC_OK;
}

enum rc ustar_finish(struct ustar *tar, struct err *err)
{
    static const char blank[2 * USTAR_BLOCK];
    assert(tar->header_at < 0);
    return append(tar, (struct str){blank, sizeof blank}, err);
}
