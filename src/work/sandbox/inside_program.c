#include "work/sandbox/inside_program.h"
#include "base/fd.h"
#include "base/rc.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>

#ifndef INSIDE_PROGRAM
#error "INSIDE_PROGRAM is the path of the program that was made of src/inside.c"
#endif
#ifndef MFD_EXEC /* Newer than the headers of Debian 12. */
#define MFD_EXEC 0x0010U
#endif

__asm__(".pushsection .rodata\n"
        ".balign 16\n"
        "inside_program_first:\n"
        ".incbin \"" INSIDE_PROGRAM "\"\n"
        "inside_program_end:\n"
        ".popsection\n");
extern const char inside_program_first[], inside_program_end[];

static int program_fd; /* 0: none */

/* A kernel since 6.3 may refuse those that do not say whether they are to be executed; an older one
   does not know the flag. */
static int make_file(void)
{
    const unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
    int fd = memfd_create("drover-inside", flags | MFD_EXEC);
    return fd < 0 && errno == EINVAL ? memfd_create("drover-inside", flags) : fd;
}

static void load(void)
{
    CLEANUP(fd_closep) int fd = make_file();
    struct err err = {0};
    size_t len = (size_t)(inside_program_end - inside_program_first);
    if (fd <= 0 || fd_write_all(fd, inside_program_first, len, &err) != RC_OK ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) != 0)
        return;
    program_fd = fd;
    fd = -1;
}

int inside_program_fd(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, load);
    return program_fd;
}
