/*
 * refresh.c - see refresh.h.
 *
 * The output of a command is captured, by replacing stdout and stderr with other streams, so that
 * a whole screen is written at once: nothing flickers, and the last good one stays while the server
 * is unreachable.  On a terminal, from the first screen to the end:
 *
 *     ESC[?25l ESC[?7l   no cursor, and long lines are cut, not wrapped
 *     ESC[H              each screen starts at the top left ...
 *     ESC[K  ESC[J       ... and wipes what is left of its lines and below them
 */
#include "cli/refresh.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/str.h"
#include "cli/watch.h"
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { VIEW_BYTES_MAX = 16 * 1024 * 1024, HEAD_BYTES_MAX = 1024, ROWS_DEFAULT = 24, ROWS_MIN = 3 };
#define EVERY_DEFAULT 2.0
#define EVERY_MIN     0.1
#define EVERY_MAX     86400.0

const struct arg_option cli_refresh_options[] = {
    {"watch", NULL, "show it again and again until Ctrl-C", ARG_FLAG, 0, 0, NULL},
    {"every", "SECONDS", "with --watch: so often (default 2)", ARG_REAL, 0, 0, NULL},
    {0},
};

struct refresh {
    struct cli *cli;
    int (*draw)(struct cli *cli);
    double every_s;
    const atomic_int *interrupted;
    bool painting;          /* On a terminal, after the first screen. */
    bool shown;             /* Once at least. */
    const char *trouble;    /* Why there is no answer at present, or NULL. */
    struct buf view, cries; /* What the last draw printed to stdout and stderr. */
    struct buf good;        /* The last view of a draw that succeeded. */
};

/* ---- capturing ---- */

static ssize_t catch_bytes(void *ctx, const char *bytes, size_t len)
{
    buf_add(ctx, bytes, len);
    return (ssize_t)len;
}

static FILE *open_catcher(struct buf *into)
{
    buf_clear(into);
    return fopencookie(into, "w", (cookie_io_functions_t){.write = catch_bytes});
}

/* One draw with streams and an arena of its own. */
static int draw_caught(struct refresh *refresh)
{
    struct cli *cli = refresh->cli;
    FILE *out = open_catcher(&refresh->view), *cry = open_catcher(&refresh->cries);
    FILE *real_out = stdout, *real_err = stderr;
    struct arena kept = cli->arena;
    int status = CLI_FAILED;
    if (out != NULL && cry != NULL) {
        cli->arena = (struct arena){0};
        cli->failure = RC_OK;
        stdout = out;
        stderr = cry;
        status = refresh->draw(cli);
        stdout = real_out;
        stderr = real_err;
        arena_release(&cli->arena);
        cli->arena = kept;
    }
    if (out != NULL)
        (void)fclose(out);
    if (cry != NULL)
        (void)fclose(cry);
    return status;
}

/* ---- painting ---- */

static void paint_line(struct buf *to, const char *line, size_t len)
{
    buf_adds(to, "\r\n");
    buf_add(to, line, len);
    buf_adds(to, "\033[K");
}

static size_t count_lines(const char *text)
{
    size_t count = 0;
    for (; *text != '\0'; count++) {
        text += strcspn(text, "\n");
        text += *text == '\n';
    }
    return count;
}

void refresh_paint(const struct refresh_screen *screen, struct buf *to)
{
    size_t rows = (screen->rows < ROWS_MIN ? ROWS_MIN : screen->rows) - 1; /* For the body. */
    size_t lines = count_lines(screen->body);
    size_t fit = lines <= rows ? lines : rows - 1; /* The last one counts the rest. */
    buf_adds(to, "\033[H");
    buf_adds(to, screen->head);
    buf_adds(to, "\033[K");
    const char *at = screen->body;
    for (size_t i = 0; i < fit; i++) {
        size_t len = strcspn(at, "\n");
        paint_line(to, at, len);
        at += len + (at[len] == '\n');
    }
    if (fit < lines) {
        char rest[64];
        int len = snprintf(rest, sizeof rest, "... %zu more lines than fit", lines - fit);
        paint_line(to, rest, (size_t)len);
    }
    buf_adds(to, "\033[J");
}

static size_t terminal_rows(void)
{
    struct winsize size = {0};
    int64_t rows = 0;
    const char *given = getenv("LINES");
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0)
        return size.ws_row;
    if (given != NULL && text_to_i64(given, &rows) && rows > 0 && rows <= INT16_MAX)
        return (size_t)rows;
    return ROWS_DEFAULT;
}

/* "drover queue list   every 2 s   12:00:03   server unreachable, trying again" */
static void write_head(const struct refresh *refresh, struct buf *head)
{
    const struct term *term = &refresh->cli->term;
    struct clock clock = clock_real();
    char now[TIME_TEXT_BYTES];
    (void)time_format(now, clock_now_us(&clock));
    CLEANUP(arena_release) struct arena arena = {0};
    buf_addf(head, "%sdrover %s%s   %severy %g s   %s%s", term_on(term, TONE_BOLD),
             refresh->cli->command->name, term_off(term, TONE_BOLD), term_on(term, TONE_DIM),
             refresh->every_s, term_clock(now, &arena), term_off(term, TONE_DIM));
    if (refresh->trouble != NULL)
        buf_addf(head, "   %s%s, trying again%s", term_on(term, TONE_RED), refresh->trouble,
                 term_off(term, TONE_RED));
}

static void write_out(const struct buf *bytes)
{
    (void)fwrite(buf_text(bytes), 1, bytes->len, stdout);
    (void)fflush(stdout);
}

static void show_screen(struct refresh *refresh)
{
    CLEANUP(buf_release) struct buf head;
    CLEANUP(buf_release) struct buf bytes;
    buf_init(&head, HEAD_BYTES_MAX);
    buf_init(&bytes, VIEW_BYTES_MAX);
    write_head(refresh, &head);
    if (!refresh->painting)
        buf_adds(&bytes, "\033[?25l\033[?7l\033[2J");
    refresh->painting = true;
    const struct refresh_screen screen = {
        .rows = terminal_rows(), .head = buf_text(&head), .body = buf_text(&refresh->good)};
    refresh_paint(&screen, &bytes);
    write_out(&bytes);
}

static void leave_screen(struct refresh *refresh)
{
    if (!refresh->painting)
        return;
    (void)fputs("\033[?7h\033[?25h\r\n", stdout);
    (void)fflush(stdout);
    refresh->painting = false;
}

/* ---- the result of a draw ---- */

/* The text for a temporary failure; NULL: it is permanent. */
static const char *passing(enum rc failure)
{
    switch (failure) {
    case RC_UNREACHABLE:
    case RC_TIMEOUT:
        return "server unreachable";
    case RC_BUSY:
    case RC_LIMIT:
        return "server busy";
    default:
        return NULL;
    }
}

static void show_good(struct refresh *refresh)
{
    struct buf older = refresh->good;
    refresh->good = refresh->view;
    refresh->view = older;
    refresh->trouble = NULL;
    if (refresh->cli->term.tty && !refresh->cli->json) {
        show_screen(refresh);
    } else {
        if (refresh->shown && !refresh->cli->json)
            (void)putchar('\n');
        write_out(&refresh->good);
    }
    refresh->shown = true;
}

static void show_trouble(struct refresh *refresh, const char *trouble)
{
    bool news = refresh->trouble == NULL;
    refresh->trouble = trouble;
    if (refresh->painting)
        show_screen(refresh);
    else if (news)
        (void)fprintf(stderr, "drover: %s, trying again\n", trouble);
}

/* Draws once; CLI_DONE: continue. */
static int turn(struct refresh *refresh)
{
    struct cli *cli = refresh->cli;
    cli->term = term_open(args_has(&cli->args, "no-color"));
    int status = draw_caught(refresh);
    const char *trouble = refresh->shown ? passing(cli->failure) : NULL;
    if (status == CLI_DONE) {
        show_good(refresh);
        return CLI_DONE;
    }
    if (*refresh->interrupted)
        return CLI_INTERRUPTED;
    if (trouble != NULL) {
        show_trouble(refresh, trouble);
        return CLI_DONE;
    }
    leave_screen(refresh);
    (void)fputs(buf_text(&refresh->cries), stderr);
    return status;
}

/* ---- the loop ---- */

static void on_resize(int signal)
{
    (void)signal; /* It ends the wait, and the next screen has the new size. */
}

/* Signals are unblocked during the wait only, so that none is missed before it. */
static void wait_turn(const struct refresh *refresh)
{
    sigset_t caught, open;
    (void)sigemptyset(&caught);
    (void)sigaddset(&caught, SIGINT);
    (void)sigaddset(&caught, SIGTERM);
    (void)sigaddset(&caught, SIGWINCH);
    (void)sigprocmask(SIG_BLOCK, &caught, &open);
    const struct timespec span = {
        .tv_sec = (time_t)refresh->every_s,
        .tv_nsec = (long)((refresh->every_s - (double)(time_t)refresh->every_s) * 1e9)};
    if (!*refresh->interrupted)
        (void)ppoll(NULL, 0, &span, &open);
    (void)sigprocmask(SIG_SETMASK, &open, NULL);
}

static int go_on(struct refresh *refresh)
{
    struct sigaction resize = {.sa_handler = on_resize};
    (void)sigemptyset(&resize.sa_mask);
    (void)sigaction(SIGWINCH, &resize, NULL);
    for (;;) {
        int status = turn(refresh);
        if (status != CLI_DONE)
            return status;
        if (ferror(stdout))
            return CLI_DONE; /* The reader has closed stdout: stop. */
        if (refresh->cli->over)
            return refresh->cli->outcome;
        wait_turn(refresh);
        if (*refresh->interrupted)
            return CLI_INTERRUPTED;
    }
}

int cli_refresh(struct cli *cli, int (*draw)(struct cli *cli))
{
    struct refresh refresh = {
        .cli = cli, .draw = draw, .every_s = args_real(&cli->args, "every", EVERY_DEFAULT)};
    if (refresh.every_s < EVERY_MIN || refresh.every_s > EVERY_MAX)
        return cli_usage(cli, "--every takes seconds from %g to %g", EVERY_MIN, EVERY_MAX);
    buf_init(&refresh.view, VIEW_BYTES_MAX);
    buf_init(&refresh.cries, VIEW_BYTES_MAX);
    buf_init(&refresh.good, VIEW_BYTES_MAX);
    refresh.interrupted = cli_catch_interrupt();
    cli->stop = refresh.interrupted;
    int status = go_on(&refresh);
    leave_screen(&refresh);
    buf_release(&refresh.view);
    buf_release(&refresh.cries);
    buf_release(&refresh.good);
    return status;
}
