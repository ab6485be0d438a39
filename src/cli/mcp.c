/*
 * mcp.c - the Model Context Protocol on standard input and output, for a client that starts it.
 *
 *     stdin   one JSON-RPC message a line --> mcp_link.c --> POST /mcp of a drover server
 *     stdout  one JSON-RPC message a line, and nothing else ever
 *     stderr  what went wrong, for people
 *
 * One thread that waits for the client and for all its requests at once.  It ends when the client
 * closes stdin or stdout, or with SIGTERM; requests under way are then closed.  A server that is
 * away is an error of one request, not the end: the next one is tried anew.
 */
#include "base/fd.h"
#include "cli/client.h"
#include "cli/command.h"
#include "cli/mcp_link.h"
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

enum {
    LINE_BYTES_MAX = 16 * 1024 * 1024,
    READ_BYTES = 64 * 1024,
    /* While so much waits for a client that does not read, nothing more is read for it. */
    OUT_BYTES_HIGH = 1024 * 1024,
    /* One step of 64 requests may add an answer of 64 MiB each. */
    OUT_MIB_MAX = 4200,
    LAST_WORDS_MS = 2000 /* For a client that has closed stdin and reads on. */
};

struct bridge {
    struct mcp_link *link;
    int signal_fd;
    struct buf line; /* Begun, without its end. */
    bool too_long;   /* The rest of this line is skipped. */
    struct buf out;  /* Whole lines. */
    size_t out_at;   /* So much of it is written. */
    bool in_ended, out_ended;
    int signal; /* That ends it; 0: none came. */
};

/* ---- in ---- */

static void take_line(struct bridge *bridge)
{
    const char *text = buf_text(&bridge->line);
    if (bridge->too_long)
        mcp_link_refuse(bridge->link, "a message may hold at most 16 MiB");
    else if (text[strspn(text, " \t\r")] != '\0' || strlen(text) != bridge->line.len)
        mcp_link_take(bridge->link, buf_str(&bridge->line));
    bridge->too_long = false;
    buf_clear(&bridge->line);
}

static void take_input(struct bridge *bridge)
{
    char bytes[READ_BYTES];
    ssize_t got = read(STDIN_FILENO, bytes, sizeof bytes);
    if (got < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    bridge->in_ended = got <= 0;
    const char *at = bytes, *end = bytes + (got > 0 ? got : 0);
    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const char *stop = newline != NULL ? newline : end;
        if (!bridge->too_long)
            buf_add(&bridge->line, at, (size_t)(stop - at));
        if (bridge->line.overflow) {
            bridge->too_long = true;
            buf_release(&bridge->line);
            buf_init(&bridge->line, LINE_BYTES_MAX);
        }
        if (newline != NULL)
            take_line(bridge);
        at = stop + 1;
    }
}

/* ---- out ---- */

static size_t out_left(const struct bridge *bridge)
{
    return bridge->out.len - bridge->out_at;
}

/*
 * After poll found room.  At most PIPE_BUF bytes: so much a pipe takes without blocking then, and
 * O_NONBLOCK would stay on for the other processes that share stdout.
 */
static void write_some(struct bridge *bridge)
{
    size_t len = out_left(bridge);
    len = len < PIPE_BUF ? len : PIPE_BUF;
    ssize_t done = write(STDOUT_FILENO, bridge->out.data + bridge->out_at, len);
    if (done < 0 && errno != EINTR && errno != EAGAIN)
        bridge->out_ended = true;
    bridge->out_at += done > 0 ? (size_t)done : 0;
    if (bridge->out_at == bridge->out.len) {
        bridge->out_at = 0;
        if (bridge->out.room > OUT_BYTES_HIGH) { /* A large answer is not kept for ever. */
            size_t max_bytes = bridge->out.max_bytes;
            buf_release(&bridge->out);
            buf_init(&bridge->out, max_bytes);
        }
        buf_clear(&bridge->out);
    }
}

static void write_ready(struct bridge *bridge, int timeout_ms)
{
    struct pollfd look = {.fd = STDOUT_FILENO, .events = POLLOUT};
    while (out_left(bridge) > 0 && !bridge->out_ended && poll(&look, 1, timeout_ms) > 0) {
        if (look.revents & POLLOUT)
            write_some(bridge);
        else
            bridge->out_ended = true;
    }
}

/* ---- the loop ---- */

static void take_signal(struct bridge *bridge)
{
    struct signalfd_siginfo info;
    if (read(bridge->signal_fd, &info, sizeof info) == (ssize_t)sizeof info)
        bridge->signal = (int)info.ssi_signo;
}

enum { LOOK_SIGNAL, LOOK_OUT, LOOK_IN, LOOK_COUNT };

static void turn(struct bridge *bridge)
{
    bool full = out_left(bridge) > OUT_BYTES_HIGH;
    struct pollfd looks[LOOK_COUNT] = {
        [LOOK_SIGNAL] = {.fd = bridge->signal_fd, .events = POLLIN},
        [LOOK_OUT] = {.fd = out_left(bridge) > 0 ? STDOUT_FILENO : -1, .events = POLLOUT},
        [LOOK_IN] = {.fd = full ? -1 : STDIN_FILENO, .events = POLLIN},
    };
    if (full)
        (void)poll(looks, LOOK_COUNT, -1);
    else
        mcp_link_wait(bridge->link, looks, LOOK_COUNT);
    if (looks[LOOK_SIGNAL].revents != 0)
        take_signal(bridge);
    if (looks[LOOK_OUT].revents != 0)
        write_ready(bridge, 0);
    if (looks[LOOK_IN].revents != 0)
        take_input(bridge);
    if (out_left(bridge) <= OUT_BYTES_HIGH)
        mcp_link_step(bridge->link);
}

static int open_signals(void)
{
    sigset_t signals;
    (void)sigemptyset(&signals);
    (void)sigaddset(&signals, SIGTERM);
    (void)sigaddset(&signals, SIGINT);
    (void)sigaddset(&signals, SIGHUP);
    (void)sigprocmask(SIG_BLOCK, &signals, NULL);
    return signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* "http://host:8717/mcp" is how other clients name the server. */
static const char *server_of(struct cli *cli, const char *url)
{
    size_t len = strlen(url);
    while (len > 0 && url[len - 1] == '/')
        len--;
    const char *bare = arena_strndup(&cli->arena, url, len);
    return text_ends(bare, "/mcp") ? arena_strndup(&cli->arena, bare, len - strlen("/mcp")) : bare;
}

static int run_mcp(struct cli *cli)
{
    struct err err = {0};
    struct bridge bridge = {0};
    if (args_has(&cli->args, "url"))
        cli->server_url = server_of(cli, args_text(&cli->args, "url", NULL));
    buf_init(&bridge.line, LINE_BYTES_MAX);
    buf_init(&bridge.out, (size_t)OUT_MIB_MAX * 1024 * 1024);
    const struct mcp_link_options options = {.cli = cli, .out = &bridge.out};
    enum rc rc = mcp_link_new(&options, &bridge.link, &err);
    if (rc != RC_OK)
        return cli_fail(cli, rc, &err);
    CLEANUP(fd_closep) int signal_fd = open_signals();
    bridge.signal_fd = signal_fd;
    while (!bridge.in_ended && !bridge.out_ended && bridge.signal == 0)
        turn(&bridge);
    mcp_link_free(bridge.link);
    write_ready(&bridge, bridge.signal == 0 ? LAST_WORDS_MS : 0);
    buf_release(&bridge.line);
    buf_release(&bridge.out);
    return bridge.signal == SIGINT ? CLI_INTERRUPTED : CLI_DONE;
}

static const struct arg_option mcp_options[] = {
    {"url", "URL", "the same as --server; may end in /mcp", ARG_TEXT, 0, 0, NULL},
    {NULL, NULL, NULL, ARG_FLAG, 0, 0, NULL},
};

const struct cli_command cli_mcp_commands[] = {
    {"mcp", "serve the Model Context Protocol on stdin and stdout, for agents", "[--url URL]",
     mcp_options, "claude mcp add drover -- drover mcp", NULL, 0, 0, CLI_REMOTE, run_mcp},
    {0},
};
