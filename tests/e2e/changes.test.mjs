// changes.test.mjs - whatever an agent does to its tree arrives in the pull request as it is.
import assert from 'node:assert/strict';
import { renameSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { FILES, answers, branches, done, fixes, git } from './lib/git.mjs';
import { assertProblem } from './lib/http.mjs';
import { start } from './lib/server.mjs';

let server;

describe('a change', { concurrency: 6 }, () => {
    before(async () => {
        server = await start({ args: ['--workers', '6'] });
    });
    after(() => server.discard());

    it('of every kind arrives: new, gone, moved, binary, executable, link, odd names', async () => {
        const files = { ...FILES, 'gone.txt': 'x\n', 'old/name.txt': 'moved\n', 'run.txt': 'y\n' };
        const agent = `rm gone.txt; mkdir new; mv old/name.txt new/name.txt
            head -c 5000 /dev/urandom >random.bin; cp random.bin 'with space.bin'
            chmod +x run.txt; ln -s answer.txt link
            printf 'x\\n' >"$(printf 'tab\\there')"; printf 'x\\n' >'quote".txt'
            printf 'x\\n' >"$(printf '\\303\\274ml\\303\\244ut.txt')"; printf 'no newline' >last.txt
            printf 'a\\r\\nb\\r\\n' >crlf.txt; mkdir deep; : >deep/empty.txt\n${fixes}`;
        const repo = await server.repository('acme/kinds', agent, { files });
        const { run } = await server.finish(repo.name, 'completed');
        const listed = git(repo.origin, 'ls-tree', '-rz', run.branch).split('\0').filter(Boolean);
        const tree = new Map(listed.map((line) => [line.split('\t').slice(1).join('\t'),
            line.split(' ')[0]]));
        assert.deepEqual([...tree.keys()].sort(), [...Object.keys(FILES), 'crlf.txt',
            'deep/empty.txt', 'last.txt', 'link', 'new/name.txt', 'quote".txt', 'random.bin',
            'run.txt', 'tab\there', 'with space.bin', '\u00fcml\u00e4ut.txt'].sort());
        assert.equal(tree.get('run.txt'), '100755');
        assert.equal(tree.get('link'), '120000');
        assert.equal(git(repo.origin, 'rev-parse', `${run.branch}:random.bin`),
            git(repo.origin, 'rev-parse', `${run.branch}:with space.bin`));
        assert.equal(git(repo.origin, 'cat-file', '-s', `${run.branch}:crlf.txt`), '6');
    });

    const table = [
        { how: 'by an agent that removes .git', agent: `rm -rf .git\n${fixes}` },
        { how: 'by an agent that breaks .git', agent: `: >.git/HEAD; rm .git/index\n${fixes}` },
        { how: 'on another branch and in commits', agent: `git checkout -q -b mine
            git -c user.name=a -c user.email=a@b commit -q --allow-empty -m one\n${fixes}` },
        { how: 'after history was rewritten', agent: `git checkout -q --orphan fresh
            git -c user.name=a -c user.email=a@b commit -qm all\n${fixes}` },
        { how: 'that is staged only', agent: `${answers(42)}git add answer.txt\n${done()}` },
        { how: 'with the lock of a git that died', agent: `: >.git/index.lock\n${fixes}` },
        { how: 'with file times turned back', agent: `${fixes}touch -d 2001-01-01 answer.txt` },
    ];
    table.forEach(({ how, agent }, index) => {
        it(`${how} arrives as one commit on the base`, async () => {
            const repo = await server.repository(`acme/way-${index}`, agent);
            const { run } = await server.finish(repo.name, 'completed');
            assert.equal(git(repo.origin, 'show', `${run.branch}:answer.txt`), '42');
            assert.equal(git(repo.origin, 'rev-parse', `${run.branch}~1`), run.baseCommit);
            assert.equal(git(repo.origin, 'diff', '--name-only', 'main', run.branch), 'answer.txt');
        });
    });

    it('with a repository inside the repository does no harm', async () => {
        const agent = `git init -q inner; echo x >inner/x; git -C inner add x
            git -C inner -c user.name=a -c user.email=a@b commit -qm x\n${fixes}`;
        const repo = await server.repository('acme/inner', agent);
        const { taskId } = await server.submit(repo.name);
        const task = await server.untilTask(taskId, 'completed', 'failed');
        assert.ok(task.status === 'completed' || task.errorMessage);
    });

    it('that is too large fails the task and says so', async () => {
        const agent = `head -c 60000 /dev/urandom >big.bin\n${fixes}`;
        const limits = { maxPatchBytes: 10_000 };
        const repo = await server.repository('acme/large', agent, { limits });
        const { task } = await server.finish(repo.name, 'failed');
        assert.equal(task.errorCode, 'patch_too_large');
        assert.deepEqual(branches(repo.origin), []);
    });

    it('of many files arrives whole', async () => {
        const agent = `mkdir many; i=0; while [ $i -lt 400 ]; do echo $i >many/$i; i=$((i+1)); done
            ${fixes}`;
        const repo = await server.repository('acme/many', agent);
        const { run } = await server.finish(repo.name, 'completed');
        const names = git(repo.origin, 'ls-tree', '-r', '--name-only', run.branch, 'many/');
        assert.equal(names.split('\n').length, 400);
    });

    it('described in odd words gets a branch that git takes', async () => {
        const repo = await server.repository('acme/words', fixes);
        const words = ['../../etc/passwd; rm -rf $(HOME)', '\u{1f600} \u0645\u0631\u062d',
            '--upload-pack=x', 'x'.repeat(5000), 'a\nb\tc', '.lock', '@{-1}%s%n'];
        const runs = await Promise.all(words.map(async (description) =>
            (await server.finish(repo.name, 'completed', { description })).run));
        for (const { branch } of runs)
            assert.equal(git(repo.origin, 'show', `refs/heads/${branch}:answer.txt`), '42');
    });

    it('that meets another one in the same place is not merged, and stays open', async () => {
        const repo = await server.repository('acme/conflict', `echo $DROVER_RUN_ID >x\n${fixes}`);
        await server.finish(repo.name, 'completed');
        await server.finish(repo.name, 'completed');
        const [second, first] = await server.pullRequests(repo.name);
        await server.post(`/v1/pull-requests/${first.id}/merge`);
        const before = git(repo.origin, 'rev-parse', 'main');
        const res = await server.call('POST', `/v1/pull-requests/${second.id}/merge`, { body: {} });
        assertProblem(res, 409);
        assert.equal(git(repo.origin, 'rev-parse', 'main'), before);
        assert.equal((await server.get(`/v1/pull-requests/${second.id}`)).status, 'open');
    });
});

describe('an origin that', { concurrency: 4 }, () => {
    before(async () => {
        server = await start({ args: ['--workers', '4'] });
    });
    after(() => server.discard());

    it('is not there fails the task after some tries, and says so', async () => {
        const repo = await server.repository('acme/absent', fixes);
        renameSync(repo.origin, `${repo.origin}.moved`);
        const { task } = await server.finish(repo.name, 'failed');
        assert.equal(task.errorCode, 'repository_unreachable');
        assert.ok(task.errorMessage.includes('acme-absent.git'), task.errorMessage);
    });

    it('has no commit yet fails the task', async () => {
        const repo = await server.repository('acme/empty', fixes);
        git(repo.origin, 'update-ref', '-d', 'refs/heads/main');
        const { task } = await server.finish(repo.name, 'failed');
        assert.ok(task.errorCode);
    });

    it('comes back meanwhile is waited for', async () => {
        const repo = await server.repository('acme/back', fixes);
        renameSync(repo.origin, `${repo.origin}.moved`);
        const { taskId, runId } = await server.submit(repo.name);
        await server.untilEvent(runId, 'agent.step.failed');
        renameSync(`${repo.origin}.moved`, repo.origin);
        await server.untilTask(taskId, 'completed');
    });

    it('moves on meanwhile gets the change on its old base', async () => {
        const repo = await server.repository('acme/moves', fixes);
        const first = git(repo.origin, 'rev-parse', 'main');
        const { taskId, runId } = await server.submit(repo.name, { riskLevel: 'high' });
        await server.untilRun(runId, 'awaiting_approval');
        const tree = git(repo.origin, 'rev-parse', 'main^{tree}');
        const next = git(repo.origin, 'commit-tree', tree, '-p', 'main', '-m', 'meanwhile');
        git(repo.origin, 'update-ref', 'refs/heads/main', next);
        const [question] = await server.list(`/v1/approvals?runId=${runId}`);
        await server.decide(question.id, 'approve');
        await server.untilTask(taskId, 'completed');
        assert.equal((await server.run(runId)).baseCommit, first);
        const [pr] = await server.pullRequests(repo.name);
        await server.post(`/v1/pull-requests/${pr.id}/merge`);
        assert.equal(git(repo.origin, 'show', 'main:answer.txt'), '42');
    });
});
