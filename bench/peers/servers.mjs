// servers.mjs - the servers of one peer: started in a directory of their own, looked at through
// /proc, ended by their process group.
//
// Whatever happens, the exit of this process ends every server it started.
import { execFileSync, spawn } from 'node:child_process';
import { chmodSync, closeSync, existsSync, mkdirSync, openSync, readFileSync, readdirSync,
    } from 'node:fs';
import net from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { setTimeout as pause } from 'node:timers/promises';

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const READY_MS_MAX = 60000;
const STOP_MS_MAX = 15000;
const LOOK_MS = 50;

const kits = new Set();
process.on('exit', () => {
    for (const kit of kits) kit.killNow();
});
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, () => process.exit(1));

export async function until(what, test, ms = READY_MS_MAX) {
    const end = Date.now() + ms;
    let last;
    while (Date.now() < end) {
        try {
            const found = await test();
            if (found) return found;
        } catch (error) {
            if (error.final) throw error;
            last = error;
        }
        await pause(LOOK_MS);
    }
    throw new Error(`waited ${ms / 1000} s for ${what}${last ? `: ${last.message}` : ''}`);
}

export function freePort() {
    return new Promise((resolve, reject) => {
        const server = net.createServer().on('error', reject);
        server.listen(0, '127.0.0.1', () => {
            const { port } = server.address();
            server.close(() => resolve(port));
        });
    });
}

export function accepts(port) {
    return new Promise((resolve) => {
        const socket = net.connect(port, '127.0.0.1');
        socket.on('connect', () => resolve(socket.destroy() && true));
        socket.on('error', () => resolve(false));
    });
}

// What a peer's serve() is given: a directory, and the means to start servers in it.
export class Kit {
    // unpacked: where Debian packages lie, or null; npm: where the peer's npm packages lie.
    constructor({ dir, npm, unpacked, drover }) {
        Object.assign(this, { dir, npm, unpacked, drover });
        this.children = [];
        this.clusters = [];
        mkdirSync(dir, { recursive: true });
        chmodSync(dir, 0o711); // PostgreSQL may run as somebody else.
        kits.add(this);
    }

    // A server of its own process group; its output goes to NAME.log.
    spawn(name, command, args, env = {}) {
        const log = openSync(join(this.dir, `${name}.log`), 'a');
        const child = spawn(command, args, { cwd: this.dir, detached: true,
            stdio: ['ignore', log, log], env: { ...process.env, ...this.env(), ...env } });
        closeSync(log);
        child.name = name;
        child.ended = new Promise((resolve) => {
            child.on('exit', resolve);
            child.on('error', (error) => resolve(child.failure = error));
        });
        this.children.push(child);
        return child;
    }

    // Programs and libraries of unpacked packages are found first.
    env() {
        if (!this.unpacked) return {};
        const libs = ['usr/lib', 'lib'].map((each) => join(this.unpacked, each))
            .filter(existsSync)
            .flatMap((lib) => readdirSync(lib).filter((each) => each.endsWith('-linux-gnu'))
                .map((each) => join(lib, each)));
        return { PATH: `${join(this.unpacked, 'usr/bin')}:${process.env.PATH}`,
            LD_LIBRARY_PATH: libs.join(':') };
    }

    // What a program says; for versions.
    ask(command, args) {
        return execFileSync(command, args, { env: { ...process.env, ...this.env() },
            encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim();
    }

    async ready(child, port) {
        await until(`${child.name} on port ${port}`, async () => {
            if (child.failure || child.exitCode !== null)
                throw Object.assign(new Error(`${child.name} ended: ${this.tail(child.name)}`),
                    { final: true });
            return accepts(port);
        });
    }

    tail(name) {
        return readFileSync(join(this.dir, `${name}.log`), 'utf8').slice(-500).trim();
    }

    // A cluster with fsync and synchronous_commit on: {url, version}.
    postgres() {
        const dir = join(this.dir, 'postgres');
        const url = execFileSync(join(ROOT, 'tools/postgres'), ['start', dir],
            { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim();
        this.clusters.push(dir);
        const version = readFileSync(join(dir, 'data/PG_VERSION'), 'utf8').trim();
        return { url: `postgres://drover@localhost/postgres?host=${encodeURIComponent(dir)}`,
            plainUrl: url, version };
    }

    // Everything that serves, with what it has started itself.
    pids() {
        const roots = this.children.map((child) => child.pid);
        for (const dir of this.clusters)
            roots.push(Number(readFileSync(join(dir, 'data/postmaster.pid'), 'utf8')
                .split('\n', 1)[0]));
        return withDescendants(roots);
    }

    async stop() {
        for (const child of [...this.children].reverse()) {
            signalGroup(child, 'SIGTERM');
            const late = setTimeout(() => signalGroup(child, 'SIGKILL'), STOP_MS_MAX);
            await child.ended;
            clearTimeout(late);
            signalGroup(child, 'SIGKILL'); // What it left behind.
        }
        this.children = [];
        this.stopClusters();
        kits.delete(this);
    }

    killNow() {
        for (const child of this.children) signalGroup(child, 'SIGKILL');
        this.stopClusters();
    }

    stopClusters() {
        for (const dir of this.clusters.splice(0)) {
            if (!existsSync(join(dir, 'data/postmaster.pid'))) continue;
            execFileSync(join(ROOT, 'tools/postgres'), ['stop', dir, 'immediate'],
                { stdio: 'ignore' });
        }
    }
}

function signalGroup(child, signal) {
    try {
        if (child.pid) process.kill(-child.pid, signal);
    } catch {
        // Nobody is left in it.
    }
}

// ---- what /proc says ----

function parents() {
    const all = new Map();
    for (const each of readdirSync('/proc')) {
        if (!/^\d+$/.test(each)) continue;
        try {
            const stat = readFileSync(`/proc/${each}/stat`, 'utf8');
            all.set(Number(each), Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]));
        } catch {
            // It has just ended.
        }
    }
    return all;
}

function withDescendants(roots) {
    const found = new Set(roots);
    const all = [...parents()];
    for (let grown = true; grown;) {
        grown = false;
        for (const [pid, parent] of all) {
            if (found.has(pid) || !found.has(parent)) continue;
            found.add(pid);
            grown = true;
        }
    }
    return [...found];
}

function sumOver(pids, read) {
    let sum = 0;
    for (const pid of pids) {
        try {
            sum += read(pid);
        } catch {
            // It has just ended.
        }
    }
    return sum;
}

// Pages that processes share are counted once: PostgreSQL would look many times its size.
export function memoryMb(pids) {
    return sumOver(pids, (pid) => {
        const text = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
        return Number(/^Pss:\s+(\d+)/m.exec(text)[1]);
    }) / 1024;
}

export function cpuSeconds(pids) {
    return sumOver(pids, (pid) => sumOver(readdirSync(`/proc/${pid}/task`), (task) =>
        Number(readFileSync(`/proc/${pid}/task/${task}/schedstat`, 'utf8').split(' ')[0]))) / 1e9;
}
