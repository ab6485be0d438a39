// recorder.mjs - what a server and all its children do to a directory, call by call.
//
// strace writes a line for each system call that changes files or syncs them; the lines become
// operations on a disk (disk.mjs).  Whether every call was understood is checked, not hoped:
// after the last one the disk must hold just what the directory holds (assertSame).
//
// An operation is done where its line ends, and a sync covers what was done where its own line
// began.  now() is a place in that order: everything that was acknowledged before it was asked for
// rests on operations before it, because a process cannot go on before its line is written.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { lstatSync, readFileSync, readdirSync, readlinkSync, statSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { Disk } from './disk.mjs';

const BYTES_MAX = 8 << 20; // Of one write: longer ones would be cut, and are refused.
const CALLS = ['open', 'openat', 'creat', 'read', 'write', 'pwrite64', 'writev', 'pwritev',
    'ftruncate', 'truncate', 'fallocate', 'rename', 'renameat', 'renameat2', 'link', 'linkat',
    'symlink', 'symlinkat', 'unlink', 'unlinkat', 'rmdir', 'mkdir', 'mkdirat', 'fsync',
    'fdatasync', 'syncfs', 'sync', 'copy_file_range', 'sendfile', 'chmod', 'fchmod', 'fchmodat',
    'chown', 'lchown', 'fchown', 'fchownat', 'lseek', 'dup', 'dup2', 'dup3', 'fcntl', 'clone',
    'clone3', 'fork', 'vfork', 'chdir', 'fchdir'];
const FORKS = new Set(['clone', 'clone3', 'fork', 'vfork']);

// Why nothing can be recorded here; null: it can.
export function cannotRecord() {
    const probe = spawnSync('strace', ['-D', '-f', '--seccomp-bpf', '-qq', '-o', '/dev/null',
        'true'], { encoding: 'utf8' });
    return probe.status === 0 ? null : 'strace does not work on this machine';
}

export class Recorder {
    // root: the directory that is watched.  skip: names in it that are not part of the disk.
    constructor(root, log, skip) {
        this.root = root;
        this.log = log;
        this.skip = new Set(skip);
        this.disk = Disk.read(root, this.skip);
    }

    // What a command is started with; it keeps its process id.
    get command() {
        return ['strace', '-D', '-f', '-y', '-xx', '-s', String(BYTES_MAX), '--seccomp-bpf', '-qq',
            '--decode-pids=pidns', '-e', `trace=${CALLS.join(',')}`, '-o', this.log];
    }

    now() {
        return statSync(this.log).size;
    }

    // Once everything that was recorded has ended.
    finish() {
        const reader = new Reader(this.root, this.skip, this.disk);
        const bytes = readFileSync(this.log);
        for (let from = 0, end; (end = bytes.indexOf(10, from)) >= 0; from = end + 1)
            reader.take(bytes.latin1Slice(from, end), from, end + 1);
        reader.finish();
        return this.disk;
    }

    assertSame() {
        assertSame(this.disk.root, this.root, this.skip);
    }
}

// SQLite maps the -shm file and makes it anew after a crash; sockets are no part of the disk.
function assertSame(dir, path, skip) {
    const names = readdirSync(path).filter((name) => !skip.has(name) && !name.endsWith('-shm')
        && !lstatSync(join(path, name)).isSocket());
    const known = [...dir.names.keys()].filter((name) => !name.endsWith('-shm'));
    assert.deepEqual(known.sort(), names.sort(), `names in ${path}`);
    for (const name of names) {
        const node = dir.names.get(name);
        const below = join(path, name);
        const status = lstatSync(below);
        if (status.isDirectory()) assertSame(node, below, new Set());
        else if (status.isSymbolicLink()) assert.equal(node.target, readlinkSync(below), below);
        else assert.ok(node.content().equals(readFileSync(below)), `contents of ${below}`);
    }
}

const unhex = (text) => Buffer.from(text.replaceAll('\\x', ''), 'hex');
const textOf = (arg) => unhex(/^"((?:\\x..)*)"/.exec(arg)[1]).toString();
const isCut = (args) => args.includes('"...');

// "5</a/path>(deleted)": {fd, path, deleted}
function descriptor(arg) {
    const parts = /^(-?\d+|AT_FDCWD)(?:<((?:\\x..)*)>)?(\(deleted\))?/.exec(arg);
    if (!parts) return { fd: -1 };
    const path = parts[2] === undefined ? undefined : unhex(parts[2]).toString();
    return { fd: parts[1] === 'AT_FDCWD' ? 'cwd' : Number(parts[1]), path,
        deleted: Boolean(parts[3]) };
}

class Reader {
    constructor(root, skip, disk) {
        this.root = root;
        this.skip = skip;
        this.disk = disk;
        this.processes = new Map(); // pid: {files: fd -> {node, at, append}, cwd}
        this.waiting = new Map(); // pid of a child whose parent has not returned yet: its lines
        this.begun = new Map(); // pid: the beginning of a call that has not ended
    }

    // One line, from which byte to which.
    take(line, from, to) {
        const [, pid, rest] = /^(\d+) +(.*)$/s.exec(line);
        if (/^(\+\+\+|---)/.test(rest)) return;
        if (!this.processes.size) this.processes.set(pid, { files: new Map(), cwd: '/' });
        if (!this.processes.has(pid)) {
            if (!this.waiting.has(pid)) this.waiting.set(pid, []);
            this.waiting.get(pid).push([line, from, to]);
            return;
        }
        const begun = / <unfinished \.\.\.>$/.exec(rest);
        if (begun) {
            this.begun.set(pid, { text: rest.slice(0, begun.index), from: this.disk.ops.length });
            return;
        }
        const ended = /^<\.\.\. \w+ resumed>/.exec(rest);
        const { text = '', from: began = this.disk.ops.length } = ended ? this.begun.get(pid) : {};
        this.#call(pid, text + rest.slice(ended ? ended[0].length : 0), began, to);
    }

    finish() {
        assert.deepEqual([...this.waiting.keys()], [], 'processes without a parent');
    }

    #call(pid, text, began, to) {
        const parts = /^(\w+)\((.*)\) += (.*)$/s.exec(text);
        if (!parts || /^(-1|\?)/.test(parts[3])) return;
        const [, name, args, result] = parts;
        const process = this.processes.get(pid);
        this.disk.at = to;
        if (FORKS.has(name)) this.#fork(process, args, result);
        else if (this[name]) this[name](process, args.split(', '), result, began, args);
        else assert.fail(`no word for ${name}`);
    }

    #fork(process, args, result) {
        const pid = /(\d+) in strace's PID NS/.exec(result)?.[1] ?? /^\d+/.exec(result)[0];
        const isThread = /CLONE_THREAD/.test(args);
        this.processes.set(pid, isThread ? process
            : { files: new Map(process.files), cwd: process.cwd });
        const lines = this.waiting.get(pid) ?? [];
        this.waiting.delete(pid);
        for (const line of lines) this.take(...line);
    }

    // ---- names ----

    // The path if it is in the directory that is watched, else null.
    #inside(path) {
        if (path === this.root) return path;
        if (!path.startsWith(`${this.root}/`)) return null;
        return this.skip.has(path.slice(this.root.length + 1).split('/')[0]) ? null : path;
    }

    #path(process, arg, base = process.cwd) {
        return this.#inside(posix.resolve(base, textOf(arg)));
    }

    #at(process, dir, arg) {
        const { path } = descriptor(dir);
        return this.#path(process, arg, path ?? process.cwd);
    }

    // {dir, name, node} of a path that is inside.
    #place(path) {
        let dir = this.disk.root;
        if (path === this.root) return { node: dir };
        for (const name of dirname(path).slice(this.root.length + 1).split('/').filter(Boolean)) {
            dir = dir.names.get(name);
            assert.ok(dir?.names, `no directory ${path}`);
        }
        const name = posix.basename(path);
        return { dir, name, node: dir.names.get(name) };
    }

    #make(path, node) {
        const { dir, name } = this.#place(path);
        node.uid = dir.uid;
        node.gid = dir.gid;
        this.disk.name([[dir, name, node]]);
        return node;
    }

    mkdir(process, [path, mode]) {
        const where = this.#path(process, path);
        if (where) this.#make(where, this.disk.dir(Number.parseInt(mode, 8) & 0o755));
    }
    mkdirat(process, [dir, path, mode]) {
        const where = this.#at(process, dir, path);
        if (where) this.#make(where, this.disk.dir(Number.parseInt(mode, 8) & 0o755));
    }

    #remove(path) {
        if (!path) return;
        const { dir, name } = this.#place(path);
        if (dir.names.has(name)) this.disk.name([[dir, name, null]]); // Else it was a socket.
    }
    unlink(process, [path]) { this.#remove(this.#path(process, path)); }
    rmdir(process, [path]) { this.#remove(this.#path(process, path)); }
    unlinkat(process, [dir, path]) { this.#remove(this.#at(process, dir, path)); }

    #rename(from, to) {
        if (!from && !to) return;
        assert.ok(from && to, 'a rename over the border');
        const a = this.#place(from);
        const b = this.#place(to);
        assert.ok(a.node, `nothing at ${from}`);
        if (a.node === b.node) return;
        this.disk.name([[a.dir, a.name, null], [b.dir, b.name, a.node]], Boolean(b.node));
    }
    rename(process, [from, to]) {
        this.#rename(this.#path(process, from), this.#path(process, to));
    }
    renameat(process, [fromDir, from, toDir, to]) {
        this.#rename(this.#at(process, fromDir, from), this.#at(process, toDir, to));
    }
    renameat2(process, [fromDir, from, toDir, to]) {
        this.renameat(process, [fromDir, from, toDir, to]);
    }

    #link(node, to) {
        if (!to) return;
        const { dir, name } = this.#place(to);
        this.disk.name([[dir, name, node]]);
    }
    link(process, [from, to]) {
        const where = this.#path(process, from);
        this.#link(where && this.#place(where).node, this.#path(process, to));
    }
    linkat(process, [fromDir, from, toDir, to]) {
        const fd = /^\/proc\/self\/fd\/(\d+)$/.exec(textOf(from))?.[1];
        const where = this.#at(process, fromDir, from);
        const node = fd ? process.files.get(Number(fd))?.node : where && this.#place(where).node;
        this.#link(node, this.#at(process, toDir, to));
    }
    symlink(process, [target, path]) {
        const where = this.#path(process, path);
        if (where) this.#make(where, this.disk.link(textOf(target)));
    }
    symlinkat(process, [target, dir, path]) {
        const where = this.#at(process, dir, path);
        if (where) this.#make(where, this.disk.link(textOf(target)));
    }

    // ---- files ----

    #open(process, { dir, flags, mode, result }) {
        if (dir && descriptor(dir).fd === 'cwd' && descriptor(dir).path)
            process.cwd = descriptor(dir).path;
        const { fd, path, deleted } = descriptor(result);
        process.files.delete(fd);
        if (!path || /O_PATH/.test(flags)) return;
        const bits = mode ? Number.parseInt(mode, 8) & 0o755 : 0o644;
        if (/O_TMPFILE/.test(flags)) {
            if (this.#inside(path))
                process.files.set(fd, { node: this.disk.file(bits), at: 0 });
            return;
        }
        const where = deleted ? null : this.#inside(path);
        if (!where) return;
        const { node } = this.#place(where);
        if (!node && !/O_CREAT/.test(flags)) return; // A socket, or what is not of this disk.
        const found = node ?? this.#make(where, this.disk.file(bits));
        if (node && /O_TRUNC/.test(flags)) this.disk.truncate(node, 0);
        process.files.set(fd, { node: found, at: 0, append: /O_APPEND/.test(flags) });
    }
    openat(process, [dir, , flags, mode], result) {
        this.#open(process, { dir, flags, mode, result });
    }
    open(process, [, flags, mode], result) {
        this.#open(process, { flags, mode, result });
    }
    creat(process, [, mode], result) {
        this.#open(process, { flags: 'O_CREAT|O_TRUNC', mode, result });
    }

    // The open file of a call; null when it is no file of this disk.
    #file(process, arg) {
        const { fd, path } = descriptor(arg);
        const file = process.files.get(fd);
        if (!path?.startsWith('/') || !this.#inside(path)) return null;
        return file ?? null;
    }

    #write(process, arg, bytes, at) {
        const file = this.#file(process, arg);
        if (!file || bytes.length === 0) return;
        const from = at ?? (file.append ? file.node.size : file.at);
        this.disk.write(file.node, from, bytes);
        if (at === undefined) file.at = from + bytes.length;
    }
    write(process, [fd, text], result, began, args) {
        if (!this.#file(process, fd)) return;
        assert.ok(!isCut(args), 'a write that is too long');
        this.#write(process, fd, unhex(text.slice(1, -1)).subarray(0, Number(result)));
    }
    pwrite64(process, [fd, text, , at], result, began, args) {
        if (!this.#file(process, fd)) return;
        assert.ok(!isCut(args), 'a write that is too long');
        this.#write(process, fd, unhex(text.slice(1, -1)).subarray(0, Number(result)), Number(at));
    }
    #gather(args, result) {
        assert.ok(!isCut(args), 'a write that is too long');
        const parts = [...args.matchAll(/iov_base="((?:\\x..)*)"/g)].map(([, hex]) => unhex(hex));
        return Buffer.concat(parts).subarray(0, Number(result));
    }
    writev(process, [fd], result, began, args) {
        if (this.#file(process, fd)) this.#write(process, fd, this.#gather(args, result));
    }
    pwritev(process, all, result, began, args) {
        if (this.#file(process, all[0]))
            this.#write(process, all[0], this.#gather(args, result), Number(all.at(-1)));
    }
    copy_file_range(process, [, , to]) {
        assert.ok(!this.#file(process, to), 'a copy within the kernel');
    }
    sendfile(process, [to]) {
        assert.ok(!this.#file(process, to), 'a copy within the kernel');
    }
    ftruncate(process, [fd, size]) {
        const file = this.#file(process, fd);
        if (file) this.disk.truncate(file.node, Number(size));
    }
    truncate(process, [path, size]) {
        const where = this.#path(process, path);
        if (where) this.disk.truncate(this.#place(where).node, Number(size));
    }
    fallocate(process, [fd, mode, at, size]) {
        const file = this.#file(process, fd);
        const end = Number(at) + Number(size);
        if (file && mode === '0' && end > file.node.size) this.disk.truncate(file.node, end);
    }
    read(process, [fd], result) {
        const file = this.#file(process, fd);
        if (file) file.at += Number(result);
    }
    lseek(process, [fd], result) {
        const file = this.#file(process, fd);
        if (file) file.at = Number(result);
    }

    // ---- modes and owners ----

    #change(path, change) {
        const node = path && this.#place(path).node;
        if (node) Object.assign(node, change);
    }
    chmod(process, [path, mode]) {
        this.#change(this.#path(process, path), { mode: Number.parseInt(mode, 8) });
    }
    fchmodat(process, [dir, path, mode]) {
        this.#change(this.#at(process, dir, path), { mode: Number.parseInt(mode, 8) });
    }
    fchmod(process, [fd, mode]) {
        const file = this.#file(process, fd);
        if (file) file.node.mode = Number.parseInt(mode, 8);
    }
    chown(process, [path, uid, gid]) {
        this.#change(this.#path(process, path), { uid: Number(uid), gid: Number(gid) });
    }
    lchown(process, args) { this.chown(process, args); }
    fchownat(process, [dir, path, uid, gid]) {
        const where = textOf(path) === '' ? this.#inside(descriptor(dir).path ?? '')
            : this.#at(process, dir, path);
        this.#change(where, { uid: Number(uid), gid: Number(gid) });
    }
    fchown(process, [fd, uid, gid]) {
        const where = this.#inside(descriptor(fd).path ?? '');
        this.#change(where, { uid: Number(uid), gid: Number(gid) });
    }

    // ---- syncs ----

    #sync(process, arg, began, data) {
        const file = this.#file(process, arg);
        if (file) this.disk.sync(file.node, began, data);
    }
    fsync(process, [fd], result, began) { this.#sync(process, fd, began, false); }
    fdatasync(process, [fd], result, began) { this.#sync(process, fd, began, true); }
    syncfs(process, args, result, began) { this.disk.sync(null, began, false); }
    sync(process, args, result, began) { this.disk.sync(null, began, false); }

    // ---- processes ----

    dup(process, [from], result) {
        const file = process.files.get(descriptor(from).fd);
        const { fd } = descriptor(result);
        if (file) process.files.set(fd, file);
        else process.files.delete(fd);
    }
    dup2(process, [from], result) { this.dup(process, [from], result); }
    dup3(process, [from], result) { this.dup(process, [from], result); }
    fcntl(process, [from, verb], result) {
        if (/^F_DUPFD/.test(verb)) this.dup(process, [from], result);
    }
    chdir(process, [path]) { process.cwd = posix.resolve(process.cwd, textOf(path)); }
    fchdir(process, [fd]) { process.cwd = descriptor(fd).path ?? process.cwd; }
}
