// hunt.mjs - a program for a sandbox: it looks for secrets in everything that it can reach.
//
// It runs inside, as a file of the repository, with hunt.json beside it:
//     {canaries: {name: text reversed}, paths: {name: path}}
// Texts are reversed so that the file itself is no find.  It prints "hunted N files, ..." and exits
// with 1 when it has found something, with a line for each.
import { closeSync, existsSync, lstatSync, openSync, readFileSync, readSync, readdirSync,
    readlinkSync } from 'node:fs';
import net from 'node:net';
import { join } from 'node:path';

const { canaries, paths } = JSON.parse(readFileSync('hunt.json', 'utf8'));
const secrets = Object.entries(canaries)
    .map(([name, text]) => [name, Buffer.from([...text].reverse().join(''))]);
const FILES_MAX = 5000;
const BYTES_MAX = 1 << 20; // Of a file.
const room = Buffer.alloc(BYTES_MAX);
const SHALLOW = ['/usr', '/opt', '/sys', '/bin', '/sbin', '/lib', '/lib32', '/lib64'];
const found = new Set();
const sockets = new Set();
let files = 0;

function tryTo(action, otherwise) {
    try {
        return action();
    } catch {
        return otherwise;
    }
}

function readHead(path) {
    return tryTo(() => {
        const fd = openSync(path, 'r');
        try {
            return room.subarray(0, readSync(fd, room, 0, BYTES_MAX, null));
        } finally {
            closeSync(fd);
        }
    }, Buffer.alloc(0));
}

function look(path) {
    files++;
    const bytes = readHead(path);
    for (const [name, secret] of secrets)
        if (bytes.includes(secret)) found.add(`${name} in ${path}`);
    if (bytes.subarray(0, 15).toString() === 'SQLite format 3') found.add(`a database: ${path}`);
    const text = bytes.toString('latin1');
    if (/drv_[0-9a-f]{40}/.test(text)) found.add(`a token in ${path}`);
    const runs = text.match(/drun_[-0-9a-f]{36}/g) ?? [];
    if (runs.some((run) => run !== `drun_${process.env.DROVER_RUN_ID}`))
        found.add(`a token of another run in ${path}`);
}

function walk(top) {
    const stack = [[top, 0]];
    while (stack.length > 0 && files < FILES_MAX) {
        const [dir, depth] = stack.pop();
        for (const name of tryTo(() => readdirSync(dir), [])) {
            const path = join(dir, name);
            const status = tryTo(() => lstatSync(path), null);
            if (!status || path === '/proc' || path === '/dev') continue;
            const shallow = SHALLOW.some((each) => path.startsWith(`${each}/`));
            if (status.isDirectory() && !(shallow && depth > 1)) stack.push([path, depth + 1]);
            if (status.isSocket()) sockets.add(path);
            if (status.isFile() && !shallow) look(path);
        }
    }
}

function searchProcesses() {
    for (const pid of readdirSync('/proc').filter((name) => /^\d+$|^self$/.test(name))) {
        for (const name of ['environ', 'cmdline']) look(`/proc/${pid}/${name}`);
        for (const fd of tryTo(() => readdirSync(`/proc/${pid}/fd`), [])) {
            const target = tryTo(() => readlinkSync(`/proc/${pid}/fd/${fd}`), '');
            if (tryTo(() => lstatSync(target).isFile(), false)) look(`/proc/${pid}/fd/${fd}`);
        }
        for (const [name, path] of Object.entries(paths))
            if (existsSync(`/proc/${pid}/root${path}`)) found.add(`${name}: ${path} by ${pid}`);
    }
    const listed = tryTo(() => readFileSync('/proc/net/unix', 'utf8'), '');
    for (const line of listed.split('\n').slice(1)) {
        const path = line.trim().split(/ +/)[7];
        if (path) sockets.add(path.replace(/^@/, '\0'));
    }
}

// A socket that is not the one it was given must not answer.
function knock(path) {
    return new Promise((resolve) => {
        const socket = net.connect(path, () => resolve(socket.destroy() && true));
        socket.on('error', () => resolve(false));
    });
}

for (const [name, path] of Object.entries(paths))
    if (existsSync(path)) found.add(`${name}: ${path}`);
walk('/');
searchProcesses();
for (const path of sockets)
    if (path !== process.env.DROVER_SOCKET && await knock(path))
        found.add(`a socket: ${JSON.stringify(path)}`);
console.log(`hunted ${files} files, ${sockets.size} sockets, as ${process.getuid()}`);
for (const line of found) console.log(`FOUND ${line}`);
process.exit(found.size > 0 ? 1 : 0);
