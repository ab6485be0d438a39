// git.mjs - tiny origins, and agents for them.
//
// An origin has answer.txt, which says 41, and test.sh, which wants 42.
import { execFileSync } from 'node:child_process';
import { closeSync, constants, mkdirSync, openSync, readFileSync, renameSync, writeFileSync,
    writeSync } from 'node:fs';
import { join } from 'node:path';
import { commitFirst, makeBare } from '../../hub/lib/objects.mjs';

const ENV = {
    PATH: process.env.PATH,
    HOME: '/nonexistent',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_AUTHOR_NAME: 'Origin',
    GIT_AUTHOR_EMAIL: 'origin@example.org',
    GIT_COMMITTER_NAME: 'Origin',
    GIT_COMMITTER_EMAIL: 'origin@example.org',
};

export const FILES = {
    'answer.txt': '41\n',
    'test.sh': `grep -qx 42 answer.txt || {
    echo "FAIL: answer.txt: expected 42, got $(cat answer.txt)"
    exit 1
}
`,
    'AGENTS.md': 'Answers are whole numbers.\n',
};

export function git(dir, ...args) {
    return execFileSync('git', ['-C', dir, ...args], { env: ENV, encoding: 'utf8' }).trim();
}

export function refs(origin) {
    const lines = git(origin, 'for-each-ref', '--format=%(refname) %(objectname)');
    return Object.fromEntries(lines.split('\n').filter(Boolean).map((line) => line.split(' ')));
}

export function branches(origin) {
    return Object.keys(refs(origin)).filter((ref) => ref.startsWith('refs/heads/drover/'));
}

// A bare repository under dir with one commit on main.  It does without git's look, after every
// push, whether there is something to pack.
export function makeOrigin(dir, name, files = FILES) {
    const origin = makeBare(join(dir, `${name}.git`), { 'receive.autogc': 'false' });
    commitFirst(origin, files, { name: 'Origin', email: 'origin@example.org' });
    return origin;
}

// A plain checkout with one commit on main; with files that are missing, none.
export function makeCheckout(dir, files = FILES, branch = 'main') {
    mkdirSync(dir, { recursive: true });
    git(dir, 'init', '--quiet', `--initial-branch=${branch}`);
    for (const [path, text] of Object.entries(files ?? {})) {
        mkdirSync(join(dir, path, '..'), { recursive: true });
        writeFileSync(join(dir, path), text, { mode: path.endsWith('.sh') ? 0o755 : 0o644 });
    }
    if (!files) return dir;
    git(dir, 'add', '--all');
    git(dir, 'commit', '--quiet', '--message=first');
    return dir;
}

// One more commit on main of a bare repository, without a worktree.
export function commitTo(origin, path, text) {
    const hash = (args, input) =>
        execFileSync('git', ['-C', origin, ...args], { env: ENV, input, encoding: 'utf8' }).trim();
    const blob = hash(['hash-object', '-w', '--stdin'], text);
    const files = `${hash(['ls-tree', 'main'])}\n100644 blob ${blob}\t${path}\n`;
    const tree = hash(['mktree'], files);
    const commit = hash(['commit-tree', tree, '-p', 'main', '-m', path]);
    git(origin, 'update-ref', 'refs/heads/main', commit);
}

// A commit on top of base with one file changed, as somebody who works elsewhere would push it.
export function pushBranch(origin, { branch, base, path = 'answer.txt', text = '42\n' }) {
    const hash = (args, input) =>
        execFileSync('git', ['-C', origin, ...args], { env: ENV, input, encoding: 'utf8' }).trim();
    const blob = hash(['hash-object', '-w', '--stdin'], text);
    const rest = hash(['ls-tree', base]).split('\n').filter((line) => !line.endsWith(`\t${path}`));
    const tree = hash(['mktree'], `${rest.join('\n')}\n100644 blob ${blob}\t${path}\n`);
    const commit = hash(['commit-tree', tree, '-p', base, '-m', 'by an agent']);
    git(origin, 'update-ref', `refs/heads/${branch}`, commit);
    return commit;
}

// A pull request that somebody else than drover opens.
export function openPull(origin, number, commit) {
    git(origin, 'update-ref', `refs/pull/${number}/head`, commit);
}

// The patch that makes the answer this.
export const patchTo = (text) => `diff --git a/answer.txt b/answer.txt
--- a/answer.txt
+++ b/answer.txt
@@ -1 +1 @@
-41
+${text}
`;

// From now on every git that opens the origin waits; the function it gives back lets them go on.
export function holdOrigin(origin) {
    const config = join(origin, 'config');
    renameSync(config, `${config}.kept`);
    execFileSync('mkfifo', [config]);
    return () => {
        renameSync(config, `${config}.fifo`);
        renameSync(`${config}.kept`, config);
        try {
            const fd = openSync(`${config}.fifo`, constants.O_WRONLY | constants.O_NONBLOCK);
            writeSync(fd, readFileSync(config));
            closeSync(fd);
        } catch (error) {
            if (!['ENXIO', 'EPIPE'].includes(error.code)) throw error; // No reader is left.
        }
    };
}

// Agents as shell text; they run in the worktree.
export const done = (summary = 'done') =>
    `printf '{"status":"success","summary":"${summary}"}' >"$DROVER_RESULT"\n`;
export const gaveUp = (error) =>
    `printf '{"status":"error","error":"${error}"}' >"$DROVER_RESULT"\n`;
export const answers = (text) => `echo ${text} >answer.txt\n`;
export const fixes = answers(42) + done('the answer is 42');
// Prints one line of the agent's output stream.
export const says = (record) => `printf '%s\\n' '${JSON.stringify(record)}'\n`;
// Stays until it is killed, with three children of its own, all of them deaf to TERM.
export const staysWithChildren = (mark) => `trap '' TERM INT HUP
sleep 3000.${mark} &
(trap '' TERM; sleep 3001.${mark}) &
while :; do sleep 3002.${mark}; done
`;
// The same with one that has left the session: only walls hold it.
export const staysWithDaemon = (mark) => `setsid sleep 3003.${mark} &\n${staysWithChildren(mark)}`;
export const stays = (mark) => `exec sleep 3000.${mark}\n`;
// The same where the prompt says so; else what follows is done.
export const staysIfAsked = (mark) =>
    `if grep -qx 'stay here' "$DROVER_PROMPT"; then ${stays(mark)}fi\n`;
// A line "word ok" or "word no" in report.txt, as the command ends.
export const tries = (word, command) => `if ${command} >/dev/null 2>&1; then echo ${word} ok
else echo ${word} no; fi >>report.txt\n`;
// Goes on when the test opens the gate (gate.mjs): a directory where it runs, seen by the test.
export const waits = (mark) => `mkdir -p gate-${mark}
while [ ! -e gate-${mark}/open ]; do sleep 0.05; done
rm -r gate-${mark}
`;
