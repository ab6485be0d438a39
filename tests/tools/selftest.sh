#!/bin/sh
# selftest.sh - shows that tools/tidy, tools/pointers, tools/layers and tools/docs catch what they
# say they catch, and that tools/test does not go on without its suites.
#
# A small clean tree must pass; then one violation at a time is planted in it and must be named.
set -u
tools=$(cd "$(dirname "$0")/../../tools" && pwd) || exit 2
root=$(mktemp -d) || exit 2
trap 'rm -rf "$root"' EXIT
passed=0 failed=0

clean_tree() {
    rm -rf "$root/tree"
    mkdir -p "$root/tree/src/base" "$root/tree/src/core" "$root/tree/src/api" "$root/tree/tests"
    cd "$root/tree" || exit 2
    cat >src/base/a.h <<'END'
#ifndef BASE_A_H
#define BASE_A_H
#include <stddef.h>
size_t a_len(const char *text);
void mem_free(void *block);
#endif
END
    cat >src/base/a.c <<'END'
#include "base/a.h"
#include <stdlib.h>
#include <string.h>
size_t a_len(const char *text)
{
    return strlen(text);
}
void mem_free(void *block)
{
    free(block);
}
END
    cat >src/core/b.c <<'END'
/* system( and strcpy( in a comment are fine, */
#include "base/a.h"
static const char *const names[] = {"malloc(", "a \" popen("};
size_t b_len(int i);
size_t b_len(int i)
{
    return a_len(names[i]); /* and so is
    free( on a later line. */
}
END
    printf '/* The program. */\n#include "base/a.h"\n' >src/main.c
}

# expect TOOL "WHAT" - runs the tool over the planted tree and looks for the words.
expect() {
    output=$(BUILD=build "$tools/$1" . 2>&1)
    status=$?
    case $2 in
    clean) [ "$status" -eq 0 ] && [ -z "$output" ] ;;
    *) [ "$status" -eq 1 ] && echo "$output" | grep -qF -- "$2" ;;
    esac && found=1 || found=
    if [ -n "$found" ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        printf 'selftest: tools/%s, wanted: %s\nstatus %s, output:\n%s\n' \
            "$1" "$2" "$status" "$output"
    fi
    clean_tree
}

compile() {
    for file in src/base/*.c src/core/*.c; do
        object=build/obj/${file#src/}
        mkdir -p "$(dirname "$object")"
        gcc -std=gnu11 -D_GNU_SOURCE -O2 -fPIE -Isrc -c -o "${object%.c}.o" "$file" || exit 2
    done
}

repeat() { # COUNT TEXT
    awk -v n="$1" -v text="$2" 'BEGIN { while (n-- > 0) printf "%s", text }'
}

clean_tree
expect tidy clean
echo 'int f(char *a) { return atoi(a); }' >>src/base/a.c
expect tidy 'src/base/a.c:12: banned function atoi'
echo 'void f(char *a) { strcpy(a, "x"); }' >tests/t.c
expect tidy 'tests/t.c:1: banned function strcpy'
echo 'void *f(void) { return malloc(1); }' >>src/core/b.c
expect tidy 'src/core/b.c:10: malloc outside src/base'
{ printf 'int f(void)\n{\n'; repeat 69 '    ;
'; echo '}'; } >src/core/c.c
expect tidy 'src/core/c.c:72: function of 71 lines'
repeat 801 '
' >src/core/c.c
expect tidy 'src/core/c.c:801: file of more than 800 lines'
{ repeat 101 x; echo; } >src/core/c.c
expect tidy 'src/core/c.c:1: line of 101 columns'
{ printf '/* '; repeat 94 ä; echo ' */'; } >src/core/c.c
expect tidy clean
echo 'int f(char *a) { return (int)sizeof(*a); }' >>src/core/b.c
expect tidy 'src/core/b.c:10: sizeof with brackets'
echo 'int f(struct b *a) { return (int)(sizeof(a->b) + sizeof(struct b)); }' >>src/core/b.c
expect tidy 'src/core/b.c:10: sizeof with brackets'
echo 'int f(char *a) { return (int)(sizeof *a + sizeof(char *) + sizeof(size_t)); }' >>src/core/b.c
expect tidy clean
echo '/* ------ words ------ */' >>src/core/b.c
expect tidy 'src/core/b.c:10: ruler'
echo '/* ---- words ------------ */' >>src/core/b.c
expect tidy 'src/core/b.c:10: ruler'
echo '/* ---- words ---- */' >>src/core/b.c
expect tidy clean
echo 'int a;' >src/core/c.c
expect tidy 'src/core/c.c:1: opens with neither'
printf '/*\n * c.c - see c.h.\n */\n#include "core/c.h"\n' >src/core/c.c
expect tidy 'src/core/c.c:3: opens with a comment that says nothing'
printf '/*\n * c.c - see c.h.\n *\n * Sorted.\n */\n#include "core/c.h"\n' >src/core/c.c
expect tidy clean
echo '/* TO''DO: later */' >src/core/c.c
expect tidy 'src/core/c.c:1: unfinished work'
printf '%s\n' '/* c */' 'int f(int a)' '{' '    CLEANUP(b_release) struct b bb;' '    if (a)' \
    '        return 1;' '    b_init(&bb);' '    return 0;' '}' >src/core/c.c
expect tidy 'src/core/c.c:6: returns before bb is a value'
printf '%s\n' '/* c */' 'int f(int a)' '{' '    CLEANUP(b_release) struct b bb;' \
    '    b_init(&bb);' '    return a;' '}' >src/core/c.c
expect tidy clean
printf '\tint a;\n' >src/core/c.c
expect tidy 'src/core/c.c:1: tab'
echo 'int a; ' >src/core/c.c
expect tidy 'src/core/c.c:1: blank at the end'

expect pointers clean
while read -r code; do
    printf '#include <stdbool.h>\nint f(char *p, bool q)\n{ %s return q; }\n' "$code" >src/core/c.c
    expect pointers 'src/core/c.c:3: pointer as a condition'
done <<'CODE'
q = !p;
q = p && q;
q = q || p;
if (p) return 1;
while (p) p = 0;
do p = 0; while (p);
for (; p; p = 0) ;
q = p ? 1 : q;
q = p;
CODE
echo 'int f(char *p, int q) { return !q && p != (char *)0 && *p ? 1 : 0; }' >src/core/c.c
expect pointers clean

compile
expect layers clean
compile
echo '#include "core/b.h"' >>src/base/a.h
expect layers 'src/base/a.h:7: base may not include core/b.h'
echo '#include "a.h"' >src/api/e.c
expect layers 'src/api/e.c:1: include "folder/file.h"'
echo '#include <jansson.h>' >src/api/e.c
expect layers 'src/api/e.c:1: <jansson.h> may be included only in: base'
echo '  #  include <sqlite3.h>' >src/api/e.c
expect layers 'src/api/e.c:1: <sqlite3.h> may be included only in: store'
echo '#include "base/log.h"' >src/core/c.c
expect layers 'src/core/c.c:1: "base/log.h" may be included only in'
mkdir src/odd && echo '#include "base/a.h"' >src/odd/o.c
expect layers 'src/odd/o.c:1: folder src/odd is in no layer'
mkdir src/cli && echo '#include "store/db.h"' >src/cli/c.c
expect layers 'src/cli/c.c:1: cli may not include store/db.h'
mkdir src/cli && echo '#include "control/run/flow.h"' >src/cli/c.c
expect layers 'src/cli/c.c:1: cli may not include control/run/flow.h'
mkdir -p src/control/commit && echo '#include "control/queue/jobs.h"' >src/control/commit/c.c
expect layers 'src/control/commit/c.c:1: room commit may not include control/queue/jobs.h'
for room in commit queue; do
    mkdir -p src/control/$room && echo '#include "control/run/flow.h"' >src/control/$room/c.c
    expect layers "src/control/$room/c.c:1: room $room may not include control/run/flow.h"
    mkdir -p src/control/$room && echo '#include "core/run/run.h"' >src/control/$room/c.c
    expect layers "src/control/$room/c.c:1: src/control/$room may not include core/run/run.h"
    mkdir -p src/control/$room && echo '#include "store/runs.h"' >src/control/$room/c.c
    expect layers "src/control/$room/c.c:1: src/control/$room may not include store/runs.h"
done
mkdir -p src/control/odd && echo '#include "control/commit/lane.h"' >src/control/odd/o.c
expect layers 'src/control/odd/o.c:1: room src/control/odd has no place'
mkdir -p src/base/odd && echo '#include "base/odd/o.h"' >src/base/a.c
expect layers 'src/base/a.c:1: include "folder/file.h"'
# Four modules may include each other, five not.
circle() { # MODULE...
    mkdir -p src/control/run
    last=$1
    for each in $*; do last=$each; done
    for each in $*; do
        printf '#ifndef %s_H\n#define %s_H\n#include "control/run/%s.h"\n#endif\n' \
            "$each" "$each" "$last" >"src/control/run/$each.h"
        last=$each
    done
}
compile
circle m n o p
expect layers clean
circle m n o p q
expect layers '5 modules include each other: control/run/'
echo 'const char *q = "SELECT a FROM b WHERE c";' >src/api/e.c
expect layers 'src/api/e.c:1: SQL outside src/store'
echo 'size_t c(void);' >src/core/c.h
expect layers 'src/core/c.h:1: does not compile alone'
expect layers 'no objects under build/obj'
printf '#include <time.h>\nlong f(void) { return time(0); }\n' >src/core/c.c
compile
expect layers 'src/core/c.c:1: core may call base and pure libc only, not time'
printf '#include "base/a.h"\nvoid f(void) { mem_free(0); }\n' >src/core/c.c
compile
expect layers 'src/core/c.c:1: core is pure, mem_free is not'
echo 'int f(void) { static int n; return ++n; }' >src/core/c.c
compile
expect layers 'src/core/c.c:1: core has no state'

# Codes in split texts, choices and tables; one that no answer carries is passed over.
documented() {
    mkdir -p docs share/completions src/store src/forge src/control src/server \
        src/core/run
    # shellcheck disable=SC2016 # Backquotes of Markdown.
    printf '%s\n' '| `--queues A,B` | `agent` |' '## Error codes' \
        '| `A_CODE` | 409 | why | what |' \
        '| `B_CODE` | 409 | why | what |' '| `OTHER` | 400 | why | what |' >docs/PROTOCOL.md
    # shellcheck disable=SC2016
    printf '%s\n' '## One command' '`f_known` in `api/e.c`' '## Other' '`f_else`' \
        >docs/ARCHITECTURE.md
    cp docs/PROTOCOL.md docs/CONFIGURATION.md
    # shellcheck disable=SC2016
    echo '`step_failed`' >docs/STATES.md
    echo '        NAMED("agent"),' >src/core/step_table.c
    echo '     "only these steps: agent"' >src/server/cmd_worker.c
    echo '    --queues) agent' >share/completions/drover.bash
    echo '    {"step_failed", RETRY_OF_STEP},' >src/core/run/retry_rule.c
    printf '%s\n' 'err_set(e, RC_CONFLICT,' '  "A_CODE", x);' 'err_set(e, RC_IO, "LOCKED", "");' \
        'void f_known(void);' >src/api/e.c
    printf 'code = a ? "A_CODE" : "B_CODE";\n{400, "OTHER"},\n' >src/control/c.c
}
documented
expect docs clean
documented
echo 'return err_set(err, RC_IO, "NEW", "");' >>src/store/s.c
expect docs 'src/store/s.c: docs/PROTOCOL.md has no row for the code NEW'
documented
echo 'x ? "A_CODE" : "C_CODE"' >>src/control/c.c
expect docs 'src/control/c.c: docs/PROTOCOL.md has no row for the code C_CODE'
for line in 'struct refusal no = {"D_CODE", "x"};' '  fail(fields, "D_CODE", x);' \
    'answer_later(call, wait, "D_CODE");' '#define THE_CODE "D_CODE"'; do
    documented
    echo "$line" >>src/control/c.c
    expect docs 'src/control/c.c: docs/PROTOCOL.md has no row for the code D_CODE'
done
documented
# shellcheck disable=SC2016
echo '| `A_CODE` | 409 | why | again |' >>docs/PROTOCOL.md
expect docs 'docs/PROTOCOL.md: there are two rows for the code A_CODE'
documented
# shellcheck disable=SC2016
sed -i 's/^| `B_CODE`.*/| `B_CODE` | 409 | why | |/' docs/PROTOCOL.md
expect docs 'docs/PROTOCOL.md: the row of B_CODE must have code, status, cause and what to do'
documented
# shellcheck disable=SC2016
echo '`api/gone.c`' >>docs/STATES.md
expect docs 'docs/STATES.md: there is no file api/gone.c'
documented
# shellcheck disable=SC2016
sed -i 's/`f_known`/`f_gone`/' docs/ARCHITECTURE.md
expect docs 'docs/ARCHITECTURE.md: no source has f_gone'
documented
# shellcheck disable=SC2016
echo '`GONE_CODE`' >>docs/PROTOCOL.md
expect docs 'docs/PROTOCOL.md: no source has the code GONE_CODE'
documented
echo '    {"odd_end", RETRY_OF_STEP},' >>src/core/run/retry_rule.c
expect docs 'src/core/run/retry_rule.c: docs/STATES.md does not name odd_end'
documented
echo '        NAMED("polish"),' >>src/core/step_table.c
expect docs 'docs/CONFIGURATION.md: the steps of --queues lack polish'
for file in src/core/run/retry_rule.c src/core/step_table.c docs/PROTOCOL.md; do
    documented
    mv "$file" "$file.old"
    expect docs "$file: nothing to compare"
done
documented
printf '%s\n' '/* To add one: a row here,' '   and a handler in store/gone.c. */' >>src/store/s.c
expect docs 'src/store/s.c: "To add one" names store/gone.c, which is not there'
documented
echo '/* To add one: a row here, its text in docs/PROTOCOL.md and core/run/*.c. */' >>src/api/e.c
expect docs clean
documented
rm src/api/e.c src/control/c.c
expect docs 'src: nothing to compare'
documented
rm share/completions/drover.bash
expect docs 'share/completions/drover.bash: the steps of --queues lack agent'

# lists STATUS SCRIPT - tools/test with a list of suites that the script gives.
lists() {
    printf '#!/bin/sh\n%s\n' "$2" >"$root/tests"
    chmod +x "$root/tests"
    output=$(BUILD="$root" "$tools/test" --jobs 2>&1)
    status=$?
    if [ "$status" -eq "$1" ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        printf 'selftest: tools/test, suites by "%s": status %s\n%s\n' "$2" "$status" "$output"
    fi
}
lists 0 'echo arena'
lists 1 'exit 0'
lists 1 'echo arena; exit 139'

echo "selftest: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
