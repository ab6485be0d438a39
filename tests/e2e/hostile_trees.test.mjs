// hostile_trees.test.mjs - trees that an agent made to attack the git that reads them.
//
// Every tree goes through every path that reads it:
//     publish   snapshots while the agent works, patch, verify, judge, publish, clean
//     rescue    the agent gives up: last snapshot, rescue, push of the snapshot, kept tree
//     branch    the same kind of tree as a branch that an agent elsewhere pushed: fetch, collect
//     given     a patch that an agent elsewhere handed over
// Whatever becomes of it, no secret of the server or of another repository is in anything that the
// run made, nothing that was planted ran outside the sandbox, the run ends in a state with a name,
// and the server stays healthy (discard() asks the doctor).
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fixes, gaveUp, git, waits } from './lib/git.mjs';
import { newMark } from './lib/procs.mjs';
import { start } from './lib/server.mjs';
import { until } from './lib/wait.mjs';

const MB = 1024 * 1024;
const POLICY = { policy: { approval: 'never', scanSecrets: false }, retries: { agentAttempts: 1 } };
let server, token, victim;

// ---- what must not be seen ----

const canary = `canary-${newMark()}`;
const outside = () => join(server.dir, 'outside.txt');
const marks = () => join(server.dir, 'marks');
const mirrors = () => join(server.data, 'work/mirrors');
const listMirrors = () => readdirSync(mirrors()).filter((name) => name.endsWith('.git'));
const secrets = () => [server.token, canary, `outside-${canary}`];

function assertClean(what, text) {
    for (const secret of secrets())
        assert.ok(!text.includes(secret), `${what} holds ${secret.slice(0, 12)}...`);
}

// Events, results, artifacts and snapshots of a run; the log.
async function assertNothingLeaked(runId) {
    for (const path of ['', '/events?limit=200', '/artifacts', '/snapshots', '/attempts']) {
        const { text } = await server.call('GET', `/v1/runs/${runId}${path}`);
        assertClean(path || 'run', text);
    }
    for (const { sha256 } of (await server.get(`/v1/runs/${runId}/artifacts`)).items)
        assertClean('artifact', (await server.call('GET', `/v1/artifacts/${sha256}`)).text);
    const jobs = await server.list(`/v1/jobs?runId=${runId}`);
    assertClean('jobs', JSON.stringify(jobs));
    assertClean('log', server.said());
    assert.deepEqual(readdirSync(marks()), [], 'nothing planted ran outside');
}

// Once, behind all runs: a mirror keeps what ever came into it.
function assertNoForeignSource() {
    const theirs = victim.mirror.replace(/git$/, '');
    const others = listMirrors().filter((each) => !each.startsWith(theirs));
    assert.ok(others.length > 0, 'there are mirrors to look at');
    for (const name of others)
        assert.throws(() => execFileSync('git', ['--git-dir', join(mirrors(), name), 'cat-file',
            '-e', victim.commit], { stdio: 'ignore' }), `${name} holds foreign source`);
}

// ---- trees, as shell text that makes them ----

// Runs where git runs it: plants a repository wherever drover's git directories are.
const payload = () => `#!/bin/sh
id >${marks()}/$$ 2>/dev/null
for dir in ${server.data}/work/runs/*/*.git ${server.data}/work/runs/*/*.intake; do
    at=$dir/.git
    mkdir -p "$at/refs/heads" "$at/objects/info" || continue
    printf '[core]\\n\\tfsmonitor = sh ${server.dir}/payload\\n' >"$at/config"
    echo 'ref: refs/heads/snapshot' >"$at/HEAD"
    echo ${victim.commit} >"$at/refs/heads/snapshot"
    echo ${mirrors()}/${victim.mirror}/objects >"$at/objects/info/alternates"
    [ "$PLANT" != token ] || ln -sf ${server.data}/admin.token "$at/objects/info/alternates"
done 2>/dev/null
exec cat
`;
// A repository in a directory whose configuration runs the payload for every file that is hashed.
const nests = (dir, plant = 'source') => `mkdir -p ${dir}; (cd ${dir}
git init -q . && echo aa >f && git add f && git -c user.name=a -c user.email=b commit -qm x
cat >.git/payload <<'END'
${payload()}END
git config filter.x.clean "PLANT=${plant} sh $PWD/.git/payload"
git config filter.x.required true
git config core.fsmonitor "sh $PWD/.git/payload"
git config core.hooksPath "$PWD/.git/hooks"
echo '* filter=x' >.gitattributes; echo bb >f)
`;
const octal = (byte) => `\\${byte.toString(8).padStart(3, '0')}`;
const bytes = (...list) => `$(printf '${list.map(octal).join('')}x')`;

// Each: make(): the script; ends: error code or 'completed' of the publish path; gitlink: a path
// that the base commit has as one; shots: snapshots to wait for; kept: the tree has to be kept;
// check(read): read(path) gives a file of the pull request; created: of agent.patch.created.
const trees = {
    'a gitlink of the base with a filter of its own': { gitlink: 'sub', ends: 'completed',
        shots: 2, kept: true, make: () => nests('sub') },
    'the same with alternates that lead to the token': { gitlink: 'sub', ends: 'completed',
        shots: 2, kept: true, make: () => nests('sub', 'token') },
    'a nested repository of the agent\'s': { ends: 'completed', shots: 2, kept: true,
        make: () => nests('inner/deep') + nests('other'),
        check: (read, list) => assert.ok(!list.some((path) => /^(inner|other)/.test(path))) },
    'nine repositories without a commit': { ends: 'completed', shots: 1, kept: true,
        make: () => 'for i in 1 2 3 4 5 6 7 8 9; do git init -q fix$i; echo x >fix$i/f; done\n',
        check: (read, list) => assert.ok(!list.some((path) => path.startsWith('fix'))),
        created: (event) => {
            assert.equal(event.nestedRepositoryCount, 9);
            assert.equal(event.nestedRepositories[8], 'fix9');
        } },
    'a nested repository that is a link to another': { ends: 'completed',
        make: () => `mkdir n; ln -s ${mirrors()}/${victim?.mirror} n/.git; echo x >n/f
mkdir m; echo "gitdir: ${mirrors()}/${victim?.mirror}" >m/.git; echo x >m/f\n` },
    'attributes for everything': { ends: 'completed', shots: 1,
        make: () => `cat >.gitattributes <<'END'
*.txt filter=x diff=x -diff working-tree-encoding=ISO-8859-1 export-ignore merge=x
* filter=lfs diff=lfs merge=lfs -text
END
printf '[submodule "s"]\\n\\tpath = -s\\n\\turl = ext::sh -c touch\\n' >.lfsconfig
git config filter.x.clean "touch ${marks()}/filter; cat"
git config filter.lfs.process "touch ${marks()}/lfs"
git config diff.x.textconv "touch ${marks()}/textconv; cat"
git config diff.x.command "touch ${marks()}/command"
git config diff.external "touch ${marks()}/external"
git config core.fsmonitor "touch ${marks()}/fsmonitor"\n`,
        check: (read) => assert.match(read('.gitattributes'), /filter=lfs/),
        patch: (text) => assert.match(text, /^\+42$/m, 'attributes hide no text file') },
    'an encoding that no file has': { ends: 'patch_failed', kept: true,
        make: () => `echo '*.txt working-tree-encoding=UTF-16' >.gitattributes
echo x >new.txt\n` },
    'a large-file pointer and submodules': { ends: 'completed',
        make: () => `echo 'version https://git-lfs.github.com/spec/v1' >p.bin
printf 'oid sha256:%064d\\nsize 9\\n' 0 >>p.bin
printf '[submodule "s"]\\n\\tpath = s\\n\\turl = ${victim?.origin}\\n' >.gitmodules; mkdir s\n` },
    'links that lead out': { ends: 'completed', shots: 1,
        make: () => `ln -s ${server.data}/admin.token token; ln -s ${server.data} data; ln -s / root
ln -s ${outside()} out; ln -s ../../../../../../../../etc/passwd up; ln -s self self
rm -f test.sh.bak; mkdir d; ln -s ${mirrors()} d/mirrors\n`,
        check: (read) => assert.equal(read('token'), `${server.data}/admin.token`) },
    'a tracked directory that became a link': { ends: 'completed', files: { 'dir/a.txt': 'a\n' },
        make: () => `rm -r dir; ln -s ${server.data} dir\n`,
        check: (read) => assert.equal(read('dir'), server.data) },
    'pipes, sockets and hard links': { ends: 'completed', shots: 1,
        make: () => `mkfifo pipe; mkdir d; mkfifo d/pipe; ln ${outside()} hard; ln answer.txt twin
ln /etc/passwd pw; mknod null c 1 3; mknod disk b 8 0
${process.execPath} -e '
    require("net").createServer().listen("d/sock", () => process.kill(process.pid, 9))'
rm -f pw hard\n` },
    'a pipe in the place of a file': { ends: 'patch_failed', kept: true,
        make: () => 'rm AGENTS.md; mkfifo AGENTS.md\n' },
    'names of all kinds': { ends: 'completed', shots: 1,
        make: () => `n=${bytes(0x61, 0x0a, 0x62)}; echo 1 >"$n"
n=${bytes(0x63, 0x09, 0x1b, 0x5b, 0x33, 0x31, 0x6d)}; echo 1 >"$n"
n=${bytes(0xff, 0xfe, 0x80)}; echo 1 >"$n"
echo 1 >-rf; echo 1 >--output=x; echo 1 >'a b'; echo 1 >'q"u\\o'; echo 1 >"$(printf %0250d 1)"
mkdir -p ' ' './-d'; echo 1 >' /x'; echo 1 >./-d/--help; echo 1 >':(top)x'; echo 1 >'*'\n`,
        check: (read, list) => assert.ok(list.length >= 14, list.join('|')) },
    'names that are almost .git': { ends: 'patch_failed', kept: true,
        make: () => `mkdir .GIT .Git; echo '[core]' >.GIT/config; echo x >'.git '; mkdir 'git~1'
echo x >'git~1/config'; echo x >.Git/x\n` },
    'a tree that is very deep': { ends: 'completed', shots: 1,
        make: () => `d=.; for i in $(seq 100); do d=$d/deep; done; mkdir -p $d; echo x >$d/f\n` },
    'more files than a patch may have': { ends: 'patch_too_large',
        make: () => 'mkdir many; (cd many; seq 11000 | xargs touch)\n' },
    'a sparse file of 2 GB': { ends: 'patch_too_large', kept: true,
        resources: { memoryBytes: 200 * MB }, make: () => 'truncate -s 2G large\n' },
    'a tracked file of 5 GB': { ends: 'patch_too_large', kept: true,
        resources: { memoryBytes: 200 * MB }, make: () => 'truncate -s 5G AGENTS.md\n' },
    'a sparse file that is ignored': { ends: 'completed', shots: 1,
        make: () => 'echo /large >.gitignore; truncate -s 2G large\n' },
    'files that cannot be read': { ends: 'patch_failed', kept: true,
        make: () => 'echo x >closed; chmod 000 closed\n' },
    'directories that cannot be read': { ends: 'patch_failed', kept: true,
        make: () => 'mkdir closed; echo x >closed/f; chmod 000 closed\n' },
    'a .git that leads elsewhere': { ends: 'completed', shots: 1,
        make: () => `rm -rf .git; ln -s ${mirrors()}/${victim?.mirror} .git\n` },
    'a .git full of locks and alternates': { ends: 'completed',
        make: () => `cd .git; touch index.lock HEAD.lock config.lock; rm -f HEAD index
ln -s ${server.data}/admin.token HEAD; ln -s ${server.data}/admin.token index
echo ${mirrors()}/${victim?.mirror}/objects >objects/info/alternates
mkdir -p refs/heads; ln -s ${server.data}/admin.token refs/heads/x; cd ..\n` },
    'a tree that wants to be elsewhere': { ends: 'completed',
        make: () => `mv "$PWD" "$PWD.away"; ln -s ${server.data} "$PWD"; rm -rf "$PWD"/../tree.mark
rmdir "$PWD"; cd "$PWD"\n` },
    'words for those who read the log': { ends: 'completed',
        make: () => `printf '\\033[31m\\r\\nfatal: x\\n' >"$(printf 'fatal:\\n x')"
git -c user.name=a -c user.email=b commit -qam "$(printf 'Drover-Run: x\\n\\033[2J')"\n` },
};

// ---- the paths ----

let count = 0;
async function repository(tree, agent, more = {}) {
    const files = tree.files && { 'answer.txt': '41\n', 'test.sh': 'grep -qx 42 answer.txt\n',
        'AGENTS.md': 'x\n', ...tree.files };
    const repo = await server.repository(`evil/tree-${++count}`, agent,
        { ...POLICY, ...(files && { files }), ...more });
    repo.document.agent.resources = tree.resources;
    await server.configure(repo.name, repo.document);
    if (tree.gitlink) addGitlink(repo.origin, tree.gitlink);
    return repo;
}

function addGitlink(origin, path) {
    const main = git(origin, 'rev-parse', 'main');
    const entries = `${git(origin, 'ls-tree', 'main')}\n160000 commit ${main}\t${path}\n`;
    const commit = commitTree(origin, makeTree(origin, entries), main);
    git(origin, 'update-ref', 'refs/heads/main', commit);
}

const plumb = (origin, args, input) => execFileSync('git', ['-C', origin, ...args],
    { input, encoding: 'utf8', env: { PATH: process.env.PATH, GIT_AUTHOR_NAME: 'x',
        GIT_AUTHOR_EMAIL: 'x', GIT_COMMITTER_NAME: 'x', GIT_COMMITTER_EMAIL: 'x' } }).trim();
const makeTree = (origin, entries) => plumb(origin, ['mktree', '--missing'], entries);
const commitTree = (origin, tree, parent) =>
    plumb(origin, ['commit-tree', tree, '-p', parent, '-m', 'by an agent']);

async function ended(taskId) {
    return server.untilTask(taskId, 'completed', 'failed', 'timed_out');
}

async function publishes(tree) {
    const gates = Array.from({ length: tree.shots ?? 0 }, () => newMark());
    const shots = gates.map((mark) => `date +%N >turn.txt\n${waits(mark)}`).join('');
    const repo = await repository(tree, `${tree.make()}\n${shots}${fixes}`,
        { timeouts: { snapshotMs: tree.shots ? 50 : 0 },
          judge: [{ name: 'look', command: 'cat answer.txt; ls -la >/dev/null; exit 0' }] });
    const { taskId, runId } = await server.submit(repo.name);
    for (const [i, mark] of gates.entries()) {
        await until(`snapshot ${i + 1} of ${runId}`, async (note) =>
            note(await server.dataOf(runId, 'agent.snapshot.taken')).length > i)
            .finally(() => assertNothingLeaked(runId));
        await server.openGate(mark);
    }
    const task = await ended(taskId);
    assert.equal(task.errorCode ?? task.status, tree.ends, JSON.stringify(task));
    if (task.status === 'completed') {
        const { branch } = await server.run(runId);
        const [patch] = await server.dataOf(runId, 'agent.patch.created');
        const { text } = await server.call('GET', `/v1/artifacts/${patch.diffArtifactId}`);
        tree.patch?.(text);
        tree.created?.(patch);
        const list = git(repo.origin, 'ls-tree', '-r', '-z', '--name-only', branch).split('\0');
        assert.equal(git(repo.origin, 'show', `${branch}:answer.txt`), '42');
        tree.check?.((path) => git(repo.origin, 'show', `${branch}:${path}`), list);
        const before = git(repo.origin, 'ls-tree', '-r', 'main').match(/^160000.*$/gm);
        const links = git(repo.origin, 'ls-tree', '-r', branch).match(/^160000.*$/gm);
        assert.deepEqual(links, before, 'gitlinks stay as they were');
    }
    return runId;
}

// Ends without a patch: what there is has to be in a snapshot, or the tree is kept.
async function rescues(tree) {
    const repo = await repository(tree, `${tree.make()}\n${gaveUp('no')}`,
        { timeouts: { snapshotMs: 0 } });
    const { taskId, runId } = await server.submit(repo.name);
    const { errorCode } = await ended(taskId);
    if (tree.ends === 'completed') assert.match(errorCode, /^agent_error(_partial_work)?$/);
    else assert.equal(errorCode, tree.ends);
    await server.untilCleaned(runId);
    const all = (await server.get(`/v1/runs/${runId}/snapshots`)).items;
    const kept = all.some((each) => each.keptAt && existsSync(each.keptAt));
    assert.equal(kept, tree.kept ?? false, JSON.stringify(all));
    return runId;
}

describe('a hostile tree', { concurrency: 4 }, () => {
    before(async () => {
        server = await start({ args: ['--workers', '6'] });
        writeFileSync(outside(), `outside-${canary}\n`);
        mkdirSync(marks());
        chmodSync(marks(), 0o777);
        writeFileSync(join(server.dir, 'payload'), `touch ${marks()}/outside\n`);
        ({ token } = await server.post('/v1/tokens', { name: 'puller', role: 'worker' }));
        const repo = await server.repository('acme/private', fixes, { ...POLICY,
            files: { 'answer.txt': '41\n', 'test.sh': 'true\n', 'secret.c': `// ${canary}\n` } });
        await server.finish(repo.name, 'completed');
        victim = { origin: repo.origin, commit: git(repo.origin, 'rev-parse', 'main'),
            mirror: listMirrors().find((name) => !name.endsWith('.snapshots.git')) };
    });
    after(async () => {
        try {
            if (server.walled) assertNoForeignSource();
        } finally {
            await server.discard();
        }
    });

    for (const [name, tree] of Object.entries(trees)) {
        it(`${name}: published`, async (t) => {
            if (!server.needsWalls(t)) return;
            const runId = await publishes(tree);
            await server.untilCleaned(runId);
            await assertNothingLeaked(runId);
        });
        it(`${name}: rescued`, async (t) => {
            if (!server.needsWalls(t)) return;
            await assertNothingLeaked(await rescues(tree));
        });
    }

    // ---- agents elsewhere ----

    // Leases the run's job as an agent elsewhere would, and completes it with what work() gives.
    async function elsewhere(work, more = {}) {
        const queue = `agents-${++count}`;
        const repo = more.repo ?? await server.repository(`evil/far-${count}`, '',
            { ...POLICY, agent: { compute: 'pull', queue } });
        const { taskId, runId } = await server.submit(repo.name);
        const queues = [repo.document.agent.queue];
        const call = async (path, body) => {
            const res = await server.call('POST', path, { body, token });
            assert.ok(res.status < 300, res.text);
            return res.json.jobs[0];
        };
        const job = await until(`work for ${repo.name}`, () => call('/v1/jobs/lease',
            { queues, worker: 'far', max: 1, waitMs: 2000, leaseMs: 60_000 }));
        const result = await work(repo, job.payload);
        await call('/v1/jobs/complete',
            { jobs: [{ id: job.id, epoch: job.epoch, result: { status: 'success', ...result } }] });
        const task = await ended(taskId);
        await assertNothingLeaked(runId);
        return { repo, task, runId };
    }

    // entries(blob): further lines for mktree; edit: a change of the bytes of the tree.
    function pushTree({ origin }, { branch, baseCommit }, { entries = () => '', edit }) {
        const blob = (text) => plumb(origin, ['hash-object', '-w', '--stdin'], text);
        const rest = git(origin, 'ls-tree', baseCommit).split('\n')
            .filter((line) => !line.endsWith('\tanswer.txt'));
        let tree = makeTree(origin, [...rest, `100644 blob ${blob('42\n')}\tanswer.txt`,
            entries(blob)].filter(Boolean).join('\n'));
        if (edit) {
            const raw = execFileSync('git', ['-C', origin, 'cat-file', 'tree', tree]);
            const bad = Buffer.from(raw.toString('latin1').replace(...edit), 'latin1');
            tree = plumb(origin,
                ['hash-object', '-t', 'tree', '-w', '--stdin', '--literally'], bad);
        }
        git(origin, 'update-ref', `refs/heads/${branch}`, commitTree(origin, tree, baseCommit));
        return {};
    }

    const MODULES = '[submodule "a"]\n\tpath = a\n\turl = --upload-pack=touch\n';
    const pushes = {
        'leads out of itself': { edit: ['AGENTS.md', '..'], ends: 'patch_failed' },
        'holds a .git': { edit: ['AGENTS.md', '.git'], ends: 'patch_failed' },
        'has a submodule that runs a command': { ends: 'patch_failed',
            entries: (blob) => `100644 blob ${blob(MODULES)}\t.gitmodules` },
        'has links and odd names': { ends: 'completed', entries: (blob) =>
            `120000 blob ${blob(`${server.data}/admin.token`)}\tlink\n` +
            `100644 blob ${blob('x')}\t"a\\nb\\033[31m\\377"\n100644 blob ${blob('x')}\t--help` },
        'has a gitlink': { ends: 'completed',
            entries: () => `160000 commit ${victim.commit}\tsub` },
        'has attributes': { ends: 'completed', entries: (blob) =>
            `100644 blob ${blob('* filter=x diff=x -diff merge=x\n')}\t.gitattributes` },
    };
    for (const [what, push] of Object.entries(pushes)) {
        it(`a pushed branch that ${what}`, async (t) => {
            if (!server.needsWalls(t)) return;
            const { repo, task } = await elsewhere((r, payload) => pushTree(r, payload, push));
            assert.equal(task.errorCode ?? task.status, push.ends, JSON.stringify(task));
            if (push.ends === 'completed') return;
            // What is refused keeps nobody else from working.
            const next = await elsewhere((r, payload) => pushTree(r, payload, {}), { repo });
            assert.notEqual(next.task.errorCode, 'repository_unreachable');
        });
    }

    const fix = 'diff --git a/answer.txt b/answer.txt\n--- a/answer.txt\n+++ b/answer.txt\n' +
        '@@ -1 +1 @@\n-41\n+42\n';
    const adds = (path, text, mode = '100644') => `diff --git a/${path} b/${path}
new file mode ${mode}
--- /dev/null
+++ b/${path}
@@ -0,0 +1 @@
+${text}
${mode === '120000' ? '\\ No newline at end of file\n' : ''}`;
    const patches = {
        'writes outside': { text: () => adds('../../outside', 'x'), ends: 'patch_failed' },
        'writes to a .git': { text: () => adds('.git/config', 'x'), ends: 'patch_failed' },
        'writes through a link': { ends: 'patch_failed',
            text: () => adds('out', marks(), '120000') + adds('out/x', 'x') },
        'adds a gitlink': { ends: 'completed',
            text: () => adds('sub', `Subproject commit ${victim.commit}`, '160000') },
        'adds a link': { ends: 'completed',
            text: () => adds('token', `${server.data}/admin.token`, '120000') },
        'has odd bytes before it': { text: () => '\0\x1b[2J\n', ends: 'completed' },
        'is no patch at all': { text: () => '\0\x1b[2J', rest: '', ends: 'patch_failed' },
    };
    for (const [what, patch] of Object.entries(patches)) {
        it(`a given patch that ${what}`, async (t) => {
            if (!server.needsWalls(t)) return;
            const { task } = await elsewhere(async () =>
                ({ patchSha256: await server.upload(patch.text() + (patch.rest ?? fix), token) }));
            assert.equal(task.errorCode ?? task.status, patch.ends, JSON.stringify(task));
        });
    }
});
