/*
 * inside.h - the last step into the sandbox: `drover inside OPTIONS -- COMMAND...`
 *
 * bubblewrap starts this program inside the sandbox, and it becomes the command:
 *
 *     --user N         become this user, without groups or capabilities
 *     --proxy PATH     a port of the loopback that leads to this socket; HTTP_PROXY and the like
 *     --direct HOSTS   with --proxy: hosts, comma-separated, that are not to be reached by it:
 *                      NO_PROXY; the sandbox's own loopback
 *     --gate PATH      be that port, and no command
 *     --own-fd N       the descriptor by which this program was started, to be closed
 *     --nproc N        limits as of setrlimit
 *     --cpu SECONDS
 *     --fsize BYTES
 *     --nofile N
 *     --tie            die with the parent (where there is no bubblewrap)
 *     --filter         refuse system calls: filter.h (where bubblewrap has not done so already)
 *
 * Core dumps are off, and the kernel kills the command first when memory runs out.
 */
#ifndef WORK_SANDBOX_INSIDE_H
#define WORK_SANDBOX_INSIDE_H
#include <stdbool.h>

#define INSIDE_COMMAND "inside"
/* How it reports that the command could not be started, on stderr and as its exit status. */
#define INSIDE_SAYS "drover inside: "
enum { INSIDE_FAILED = 126, INSIDE_PROXY_PORT = 3128 };

/* Is this the command line of `drover inside`? */
bool inside_asked(int argc, char *const *argv);
/* Returns only when the command could not be started, with the exit status. */
int inside_main(int argc, char **argv);
#endif
