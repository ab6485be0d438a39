// procs.mjs - processes, found by a mark in their arguments or by the directory they are in.
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { randomInt } from 'node:crypto';
import { until } from './wait.mjs';

// Digits that stand nowhere else.  `sleep 3000.<mark>` carries it into every child.
export function newMark() {
    return String(randomInt(1e13, 9e13));
}

// [{pid, command}] of all that carry the mark, or work in a directory of that name.  A zombie has
// neither any more.
export function processesWith(mark) {
    const found = [];
    for (const name of readdirSync('/proc')) {
        if (!/^\d+$/.test(name) || Number(name) === process.pid) continue;
        const command = readOrEmpty(`/proc/${name}/cmdline`).replaceAll('\0', ' ');
        if (command.includes(mark) || directoryOf(name).includes(mark))
            found.push({ pid: Number(name), command });
    }
    return found;
}

export function isAlive(pid) {
    const state = readOrEmpty(`/proc/${pid}/stat`).split(') ')[1]?.[0];
    return state !== undefined && state !== 'Z' && state !== 'X';
}

// SIGSTOP has reached it.
export function untilStopped(pid) {
    return until(`process ${pid} to be stopped`,
        () => readOrEmpty(`/proc/${pid}/stat`).split(') ')[1]?.[0] === 'T');
}

export function untilGone(mark) {
    return until(`the processes of ${mark} to end`,
        (note) => note(processesWith(mark)).length === 0);
}

export function untilRunning(mark, count = 1) {
    return until(`${count} processes of ${mark}`,
        (note) => note(processesWith(mark)).length >= count);
}

// Not only a shell that has the mark in its script, but the `sleep` that the script has come to.
export function untilAsleep(mark) {
    return until(`sleep ${mark}`, (note) => note(processesWith(mark))
        .some(({ command }) => /^sleep /.test(command)));
}

// The pids of those that sleep: not the shell's children of a moment, which have its words until
// they have their own.
export function sleepers(mark) {
    return processesWith(mark).filter(({ command }) => /^sleep 300\d\./.test(command))
        .map(({ pid }) => pid).sort((a, b) => a - b);
}

function directoryOf(pid) {
    try {
        return readlinkSync(`/proc/${pid}/cwd`);
    } catch {
        return '';
    }
}

function readOrEmpty(path) {
    try {
        return readFileSync(path, 'utf8');
    } catch {
        return '';
    }
}
