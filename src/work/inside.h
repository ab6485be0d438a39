/*
 * inside.h - the last step into the sandbox: `drover inside OPTIONS -- COMMAND...`
 *
 * bubblewrap starts this program behind the walls, and it becomes the command:
 *
 *     --user N         become this user, without groups or capabilities
 *     --proxy PATH     a port of the loopback that leads to this socket; HTTP_PROXY and the like
 *     --gate PATH      be that port, and no command
 *     --nproc N        limits as of setrlimit
 *     --cpu SECONDS
 *     --fsize BYTES
 *     --nofile N
 *     --tie            die with the parent (where there is no bubblewrap)
 *     --filter         refuse system calls: filter.h (where bubblewrap has not done so already)
 *
 * Core dumps are off, and the kernel takes the command first when memory runs out.
 */
#ifndef WORK_INSIDE_H
#define WORK_INSIDE_H
#include <stdbool.h>

#define INSIDE_COMMAND "inside"
/* How it says that the command could not be started, on stderr and as its exit status. */
#define INSIDE_SAYS "drover inside: "
enum { INSIDE_FAILED = 126, INSIDE_PROXY_PORT = 3128 };

/* Does this command line ask for it? */
bool inside_asked(int argc, char *const *argv);
/* Comes back only when the command could not be started, with the exit status. */
int inside_main(int argc, char **argv);
#endif
