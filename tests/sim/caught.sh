#!/bin/sh
# caught.sh - breaks one invariant at a time and sees that the simulator notices.
#
#   tests/sim/caught.sh BUILD/sim-broken runs|jobs|issues|nodes [postgres]
set -u
case "$2 ${3-}" in
'runs ')
    breaks='fencing limits lost_job lost_event lost_timer parked homes'
    set -- "$1" --runs 4000 --batch 20 # Small worlds are soon seen not to come to an end.
    ;;
'jobs ')
    breaks='fencing owner lost_job lost_timer late_timer lost_attempt order two_heads concurrency
            rate length undo'
    set -- "$1" jobs --transitions 100000
    ;;
'issues ')
    breaks='done_early old_branch smoke stranger busy'
    set -- "$1" issues --issues 2000
    ;;
'jobs postgres') # What the engine has a part in; the rest is the same on both.
    breaks='undo'
    set -- "$1" jobs --transitions 100000 --engine postgres
    ;;
'nodes postgres')
    breaks='turn takeover'
    set -- "$1" nodes --steps 20000
    ;;
*) exit 2 ;;
esac
for break in $breaks; do
    if said=$(SIM_BREAK=$break "$@" --seed 4 2>&1); then
        echo "not caught: $break"
        exit 1
    fi
    said=$(echo "$said" | grep BROKEN) || {
        echo "$break ended the simulator without a word about what was broken"
        exit 1
    }
    echo "caught $break: $said"
done
