#!/bin/sh
# agent.sh - a stand-in for a coding agent, for the demo: no model, but the whole protocol.
#
# Its first patch is the obvious one, and wrong at an edge; the next reads what the verification
# said about it.  Drover starts it in the worktree, with
#
#   DROVER_PROMPT    file: what to do             DROVER_ATTEMPT   1, 2, ...
#   DROVER_FEEDBACK  file: why the last patch was refused (from the second attempt on)
#   DROVER_RESULT    file to write: how it ended, as JSON
#
# and reads progress from its output, one JSON object a line.
set -eu

tool() { # NAME SUMMARY
    printf '{"type":"tool","name":"%s","status":"completed","summary":"%s"}\n' "$1" "$2"
}

turn() { # INPUT-TOKENS OUTPUT-TOKENS COST
    printf '{"type":"turn","turns":1,"inputTokens":%d,"outputTokens":%d,"costUsd":%s}\n' \
        "$1" "$2" "$3"
}

finish() { # STATUS SUMMARY
    printf '{"status":"%s","summary":"%s"}\n' "$1" "$2" >"$DROVER_RESULT"
    exit 0
}

change() { # EXPRESSION-FOR-THE-RETURN
    sed "/^long interval_days/,/^}/s/return days .*;/return $1;/" interval.c >interval.c.new
    cat interval.c.new >interval.c
    rm interval.c.new
}

tool read "the task: $(wc -c <"$DROVER_PROMPT") bytes"
tool read "interval.c, test_interval.c"
turn 2100 350 0.012

if [ "${DROVER_ATTEMPT:-1}" -eq 1 ]; then
    change 'days > 0 ? days + 1 : 0'
    tool edit "interval.c: count the last day as well"
    turn 2600 180 0.011
    finish success "interval_days left out the last day of an interval; it counts both ends now."
fi

tool read "the feedback: $(grep -c . "$DROVER_FEEDBACK" || true) lines"
grep -q 'one day' "$DROVER_FEEDBACK" ||
    finish error "The feedback names no case that I know."
change 'days >= 0 ? days + 1 : 0'
tool edit "interval.c: an interval of one day has one day"
turn 3100 240 0.014
finish success "interval_days counts both ends, also when they are the same day."
