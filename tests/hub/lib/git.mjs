// git.mjs - the bare repositories of the hub, and git over HTTP by `git http-backend`.
//
// Everything but http-backend runs synchronously: what the API does to a repository happens between
// two requests, never in the middle of one.  What is asked about objects by their ids is asked
// once: they never change, and no repository here loses one.
import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createGunzip } from 'node:zlib';
import { isId, makeBare, readRef, readRefs, writeBlobs, writeCommit, writeTree }
    from './objects.mjs';

export const ZERO = '0'.repeat(40);
const OUTPUT_MAX = 64 * 1024 * 1024;

const ANSWERS_MAX = 10_000;
const SELF = { name: 'GitHub', email: 'noreply@github.example' };
const CONFIG = {
    'http.receivepack': 'true',
    'uploadpack.allowAnySHA1InWant': 'true',
    'uploadpack.allowFilter': 'true',
    'receive.hideRefs': 'refs/pull', // They are the forge's: nobody pushes them.
    'receive.advertisePushOptions': 'true',
    'gc.auto': '0',
    'receive.autogc': 'false',
};

const env = ({ name, email } = SELF) => ({
    PATH: process.env.PATH,
    HOME: '/nonexistent',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_AUTHOR_NAME: name,
    GIT_AUTHOR_EMAIL: email,
    GIT_COMMITTER_NAME: name,
    GIT_COMMITTER_EMAIL: email,
});


// Refuses what the hub has protected, as GitHub's own hook does.
const UPDATE_HOOK = `#!/bin/sh
grep -qsxF "$1" "\${GIT_DIR:-.}/hub-protected" || exit 0
echo "error: GH006: Protected branch update failed for $1." >&2
exit 1
`;

export class Bare {
    #answers = new Map();

    // config: as makeBare() has it, over the hub's own.
    constructor(dir, config = {}) {
        this.dir = makeBare(dir, { ...CONFIG, ...config });
    }

    run(args, { input, who, dir = this.dir } = {}) {
        return execFileSync('git', ['-C', dir, ...args], {
            env: env(who), input, encoding: 'utf8', maxBuffer: OUTPUT_MAX,
            stdio: ['pipe', 'pipe', 'pipe'],
        }).trimEnd();
    }

    // The same, null when git fails.
    try(args, options) {
        try {
            return this.run(args, options);
        } catch (error) {
            if (error.status === undefined || error.status === null) throw error;
            return null;
        }
    }

    // The same about commits, or ranges of them.  1 is git's "no", which stays as true as a yes;
    // other failures may be about an object that has yet to come.
    #ask(args, ...revs) {
        const fixed = revs.every((rev) => String(rev).split('..').every(isId));
        const key = args.join('\0');
        if (this.#answers.has(key)) return this.#answers.get(key);
        let answer = null;
        try {
            answer = this.run(args);
        } catch (error) {
            if (error.status === undefined || error.status === null) throw error;
            if (error.status !== 1) return null;
        }
        if (fixed && this.#answers.size < ANSWERS_MAX) this.#answers.set(key, answer);
        return answer;
    }

    // The same where git must have an answer.
    #tell(args, ...revs) {
        return this.#ask(args, ...revs) ?? this.run(args);
    }

    refs() {
        return readRefs(this.dir);
    }

    rev(name) {
        if (name.startsWith('refs/heads/')) return readRef(this.dir, name);
        const args = ['rev-parse', '--quiet', '--verify', `${name}^{commit}`];
        const key = args.join('\0');
        const found = this.#answers.get(key) ?? this.try(args);
        if (found && isId(name)) this.#answers.set(key, found);
        return found;
    }

    head(branch) {
        return this.rev(`refs/heads/${branch}`);
    }

    // False: the ref is not what it was.
    move(ref, to, from) {
        const args = to === null ? ['update-ref', '-d', ref] : ['update-ref', ref, to];
        if (from !== undefined) args.push(from ?? ZERO);
        return this.try(args) !== null;
    }

    isAncestor(a, b) {
        return this.#ask(['merge-base', '--is-ancestor', a, b], a, b) !== null;
    }

    mergeBase(a, b) {
        return this.#ask(['merge-base', a, b], a, b);
    }

    count(range) {
        return Number(this.#tell(['rev-list', '--count', range], range));
    }

    commits(range, max = 250) {
        const list = this.#tell(['rev-list', '--reverse', `--max-count=${max}`, range], range);
        return list.split('\n').filter(Boolean);
    }

    // {sha, tree, parents, message, author, committer}
    commit(sha) {
        const format = '%H%x00%T%x00%P%x00%an%x00%ae%x00%aI%x00%cn%x00%ce%x00%cI%x00%B';
        const text = this.#tell(['show', '--no-patch', `--format=${format}`, sha], sha);
        const [id, tree, parents, an, ae, ad, cn, ce, cd, message] = text.split('\0');
        return {
            sha: id, tree, message: message.trimEnd(),
            parents: parents.split(' ').filter(Boolean),
            author: { name: an, email: ae, date: utc(ad) },
            committer: { name: cn, email: ce, date: utc(cd) },
        };
    }

    // The tree of merging b into a, or null when they conflict.
    mergeTree(a, b) {
        const text = this.#ask(['merge-tree', '--write-tree', a, b], a, b);
        return text === null ? null : text.split('\n')[0];
    }

    commitTree(tree, parents, message, who = SELF) {
        return writeCommit(this.dir, { tree, parents, message, who });
    }

    // The commits of a branch on top of another; null when they do not apply.
    rebase(base, head, who) {
        const parent = mkdtempSync(join(dirname(this.dir), 'rebase-'));
        const dir = join(parent, 'tree');
        try {
            this.run(['worktree', 'add', '--quiet', '--detach', dir, base]);
            for (const sha of this.commits(`${base}..${head}`))
                if (this.try(['cherry-pick', '--allow-empty', sha], { dir, who }) === null)
                    return null;
            return this.run(['rev-parse', 'HEAD'], { dir });
        } finally {
            rmSync(parent, { recursive: true, force: true });
            this.try(['worktree', 'prune']);
        }
    }

    file(rev, path) {
        return this.#ask(['cat-file', 'blob', `${rev}:${path}`], rev);
    }

    paths(rev) {
        return this.#entries(rev).map((entry) => entry.path);
    }

    #entries(rev) {
        return this.#tell(['ls-tree', '-r', '-z', rev], rev).split('\0').filter(Boolean)
            .map((line) => {
                const [about, path] = line.split('\t');
                const [mode, , id] = about.split(' ');
                return { mode, id, path };
            });
    }

    // A tree like that of rev with these files; a text of null removes one.
    writeTree(rev, files) {
        const kept = rev === null ? [] : this.#entries(rev).filter(({ path }) => !(path in files));
        return writeTree(this.dir, [...kept, ...writeBlobs(this.dir, files)]);
    }

    // [{status, path, previous, additions, deletions, patch, sha}] between the merge base and head.
    files(base, head) {
        const range = [this.mergeBase(base, head) ?? base, head];
        const raw = this.#tell(['diff', '--raw', '-z', '--no-abbrev', '-M', ...range], ...range)
            .split('\0');
        const found = [];
        while (raw.length > 1) {
            const [, , , sha, status] = raw.shift().split(' ');
            const first = raw.shift();
            const renamed = /^[RC]/.test(status);
            found.push({ sha: sha === ZERO ? null : sha, status: STATUS[status[0]] ?? 'changed',
                path: renamed ? raw.shift() : first, previous: renamed ? first : undefined });
        }
        for (const each of found) {
            const text = this.#tell(['diff', '-M', ...range, '--', each.path], ...range);
            const at = text.indexOf('@@');
            each.patch = at < 0 ? '' : text.slice(at);
            const lines = each.patch.split('\n');
            each.additions = lines.filter((line) => line.startsWith('+')).length;
            each.deletions = lines.filter((line) => line.startsWith('-')).length;
        }
        return found;
    }

    protect(branches) {
        writeFileSync(join(this.dir, 'hooks', 'update'), UPDATE_HOOK, { mode: 0o755 });
        writeFileSync(join(this.dir, 'hub-protected'),
            branches.map((branch) => `refs/heads/${branch}\n`).join(''));
    }
}

const STATUS = { A: 'added', D: 'removed', M: 'modified', R: 'renamed', C: 'copied' };

const utc = (date) => `${new Date(date).toISOString().slice(0, 19)}Z`;

// Serves one request of git; resolves when it is done, with whether it was a push.
export function serveGit(bare, { req, res, url, rest, login }) {
    const cgi = spawn('git', ['http-backend'], {
        env: {
            ...env(),
            GIT_PROJECT_ROOT: dirname(bare.dir),
            GIT_HTTP_EXPORT_ALL: '1',
            PATH_INFO: `/${bare.dir.slice(dirname(bare.dir).length + 1)}/${rest}`,
            QUERY_STRING: url.search.slice(1),
            REQUEST_METHOD: req.method,
            CONTENT_TYPE: req.headers['content-type'] ?? '',
            GIT_PROTOCOL: req.headers['git-protocol'] ?? '',
            REMOTE_USER: login ?? '',
            REMOTE_ADDR: '127.0.0.1',
        },
        stdio: ['pipe', 'pipe', 'ignore'],
    });
    const zipped = req.headers['content-encoding'] === 'gzip';
    (zipped ? req.pipe(createGunzip()) : req).on('error', () => cgi.kill()).pipe(cgi.stdin);
    cgi.stdin.on('error', () => {});
    return new Promise((resolve) => {
        let head = Buffer.alloc(0), begun = false;
        cgi.stdout.on('data', (part) => {
            if (begun) return res.write(part);
            head = Buffer.concat([head, part]);
            const end = head.indexOf('\r\n\r\n');
            if (end < 0) return undefined;
            begun = true;
            writeHead(res, head.subarray(0, end).toString('latin1'));
            return res.write(head.subarray(end + 4));
        });
        cgi.on('close', () => {
            if (!begun) res.writeHead(500);
            resolve();
        });
    });
}

function writeHead(res, text) {
    let status = 200;
    for (const line of text.split('\r\n')) {
        const at = line.indexOf(':');
        const [name, value] = [line.slice(0, at), line.slice(at + 1).trim()];
        if (name.toLowerCase() === 'status') status = Number.parseInt(value, 10);
        else res.setHeader(name, value);
    }
    res.writeHead(status);
}
