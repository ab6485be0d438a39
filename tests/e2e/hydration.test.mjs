// hydration.test.mjs - the prompt: each source, their order, what goes when there is too much, and
// what happens when a source is away.  Failure modes are named as people who plan for them do.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { assertHistory } from './lib/cloudevents.mjs';
import { done, fixes, git, holdOrigin } from './lib/git.mjs';
import { assertProblem } from './lib/http.mjs';
import { BIN, plainEnv, start } from './lib/server.mjs';

let server;
let names = 0;
const newName = () => `acme/hydrated${++names}`;
const RULES = {
    'answer.txt': '41\n',
    'test.sh': 'grep -qx 42 answer.txt\n',
    'AGENTS.md': 'Rule of AGENTS.\n',
    'CLAUDE.md': 'Rule of CLAUDE.\n',
    'CONTRIBUTING.md': 'Rule of CONTRIBUTING.\n',
    '.cursor/rules/a.mdc': 'Rule of cursor.\n',
    'docs/house.md': 'Rule of the house.\n',
};

const issue = (name, title, body) =>
    server.post('/v1/issues', { repository: name, title, body });
const comment = (name, number, body) =>
    server.post(`/v1/issues/${number}/comments`, { repository: name, body });

const upload = (bytes) => server.upload(bytes);

async function promptOf(runId) {
    const { promptSha256 } = await server.run(runId);
    return (await server.call('GET', `/v1/artifacts/${promptSha256}`)).text;
}

async function loaded(runId) {
    return (await server.untilEvent(runId, 'agent.context.loaded')).data;
}

function assertOrder(text, parts) {
    let at = 0;
    for (const part of parts) {
        const found = text.indexOf(part, at);
        assert.ok(found >= 0, `${part} is missing after ${at} in\n${text}`);
        at = found + part.length;
    }
}

// Stops the run between its worktree and its prompt; what is given happens there.  One at a time:
// it stops those of the whole server.
let turn = Promise.resolve();
function beforeHydration(submission, meanwhile) {
    const mine = turn.then(() => whilePaused(submission, meanwhile));
    turn = mine.catch(() => {});
    return mine;
}

async function whilePaused(submission, meanwhile) {
    await server.post('/v1/queues/drover.hydrate/pause');
    try {
        const { taskId, runId } = await submission();
        await server.untilRun(runId, 'context_loading');
        return { taskId, runId, undo: await meanwhile() };
    } finally {
        await server.post('/v1/queues/drover.hydrate/resume');
    }
}

// The origin is nowhere to be found until the function that comes back is called.
function takeAway(origin) {
    renameSync(origin, `${origin}.away`);
    return () => renameSync(`${origin}.away`, origin);
}

describe('hydration', { concurrency: 4 }, () => {
    before(async () => {
        server = await start({ args: ['--workers', '4'] });
        await server.ok('PUT', '/v1/queues/drover.hydrate',
            { maxAttempts: 2, backoff: { baseMs: 10, maxMs: 20, jitterMs: 0 } });
    });
    after(() => server.discard());

    it('puts every source into the prompt, in order', async () => {
        const name = newName();
        await server.repository(name, fixes, { files: RULES, prompt: { system: 'Be careful.' } });
        await server.finish(name, 'completed', { description: 'An earlier task' });
        await issue(name, 'The answer is wrong', 'It says 41.');
        await comment(name, 1, 'First comment.');
        await comment(name, 1, 'Second comment.');
        const attachments = [{ name: 'trace.txt', sha256: await upload('Boom at line 7.') }];
        const { runId, run } = await server.finish(name, 'completed',
            { description: 'Make it 42.', issueNumber: 1, attachments });
        assertOrder(await promptOf(runId), ['Repository: ' + name, '## Instructions', 'Be careful.',
            'Rule of AGENTS', 'Rule of CLAUDE', 'Rule of CONTRIBUTING', 'Rule of cursor',
            '## Issue #1 The answer is wrong', 'It says 41.', '### Comment by admin',
            'First comment.', 'Second comment.', '## Task', 'Make it 42.', '## Memory: completed',
            'Task: An earlier task', 'Outcome: completed, pull request #1',
            'What was done: the answer is 42', 'Files: answer.txt', '## Attachment: trace.txt',
            'Boom at line 7.']);
        const { promptSha256, tokenEstimate, promptVersion, ...event } = await loaded(runId);
        assert.deepEqual(event, { runId, truncated: false, degraded: [], sources: ['system',
            'repository_rules', 'issue', 'comments', 'task', 'memory', 'attachments'] });
        assert.equal(tokenEstimate, Math.ceil(Buffer.byteLength(await promptOf(runId)) / 4));
        assert.match(promptVersion, /^2-[0-9a-f]{12}$/);
        assert.equal(run.promptVersion, promptVersion);
        assert.equal(run.promptSha256, promptSha256);
        assertHistory(await server.events(runId));
    });

    it('has words of its own for agents, and a version that follows them', async () => {
        const [one, two, other] = [newName(), newName(), newName()];
        const agent = { prompt: { rules: ['docs'] }, files: RULES };
        await server.repository(one, fixes, agent);
        await server.repository(two, fixes);
        await server.repository(other, fixes, { prompt: { system: 'Be brief.' } });
        const runs = [];
        for (const name of [one, two, other])
            runs.push((await server.finish(name, 'completed')).run);
        const text = await promptOf(runs[0].id);
        assertOrder(text, ['You are a software engineer', '$DROVER_RESULT', 'Rule of the house.']);
        assert.ok(!text.includes('Rule of AGENTS'), 'only the rules that the repository names');
        assert.equal(runs[0].promptVersion, runs[1].promptVersion);
        assert.notEqual(runs[0].promptVersion, runs[2].promptVersion);
        const own = await promptOf(runs[2].id);
        assert.ok(!own.includes('You are a software engineer'));
        assertOrder(own, ['Be brief.', '$DROVER_FEEDBACK', '$DROVER_RESULT']);
    });

    it('Prompt exceeds token budget: the oldest comments go first', async () => {
        const name = newName();
        await server.repository(name, fixes,
            { prompt: { system: 'Be brief.', tokenBudget: 1000 } });
        await issue(name, 'Long', 'The body stays.');
        for (let i = 1; i <= 6; i++) await comment(name, 1, `comment ${i} ${'x'.repeat(700)}`);
        const { runId } = await server.finish(name, 'completed', { issueNumber: 1 });
        const text = await promptOf(runId);
        assert.ok(!text.includes('comment 1 '), text);
        assertOrder(text, ['The body stays.', 'comment 6 ', 'Make the answer right.']);
        assert.match(text, /Left out to stay within the token budget: \d comments?\./);
        const event = await loaded(runId);
        assert.equal(event.truncated, true);
        assert.ok(event.tokenEstimate <= 1000, String(event.tokenEstimate));
    });

    it('Forge unavailable or rate limited: with a description it goes on, degraded', async () => {
        const name = newName();
        const { origin } = await server.repository(name, fixes);
        await issue(name, 'Lost', 'Nobody reads this.');
        const { taskId, runId, undo } = await beforeHydration(
            () => server.submit(name, { issueNumber: 1 }), () => takeAway(origin));
        const event = await loaded(runId);
        undo();
        assert.deepEqual(event.degraded, ['issue']);
        assert.ok(!event.sources.includes('issue'));
        await server.untilTask(taskId, 'completed');
        assert.ok(!(await promptOf(runId)).includes('Nobody reads this.'));
    });

    it('Forge unavailable or rate limited: an issue-based task fails', async () => {
        const name = newName();
        const { origin } = await server.repository(name, fixes);
        await issue(name, 'Lost', 'Nobody reads this.');
        const { taskId, runId, undo } = await beforeHydration(
            () => server.submit(name, { issueNumber: 1, description: undefined }),
            () => takeAway(origin));
        const task = await server.untilTask(taskId, 'failed');
        undo();
        assert.equal(task.errorCode, 'issue_unavailable');
        const tries = (await server.events(runId)).filter(({ type, data }) =>
            type === 'agent.step.failed' && data.step === 'hydrate');
        assert.equal(tries.length, 2, 'it was tried again');
    });

    it('an issue that is not there is no reason to try again', async () => {
        const name = newName();
        await server.repository(name, fixes);
        const { task, runId } = await server.finish(name, 'failed',
            { issueNumber: 7, description: undefined });
        assert.equal(task.errorCode, 'issue_unavailable');
        assert.match(task.errorMessage, /no issue 7/);
        const failed = (await server.events(runId)).filter(
            ({ type }) => type === 'agent.step.failed');
        assert.equal(failed.length, 1);
        const beside = await server.finish(name, 'completed', { issueNumber: 7 });
        assert.deepEqual((await loaded(beside.runId)).degraded, ['issue']);
    });

    it('Hydration timeout: the task fails', async () => {
        const name = newName();
        const { origin } = await server.repository(name, fixes, { timeouts: { hydrateMs: 300 } });
        await issue(name, 'Slow', 'Nobody reads this.');
        const { taskId, undo } = await beforeHydration(
            () => server.submit(name, { issueNumber: 1 }), () => holdOrigin(origin));
        const task = await server.untilTask(taskId, 'failed');
        undo();
        assert.equal(task.errorCode, 'hydration_timed_out');
        assert.match(task.errorMessage, /300 ms/);
    });

    it('hands attachments to the agent: text in the prompt, all of them as files', async () => {
        const name = newName();
        const { origin } = await server.repository(name, `${fixes}
            cp "$DROVER_ATTACHMENTS/picture.bin" "$DROVER_ATTACHMENTS/notes ü.txt" .\n`);
        const picture = Buffer.concat([Buffer.from([0, 255, 254]), randomBytes(100)]);
        const notes = join(server.dir, 'notes ü.txt');
        writeFileSync(notes, 'Mind the gap.\n');
        writeFileSync(join(server.dir, 'picture.bin'), picture);
        const args = ['submit', '--repo', name, '--attach', notes, '--attach',
            join(server.dir, 'picture.bin'), '--json', '--data', server.data, 'Make it 42.'];
        const out = await new Promise((resolve, reject) => execFile(BIN, args, { env: plainEnv() },
            (error, stdout, stderr) => (error ? reject(new Error(stderr)) : resolve(stdout))));
        const { taskId, runId } = JSON.parse(out);
        const task = await server.untilTask(taskId, 'completed');
        assert.deepEqual(task.attachments.map((each) => each.name), ['notes ü.txt', 'picture.bin']);
        const text = await promptOf(runId);
        assertOrder(text, ['## Attachment: notes ü.txt', 'Mind the gap.',
            '## Attachment: picture.bin', 'a file in the directory $DROVER_ATTACHMENTS']);
        const { branch } = await server.run(runId);
        assert.equal(git(origin, 'show', `${branch}:notes ü.txt`), 'Mind the gap.');
        const size = git(origin, 'cat-file', '-s', `${branch}:picture.bin`);
        assert.equal(Number(size), picture.length);
        const linked = (await server.list(`/v1/runs/${runId}/artifacts`))
            .filter(({ kind }) => kind === 'attachment');
        assert.deepEqual(linked.map((each) => each.bytes).sort((a, b) => a - b),
            [14, picture.length]);
    });

    it('refuses attachments that are none', async () => {
        const name = newName();
        await server.repository(name, fixes);
        const sha256 = createHash('sha256').update('never uploaded').digest('hex');
        const post = (attachments) => server.call('POST', '/v1/tasks',
            { body: { repository: name, description: 'x', attachments } });
        for (const bad of ['', '..', 'a/b', 'a\nb'])
            assertProblem(await post([{ name: bad, sha256 }]), 422,
                { field: 'attachments[0].name' });
        assertProblem(await post([{ name: 'a', sha256: 'x'.repeat(64) }]), 422,
            { field: 'attachments[0].sha256' });
        assertProblem(await post([{ name: 'a', sha256 }, { name: 'a', sha256 }]), 422,
            { field: 'attachments[1].name' });
        assertProblem(await post(Array(17).fill({ name: 'a', sha256 })), 422,
            { field: 'attachments' });
        const { task } = await server.finish(name, 'failed',
            { attachments: [{ name: 'a', sha256 }] });
        assert.equal(task.errorCode, 'attachment_unavailable');
    });

    it('tells a run what earlier ones on the same paths learned, until it is removed', async () => {
        const name = newName();
        const agent = `if [ "$DROVER_ATTEMPT" = 1 ]; then echo 40 >answer.txt; else
            echo 42 >answer.txt; fi\n${done('forty was too small')}`;
        await server.repository(name, agent);
        await server.finish(name, 'completed', { description: 'Correct answer.txt' });
        const next = await server.finish(name, 'completed', { description: 'Look at the answer' });
        assertOrder(await promptOf(next.runId), ['Task: Correct answer.txt',
            'Outcome: completed after 2 attempts', 'Failed on the way: unit:',
            'Mended by: forty was too small', 'Files: answer.txt']);
        const path = `/v1/memories?repository=${encodeURIComponent(name)}`;
        const memories = await server.list(path);
        assert.equal(memories.length, 2);
        assert.equal(memories[1].outcome, 'completed');
        assert.deepEqual(memories[1].paths, ['answer.txt']);
        assert.equal(memories[1].pullRequest, '1');
        const events = await server.events(next.runId);
        assert.equal(events.filter(({ type }) => type === 'agent.memory.recorded').length, 1);
        for (const { id } of memories)
            assert.equal((await server.call('DELETE', `/v1/memories/${id}`)).status, 204);
        assertProblem(await server.call('DELETE', `/v1/memories/${memories[0].id}`), 404);
        const last = await server.finish(name, 'completed', { description: 'And once more' });
        assert.ok(!(await promptOf(last.runId)).includes('## Memory'));
        assert.ok(!(await loaded(last.runId)).sources.includes('memory'));
    });
});
