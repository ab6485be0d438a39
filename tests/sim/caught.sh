#!/bin/sh
# caught.sh - breaks one invariant at a time and sees that the simulator notices.
#
#   tests/sim/caught.sh BUILD/sim-broken
set -u
for break in fencing limits lost_job lost_event lost_timer; do
    if said=$(SIM_BREAK=$break "$1" --seed 4 --runs 4000 2>&1); then
        echo "not caught: $break"
        exit 1
    fi
    said=$(echo "$said" | grep BROKEN) || {
        echo "$break ended the simulator without a word about what was broken"
        exit 1
    }
    echo "caught $break: $said"
done
