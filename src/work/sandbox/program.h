/*
 * program.h - the program of a command: where it is, and what else of the machine it needs to start
 * in a sandbox.
 *
 * Installers put a link into a directory of PATH, and the files elsewhere:
 *
 *     ~/.npm-global/bin/claude -> ../lib/node_modules/@anthropic-ai/claude-code/cli.js
 *     ~/.local/bin/aider       -> ~/.local/share/pipx/venvs/aider-chat/bin/aider
 *     ~/.local/bin/claude      -> ~/.local/share/claude/versions/2.1.197
 *
 * The parts are what such a program consists of, and no more: never a home directory, and nothing
 * that only lies beside it.
 *
 *     below node_modules            the package; all of node_modules, where packages share what
 *                                   they need, unless it is that of a global installation
 *                                   (lib/node_modules)
 *     a virtual environment         bin, lib and pyvenv.cfg of it
 *     a link into an installation   the directory of the file: below share, libexec, opt or
 *                                   versions; never share or opt itself, which all programs have
 *     all others                    the file alone
 *     a script                      its interpreter as well, and lib beside the bin of a python
 */
#ifndef WORK_SANDBOX_PROGRAM_H
#define WORK_SANDBOX_PROGRAM_H
#include "base/arena.h"
#include "base/rc.h"
#include <stdbool.h>

enum { PROGRAM_PARTS_MAX = 8, PROGRAM_LINKS_MAX = 2 };

struct program {
    const char *path;                         /* Where the command finds it: absolute. */
    const char *parts[PROGRAM_PARTS_MAX + 1]; /* Absolute, without links; NULL-terminated. */
    struct program_link {
        const char *path, *real;
    } links[PROGRAM_LINKS_MAX]; /* Up to the first without a path. */
};

struct program_query {
    const char *name; /* A name without a slash is looked up in path. */
    const char *cwd;  /* Where relative ones begin. */
    const char *path; /* As $PATH; only absolute directories count. */
};
/* Fills path alone.  RC_NOT_FOUND, NO_PROGRAM: there is none that can be executed. */
MUST_USE enum rc program_find(const struct program_query *query, struct arena *arena,
                              struct program *ret_program, struct err *err);
/* Fills the rest: not for a file that an agent may have written, since a link of its making would
   choose what is shown.  search: as $PATH.  RC_NOT_FOUND, NO_PROGRAM: there is no interpreter. */
MUST_USE enum rc program_examine(struct program *program, const char *search, struct arena *arena,
                                 struct err *err);
/* The part that holds the path, or NULL. */
const char *program_part_of(const struct program *program, const char *path);
#endif
