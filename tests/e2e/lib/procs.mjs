// procs.mjs - processes, found by a mark in their arguments.
import { readdirSync, readFileSync } from 'node:fs';
import { randomInt } from 'node:crypto';
import { until } from './wait.mjs';

// Digits that stand nowhere else.  `sleep 3000.<mark>` carries it into every child.
export function newMark() {
    return String(randomInt(1e13, 9e13));
}

// [{pid, command}] of all that carry the mark.  A zombie has no arguments any more.
export function processesWith(mark) {
    const found = [];
    for (const name of readdirSync('/proc')) {
        if (!/^\d+$/.test(name) || Number(name) === process.pid) continue;
        const command = readOrEmpty(`/proc/${name}/cmdline`).replaceAll('\0', ' ');
        if (command.includes(mark)) found.push({ pid: Number(name), command });
    }
    return found;
}

export function isAlive(pid) {
    const state = readOrEmpty(`/proc/${pid}/stat`).split(') ')[1]?.[0];
    return state !== undefined && state !== 'Z' && state !== 'X';
}

export function untilGone(mark) {
    return until(`the processes of ${mark} to end`,
        (note) => note(processesWith(mark)).length === 0);
}

export function untilRunning(mark, count = 1) {
    return until(`${count} processes of ${mark}`,
        (note) => note(processesWith(mark)).length >= count);
}

function readOrEmpty(path) {
    try {
        return readFileSync(path, 'utf8');
    } catch {
        return '';
    }
}
