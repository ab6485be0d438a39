// checkout_origin.test.mjs - a checkout that a person works in as origin: pull requests appear
// there, and nothing that the person has is moved or changed without consent.
import assert from 'node:assert/strict';
import { chmodSync, chownSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { launch } from './lib/cli.mjs';
import { commitTo, fixes, git, makeCheckout, makeOrigin, refs } from './lib/git.mjs';
import { assertProblem } from './lib/http.mjs';
import { withServer } from './lib/own.mjs';
import { start } from './lib/server.mjs';

const DONE = 0, REFUSED = 4;
const NOBODY = 65534;

describe('a checkout as origin', { concurrency: 4 }, () => {
    let server;
    before(async () => (server = await start({ args: ['--workers', '4'] })));
    after(() => server.discard());

    const cli = (...args) => launch(args,
        { DROVER_URL: server.url, DROVER_TOKEN: server.token }).ended;

    // A repository whose address is the directory; it has a pull request then.
    async function published(name, url) {
        await server.configure(name, {
            url,
            agent: { command: ['/bin/sh', '-c', fixes], adapter: 'ndjson' },
            verify: [{ name: 'unit', command: 'sh test.sh' }],
        });
        const { run } = await server.finish(name, 'completed');
        return run.pullRequest;
    }

    const answer = (top) => readFileSync(join(top, 'answer.txt'), 'utf8').trim();
    const changes = (top) => git(top, 'status', '--porcelain');
    const merge = (pull) => server.call('POST', `/v1/pull-requests/${pull.id}/merge`);
    const pullOf = async (name) => (await server.pullRequests(name))[0];

    it('gets branches and pull requests, and keeps its files, index and HEAD', async () => {
        const top = makeCheckout(join(server.dir, 'kept'));
        writeFileSync(join(top, 'answer.txt'), 'mine, not committed\n');
        writeFileSync(join(top, 'staged.txt'), 'x\n');
        git(top, 'add', 'staged.txt');
        const before = [git(top, 'rev-parse', 'HEAD'), changes(top)];
        const { number } = await published('acme/kept', top);
        const found = refs(top);
        assert.ok(found[`refs/pull/${number}/head`]);
        const branch = Object.keys(found).find((ref) => ref.startsWith('refs/heads/drover/'));
        assert.equal(git(top, 'show', `${branch}:answer.txt`), '42');
        assert.deepEqual([git(top, 'rev-parse', 'HEAD'), changes(top)], before);
        assert.equal(answer(top), 'mine, not committed');
        const seen = await server.get('/v1/repositories/acme%2Fkept/origin');
        assert.deepEqual([seen.ok, seen.checkedOutIn, seen.commit], [true, top, before[0]]);
    });

    it('is merged into by its person, and that is recorded', async () => {
        const top = makeCheckout(join(server.dir, 'by-hand'));
        await published('acme/by-hand', top);
        const refused = await cli('pr', 'merge', '1', '--repo', 'acme/by-hand');
        assert.equal(refused.code, REFUSED);
        assert.match(refused.err, /main is checked out in .*by-hand\. There: git merge refs\/pull/);
        assert.match(refused.err, /git config receive\.denyCurrentBranch updateInstead/);
        assert.deepEqual([answer(top), changes(top)], ['41', '']);
        git(top, 'merge', '--quiet', 'refs/pull/1/head');
        const merged = await cli('pr', 'merge', '1', '--repo', 'acme/by-hand');
        assert.equal(merged.code, DONE, merged.err);
        assert.equal((await pullOf('acme/by-hand')).status, 'merged');
    });

    it('is merged into with its files, where git is told so and they are not changed', async () => {
        const top = makeCheckout(join(server.dir, 'instead'));
        await published('acme/instead', top);
        git(top, 'config', 'receive.denyCurrentBranch', 'updateInstead');
        writeFileSync(join(top, 'test.sh'), 'exit 0 # changed\n');
        const pull = await pullOf('acme/instead');
        const problem = assertProblem(await merge(pull), 409, { code: 'BRANCH_CHECKED_OUT' });
        assert.match(problem.detail, /with changes that are not committed/);
        assert.equal(readFileSync(join(top, 'test.sh'), 'utf8'), 'exit 0 # changed\n');
        git(top, 'checkout', '--quiet', 'test.sh');
        assert.equal((await merge(pull)).status, 200);
        assert.deepEqual([answer(top), changes(top)], ['42', '']);
        assert.match(git(top, 'log', '-1', '--format=%s'), /^Merge/);
    });

    it('is merged into where it shows another branch', async () => {
        const top = makeCheckout(join(server.dir, 'other'));
        git(top, 'switch', '--quiet', '--create', 'mine');
        await published('acme/other', top);
        assert.equal((await merge(await pullOf('acme/other'))).status, 200);
        assert.equal(git(top, 'show', 'main:answer.txt'), '42');
        assert.deepEqual([answer(top), changes(top), git(top, 'branch', '--show-current')],
            ['41', '', 'mine']);
    });

    it('may be a linked worktree, whose .git is a file', async () => {
        const top = makeCheckout(join(server.dir, 'main-tree'));
        const linked = join(server.dir, 'linked-tree');
        git(top, 'worktree', 'add', '--quiet', '-b', 'mine', linked);
        await published('acme/linked', linked);
        assert.ok(refs(top)['refs/pull/1/head']);
        const pull = await pullOf('acme/linked');
        const problem = assertProblem(await merge(pull), 409, { code: 'BRANCH_CHECKED_OUT' });
        assert.match(problem.detail, /main-tree/);
        git(top, 'switch', '--quiet', '--detach');
        assert.equal((await merge(pull)).status, 200);
        assert.deepEqual([answer(linked), changes(linked), changes(top)], ['41', '', '']);
    });

    it('may be bare and have worktrees', async () => {
        const origin = makeOrigin(server.dir, 'bare-with-tree');
        const linked = join(server.dir, 'tree-of-bare');
        git(origin, 'worktree', 'add', '--quiet', linked, 'main');
        await published('acme/bare-with-tree', origin);
        assertProblem(await merge(await pullOf('acme/bare-with-tree')), 409,
            { code: 'BRANCH_CHECKED_OUT' });
        assert.deepEqual([answer(linked), changes(linked)], ['41', '']);
    });

    it('is the base of the next task with what was committed there', async () => {
        const top = makeCheckout(join(server.dir, 'next'));
        await published('acme/next', top);
        commitTo(top, 'later.txt', 'later\n');
        git(top, 'reset', '--quiet', '--hard');
        const { run } = await server.finish('acme/next', 'completed');
        assert.equal(run.baseCommit, git(top, 'rev-parse', 'main'));
        assert.equal(run.pullRequest.number, 2);
    });
});

describe('the origin of another user', { skip: process.getuid() !== 0 && 'needs root' }, () => {
    withServer('is looked at when it is added, with what to do', { uid: NOBODY },
        async (server, t) => {
            if (!server.needsWalls(t)) return;
            const top = makeCheckout(join(server.dir, 'anns'));
            const add = async (name) => (await launch(['repo', 'add', name, '--url', top,
                '--config', join(server.dir, 'x.yaml')],
            { DROVER_URL: server.url, DROVER_TOKEN: server.token }).ended).out;
            writeFileSync(join(server.dir, 'x.yaml'), JSON.stringify({
                agent: { command: ['/bin/sh', '-c', fixes], adapter: 'ndjson' },
                retries: { prRetries: 0 } }));
            assert.match(await add('acme/not-mine'),
                /^Mind +drover runs as user nobody, and .*anns\/\.git belongs to root\./m);
            const { taskId } = await server.submit('acme/not-mine');
            const task = await server.untilTask(taskId, 'failed');
            assert.match(task.errorMessage, /drover runs as user nobody.*core\.sharedRepository/);
            assert.deepEqual(Object.keys(refs(top)), ['refs/heads/main']);
            chmodSync(top, 0o700);
            assert.match(await add('acme/closed'),
                /^Mind .*may not read .*anns\. Run drover as root/m);
            // As the message says.
            chmodSync(top, 0o755);
            server.own(top);
            chownSync(top, NOBODY, NOBODY);
            const seen = await server.get('/v1/repositories/acme%2Fnot-mine/origin');
            assert.equal(seen.ok, true, JSON.stringify(seen));
            assert.ok(existsSync(join(top, '.git')));
            await server.finish('acme/not-mine', 'completed');
        });
});
