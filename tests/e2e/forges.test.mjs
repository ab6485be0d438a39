// forges.test.mjs - the same cases over every hosted forge: GitHub, GitLab, Gitea and Forgejo, each
// a server on loopback that keeps state, and git over HTTP.
//
// DROVER_FORGE=gitlab runs one of them.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { FORGES, TOKEN, startWorld } from './lib/forge_kinds.mjs';
import { fixes } from './lib/git.mjs';
import { Server } from './lib/server.mjs';
import { until } from './lib/wait.mjs';

const CHOSEN = process.env.DROVER_FORGE ? [process.env.DROVER_FORGE] : FORGES;

// One server for all cases of a forge, one after the other.
class Site {
    worlds = [];

    async open(name) {
        this.name = name;
        this.server = new Server({ env: { FORGE_TOKEN: TOKEN } });
        await this.server.start();
    }

    // A forge for one case.  It runs until the server has ended, whose doctor asks them all.
    async stage(more) {
        const world = await startWorld(this.name);
        this.worlds.push(world);
        const stage = new Stage(this.server, world, `acme/billing-${this.worlds.length}`);
        await stage.configure(more);
        return stage;
    }

    async close() {
        try {
            await this.server.discard();
        } finally {
            for (const world of this.worlds) await world.stop();
        }
    }
}

// A forge, and its repository as drover knows it.
class Stage {
    constructor(server, world, repository) {
        Object.assign(this, { server, world, repository });
    }

    configure(more = {}) {
        return this.server.configure(this.repository, {
            url: this.world.url, forge: this.world.name, api: this.world.api,
            credentials: { forge: 'FORGE_TOKEN' },
            agent: { command: ['/bin/sh', '-c', fixes], adapter: 'ndjson' },
            verify: [{ name: 'unit', command: 'sh test.sh', timeoutSeconds: 60 }],
            ...more,
        });
    }

    finish(status, more) {
        return this.server.finish(this.repository, status, more);
    }

    tasks() {
        return this.server.list(`/v1/tasks?repository=${encodeURIComponent(this.repository)}`);
    }

    // Whatever the forge was asked, it has one branch of the run and one pull request.
    assertOnce() {
        const { world } = this;
        assert.equal(world.pulls().length, 1, JSON.stringify(world.pulls()));
        assert.equal(world.branches().length, 1);
        return world.pulls()[0];
    }
}

// Its server dies while the forge holds a request, and starts again when it may.
async function crashAt(stage, rule) {
    const fault = stage.world.fail({ ...rule, hang: true });
    const { taskId } = await stage.server.submit(stage.repository);
    await until('the forge to be asked', () => fault.hits > 0);
    await stage.server.crash();
    await stage.server.startAgain();
    await stage.server.untilTask(taskId, 'completed');
}

// What of a case is the same code is walked elsewhere: Gitea and Forgejo differ in what is merged,
// viewed and answered, and github_limits.test.mjs has the faults of GitHub.
const LONG = Boolean(process.env.DROVER_LONG);
const walked = (name, { sameAt = [] }) => LONG || !sameAt.includes(name);
const AS_GITEA = { sameAt: ['forgejo'] };
const FAULTY = { sameAt: ['forgejo', 'github'] };

describe('forges', { concurrency: CHOSEN.length }, () => {
    for (const name of CHOSEN) describe(`forge ${name}`, { concurrency: 1 }, () => cases(name));
});

function cases(name) {
    const site = new Site();
    before(() => site.open(name));
    after(() => site.close());
    // more: of the configuration of its repository, and sameAt: the forges that need long runs.
    const staged = (what, { sameAt, ...more }, body) => walked(name, { sameAt }) && it(what,
        async () => {
            const stage = await site.stage(more);
            await body(stage, stage.world, site.server);
        });

    staged('makes a draft with labels, reviewers and a body, does not merge it, closes it',
        { pullRequest: { draft: true, labels: ['bot', 'needs review'], reviewers: ['ann'] } },
        async (stage, world, server) => {
            const { run } = await stage.finish('completed');
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

            const path = `/v1/pull-requests/${run.pullRequest.id}`;
            const res = await server.call('POST', `${path}/merge`, { body: {} });
            assert.equal(res.status, 409, res.text);
            assert.match(res.text, /draft/i);
            assert.equal(stage.assertOnce().merged, false);

            await server.post(`${path}/close`);
            assert.equal(stage.assertOnce().state, 'closed');
            assert.equal(stage.assertOnce().merged, false);
            assert.equal((await server.run(run.id)).pullRequest.status, 'closed');
        });

    staged('makes it ready, merges it at its head, and does so once',
        { pullRequest: { draft: false } }, async (stage, world, server) => {
            const { run } = await stage.finish('completed');
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
        });

    staged('merges nothing that was pushed after it was verified',
        { pullRequest: { draft: false } }, async (stage, world, server) => {
            const { run } = await stage.finish('completed');
            const target = world.main;
            world.repo.commit(stage.assertOnce().head, { 'answer.txt': '43\n' }, { by: 'ann' });
            const path = `/v1/pull-requests/${run.pullRequest.id}`;
            const res = await server.call('POST', `${path}/merge`, { body: {} });
            assert.equal(res.status, 409, res.text);
            assert.equal(world.main, target);
            assert.equal(stage.assertOnce().merged, false);
            const { checks } = await server.get('/v1/doctor');
            assert.deepEqual(checks.filter(({ ok }) => !ok).map((check) => check.name), ['forge'],
                'the doctor says that the head has moved');
            await server.post(`${path}/close`);
        });

    staged('finds the branch that it had pushed before a crash', AS_GITEA,
        async (stage, world) => {
            await crashAt(stage, { method: 'GET', path: world.paths.find });
            stage.assertOnce();
            assert.equal(world.calls('POST', world.paths.create), 1);
        });

    staged('finds the pull request that it had opened before a crash', AS_GITEA,
        async (stage, world) => {
            await crashAt(stage, { method: 'POST', path: world.paths.create, when: 'after' });
            stage.assertOnce();
        });

    for (const [what, rule] of Object.entries({
        'a gateway that fails before': { status: 502 },
        'a gateway that fails after': { status: 502, when: 'after' },
        'half an answer': { half: true, when: 'after' },
        'a connection that ends': { reset: true, when: 'after' },
    })) staged(`opens one pull request in spite of ${what}`, FAULTY, async (stage, world) => {
        const fault = world.fail({ method: 'POST', path: world.paths.create, ...rule });
        await stage.finish('completed');
        assert.equal(fault.hits, 1);
        stage.assertOnce();
    });

    staged('takes a pull request that a person has opened for the branch', AS_GITEA,
        async (stage, world) => {
            const fault = world.fail({ method: 'POST', path: world.paths.create, wait: () => {
                const [head] = world.branches();
                world.openPull({ head, base: 'main', title: 'By hand', body: '', by: 'ann' });
            } });
            const { run } = await stage.finish('completed');
            assert.equal(fault.hits, 1);
            assert.equal(stage.assertOnce().number, run.pullRequest.number);
        });

    staged('waits for its rate limit and fails nothing', AS_GITEA, async (stage, world) => {
        const fault = world.fail({ method: 'GET', path: world.paths.find, wait: () => {
            world.limit({ limit: 100, remaining: 0, resetInMs: 3000 });
        } });
        const { run } = await stage.finish('completed');
        assert.equal(fault.hits, 1);
        assert.equal(stage.assertOnce().number, run.pullRequest.number);
    });

    staged('reads the issue of a task, with its comments',
        { agent: { command: ['/bin/sh', '-c', `grep -q 'It says 41' "$DROVER_PROMPT" && `
            + `grep -q 'Since Monday' "$DROVER_PROMPT" || exit 1\n${fixes}`],
        adapter: 'ndjson' }, ...AS_GITEA },
        async (stage, world) => {
            const issueNumber = world.issue({ title: 'The answer is wrong', body: 'It says 41.',
                by: 'ann' });
            world.say(issueNumber, { by: 'ann', body: 'Since Monday.' });
            await stage.finish('completed', { issueNumber });
            assert.match(stage.assertOnce().body, new RegExp(`#${issueNumber}\\b`));
        });

    staged('repairs what a reviewer asks for, answers, and merges what was approved',
        { pullRequest: { draft: false }, train: { use: 'off' },
            shepherd: { merge: 'approved', pollMs: 300, settleMs: 1, quietMs: 1, learn: false },
            agent: { command: ['/bin/sh', '-c', `if grep -q 'Say why' "$DROVER_PROMPT"; then
                echo because >why.txt; fi\n${fixes}`], adapter: 'ndjson' } },
        async (stage, world) => {
            await stage.finish('completed');
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
        });

    staged('takes in an issue by polling, and keeps one comment up to date',
        { intake: { labels: ['drover'] }, sync: { everyMs: 1000 } },
        async (stage, world, server) => {
            const foreign = world.issue({ title: 'By a stranger', body: 'Do it.', by: 'eve' });
            const number = world.issue({ title: 'The answer is wrong', body: 'It says 41.',
                by: 'ann' });
            world.label(number, 'drover', 'ann');
            world.label(foreign, 'drover', 'eve');
            const task = await until('a task of the issue', async () =>
                (await stage.tasks()).find(({ issueNumber }) => issueNumber === number));
            await server.untilTask(task.id, 'completed');
            const pull = stage.assertOnce();
            const own = () => world.comments(number).filter(({ by }) => by === 'bot');
            await until('the comment to name the pull request', (note) =>
                note(own()).some(({ body }) => body.includes(`/${pull.number}`)));
            assert.equal(own().length, 1);
            assert.equal(world.calls('POST', world.paths.comment), 1 + world.comments(foreign)
                .filter(({ by }) => by === 'bot').length);
            assert.equal((await stage.tasks()).length, 1);
        });

    staged('says that its token is refused', AS_GITEA, async (stage, world, server) => {
        await server.stop();
        server.env = { FORGE_TOKEN: 'wrong' };
        await server.start();
        const { task } = await stage.finish('failed');
        assert.match(JSON.stringify(task), /credential_refused|FORGE_UNAUTHORIZED|401/);
        assert.equal(world.pulls().length, 0);
        await server.stop();
        server.env = { FORGE_TOKEN: TOKEN };
        await server.start();
    });
}
