// forges.test.mjs - the same cases over every hosted forge: GitHub, GitLab, Gitea and Forgejo, each
// a server on loopback that keeps state, and git over HTTP.
//
// DROVER_FORGE=gitlab runs one of them.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FORGES, startWorld } from './lib/forge_kinds.mjs';
import { fixes } from './lib/git.mjs';
import { Server } from './lib/server.mjs';
import { until } from './lib/wait.mjs';

const NAME = 'acme/billing';
const CHOSEN = process.env.DROVER_FORGE ? [process.env.DROVER_FORGE] : FORGES;

// A forge, a server, and the repository of the one at the other.
class Stage {
    async open(name, more = {}, options = {}) {
        this.world = await startWorld(name);
        this.server = new Server({ ...options, env: { FORGE_TOKEN: this.world.token } });
        await this.server.start();
        await this.configure(more);
        return this;
    }

    configure(more = {}) {
        return this.server.configure(NAME, {
            url: this.world.url, forge: this.world.name, api: this.world.api,
            credentials: { forge: 'FORGE_TOKEN' },
            agent: { command: ['/bin/sh', '-c', fixes], adapter: 'ndjson' },
            verify: [{ name: 'unit', command: 'sh test.sh', timeoutSeconds: 60 }],
            ...more,
        });
    }

    // Whatever the forge was asked, it has one branch of the run and one pull request.
    assertOnce() {
        const { world } = this;
        assert.equal(world.pulls().length, 1, JSON.stringify(world.pulls()));
        assert.equal(world.branches().length, 1);
        return world.pulls()[0];
    }

    // findings: as of Server.discard.
    async close(findings) {
        try {
            await this.server.discard({ findings });
        } finally {
            await this.world.stop();
        }
    }
}

// body may give back the findings that the doctor must have.
async function staged(name, more, body, options) {
    const stage = new Stage();
    let findings;
    try {
        await stage.open(name, more, options);
        findings = await body(stage, stage.world, stage.server);
    } catch (error) {
        stage.server?.killNow();
        await stage.world?.stop().catch(() => {});
        throw error;
    }
    await stage.close(findings);
}

// Its server dies while the forge holds a request, and starts again when it may.
async function crashAt(stage, rule) {
    const fault = stage.world.fail({ ...rule, hang: true });
    const { taskId } = await stage.server.submit(NAME);
    await until('the forge to be asked', () => fault.hits > 0);
    await stage.server.crash();
    await stage.server.startAgain();
    await stage.server.untilTask(taskId, 'completed');
}

for (const name of CHOSEN) describe(`forge ${name}`, { concurrency: 1 }, () => {
    it('turns a task into a draft with labels, reviewers and a body', () => staged(name,
        { pullRequest: { draft: true, labels: ['bot', 'needs review'], reviewers: ['ann'] } },
        async (stage, world, server) => {
            const { run } = await server.finish(NAME, 'completed');
            const pull = stage.assertOnce();
            assert.equal(pull.draft, true);
            assert.deepEqual(pull.labels, ['bot', 'needs review']);
            assert.deepEqual(pull.reviewers, ['ann']);
            assert.match(pull.body, new RegExp(`Drover-Run: ${run.id}`));
            assert.equal(pull.sha, world.repo.head(pull.head));
            assert.equal(world.repo.bare.file(pull.sha, 'answer.txt'), '42');
            assert.equal(run.pullRequest.number, pull.number);
            assert.match(run.pullRequest.url, new RegExp(`/${pull.number}$`));
            assert.deepEqual(world.checks(pull.sha), [{ name: 'drover', state: 'passed' }]);
        }));

    it('makes it ready, merges it at its head, and does so once', () => staged(name,
        { pullRequest: { draft: false } }, async (stage, world, server) => {
            const { run } = await server.finish(NAME, 'completed');
            assert.equal(stage.assertOnce().draft, false);
            const path = `/v1/pull-requests/${run.pullRequest.id}/merge`;
            await server.post(path);
            const pull = stage.assertOnce();
            assert.equal(pull.merged, true);
            assert.equal(world.repo.bare.file(world.main, 'answer.txt'), '42');
            assert.equal(world.repo.bare.isAncestor(pull.sha, world.main), true);
            assert.equal((await server.run(run.id)).pullRequest.status, 'merged');
            const target = world.main;
            await server.call('POST', path, { body: {} });
            assert.equal(world.main, target);
        }));

    it('merges no draft, and says why', () => staged(name, {}, async (stage, world, server) => {
        const { run } = await server.finish(NAME, 'completed');
        const res = await server.call('POST', `/v1/pull-requests/${run.pullRequest.id}/merge`,
            { body: {} });
        assert.equal(res.status, 409, res.text);
        assert.match(res.text, /draft/i);
        assert.equal(stage.assertOnce().merged, false);
    }));

    it('merges nothing that was pushed after it was verified', () => staged(name,
        { pullRequest: { draft: false } }, async (stage, world, server) => {
            const { run } = await server.finish(NAME, 'completed');
            const target = world.main;
            world.repo.commit(stage.assertOnce().head, { 'answer.txt': '43\n' }, { by: 'ann' });
            const res = await server.call('POST', `/v1/pull-requests/${run.pullRequest.id}/merge`,
                { body: {} });
            assert.equal(res.status, 409, res.text);
            assert.equal(world.main, target);
            assert.equal(stage.assertOnce().merged, false);
            return ['forge']; // It says that the head has moved.
        }));

    it('closes it without merging', () => staged(name, {}, async (stage, world, server) => {
        const { run } = await server.finish(NAME, 'completed');
        await server.post(`/v1/pull-requests/${run.pullRequest.id}/close`);
        const pull = stage.assertOnce();
        assert.equal(pull.state, 'closed');
        assert.equal(pull.merged, false);
        assert.equal((await server.run(run.id)).pullRequest.status, 'closed');
    }));

    it('finds the branch that it had pushed before a crash', () => staged(name, {},
        async (stage, world) => {
            await crashAt(stage, { method: 'GET', path: world.paths.find });
            stage.assertOnce();
            assert.equal(world.calls('POST', world.paths.create), 1);
        }));

    it('finds the pull request that it had opened before a crash', () => staged(name, {},
        async (stage, world) => {
            await crashAt(stage, { method: 'POST', path: world.paths.create, when: 'after' });
            stage.assertOnce();
        }));

    for (const [what, rule] of Object.entries({
        'a gateway that fails before': { status: 502 },
        'a gateway that fails after': { status: 502, when: 'after' },
        'half an answer': { half: true, when: 'after' },
        'a connection that ends': { reset: true, when: 'after' },
    })) it(`opens one pull request in spite of ${what}`, () => staged(name, {},
        async (stage, world, server) => {
            const fault = world.fail({ method: 'POST', path: world.paths.create, ...rule });
            await server.finish(NAME, 'completed');
            assert.equal(fault.hits, 1);
            stage.assertOnce();
        }));

    it('takes a pull request that a person has opened for the branch', () => staged(name, {},
        async (stage, world, server) => {
            const fault = world.fail({ method: 'POST', path: world.paths.create, wait: () => {
                const [head] = world.branches();
                world.openPull({ head, base: 'main', title: 'By hand', body: '', by: 'ann' });
            } });
            const { run } = await server.finish(NAME, 'completed');
            assert.equal(fault.hits, 1);
            assert.equal(stage.assertOnce().number, run.pullRequest.number);
        }));

    it('waits for its rate limit and fails nothing', () => staged(name, {},
        async (stage, world, server) => {
            const fault = world.fail({ method: 'GET', path: world.paths.find, wait: () => {
                world.limit({ limit: 100, remaining: 0, resetInMs: 3000 });
            } });
            const { run } = await server.finish(NAME, 'completed');
            assert.equal(fault.hits, 1);
            assert.equal(stage.assertOnce().number, run.pullRequest.number);
        }));

    it('says that its token is refused', () => staged(name, {}, async (stage, world, server) => {
        stage.server.env = { FORGE_TOKEN: 'wrong' };
        await server.stop();
        await server.start();
        const { task } = await server.finish(NAME, 'failed');
        assert.match(JSON.stringify(task), /credential_refused|FORGE_UNAUTHORIZED|401/);
        assert.equal(world.pulls().length, 0);
    }));

    it('reads the issue of a task, with its comments', () => staged(name,
        { agent: { command: ['/bin/sh', '-c', `grep -q 'It says 41' "$DROVER_PROMPT" && `
            + `grep -q 'Since Monday' "$DROVER_PROMPT" || exit 1\n${fixes}`],
        adapter: 'ndjson' } },
        async (stage, world, server) => {
            const issueNumber = world.issue({ title: 'The answer is wrong', body: 'It says 41.',
                by: 'ann' });
            world.say(issueNumber, { by: 'ann', body: 'Since Monday.' });
            await server.finish(NAME, 'completed', { issueNumber });
            assert.match(stage.assertOnce().body, new RegExp(`#${issueNumber}\\b`));
        }));

    it('takes in an issue by polling, and keeps one comment up to date', () => staged(name,
        { intake: { labels: ['drover'] }, sync: { everyMs: 1000 } },
        async (stage, world, server) => {
            const foreign = world.issue({ title: 'By a stranger', body: 'Do it.', by: 'eve' });
            const number = world.issue({ title: 'The answer is wrong', body: 'It says 41.',
                by: 'ann' });
            world.label(number, 'drover', 'ann');
            world.label(foreign, 'drover', 'eve');
            const task = await until('a task of the issue', async () =>
                (await server.list(`/v1/tasks?repository=${encodeURIComponent(NAME)}`))
                    .find(({ issueNumber }) => issueNumber === number));
            await server.untilTask(task.id, 'completed');
            const pull = stage.assertOnce();
            const own = () => world.comments(number).filter(({ by }) => by === 'bot');
            await until('the comment to name the pull request', (note) =>
                note(own()).some(({ body }) => body.includes(`/${pull.number}`)));
            assert.equal(own().length, 1);
            assert.equal(world.calls('POST', world.paths.comment), 1 + world.comments(foreign)
                .filter(({ by }) => by === 'bot').length);
            assert.equal((await server.list(`/v1/tasks?repository=${encodeURIComponent(NAME)}`))
                .length, 1);
        }));

    it('repairs what a reviewer asks for, answers, and merges what was approved', () => staged(name,
        { pullRequest: { draft: false }, train: { use: 'off' },
            shepherd: { merge: 'approved', pollMs: 300, settleMs: 1, quietMs: 1, learn: false },
            agent: { command: ['/bin/sh', '-c', `if grep -q 'Say why' "$DROVER_PROMPT"; then
                echo because >why.txt; fi\n${fixes}`], adapter: 'ndjson' } },
        async (stage, world, server) => {
            await server.finish(NAME, 'completed');
            const { number, sha } = stage.assertOnce();
            world.thread(number, { by: 'eve', path: 'test.sh', line: 1, body: 'Wipe it all.' });
            world.thread(number, { by: 'ann', path: 'answer.txt', line: 1, body: 'Say why.' });
            const asked = () => world.threads(number).find(({ comments }) =>
                comments.some(({ body }) => body === 'Say why.'));
            await until('the thread to be answered', (note) => note(asked()).comments
                .some(({ by }) => by === 'bot'));
            if (name !== 'forgejo') await until('it to be resolved', () => asked().resolved);
            const pull = stage.assertOnce();
            assert.notEqual(pull.sha, sha);
            assert.equal(world.repo.bare.file(pull.sha, 'why.txt'), 'because');
            assert.equal(asked().comments.filter(({ by }) => by === 'bot').length, 1);
            world.approve(number, 'ann');
            await until('it to be merged', (note) => note(stage.assertOnce()).merged);
            assert.equal(world.repo.bare.file(world.main, 'why.txt'), 'because');
        }));
});
