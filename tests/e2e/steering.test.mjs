// steering.test.mjs - people and runs that work: messages, pauses, and what agents ask.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { launch } from './lib/cli.mjs';
import { assertHistory, typesOf } from './lib/cloudevents.mjs';
import { answers, done, fixes, waits } from './lib/git.mjs';
import { assertProblem } from './lib/http.mjs';
import { LONG_LEASES } from './lib/own.mjs';
import { start } from './lib/server.mjs';
import { until } from './lib/wait.mjs';

// An agent that cannot be spoken to while it works.
const deaf = (script) => ({ command: ['/bin/sh', '-c', script], adapter: 'none' });
const QUESTION = 'What is the answer?';
const ASK = `drover ask '${QUESTION}'`;
// Asks, unless an earlier attempt has: then its prompt has the answer.
const asksOnce = `answer=$(sed -n '/ answered:$/,$s/^> \\([0-9]*\\)$/\\1/p' "$DROVER_PROMPT")
[ -n "$answer" ] || answer=$(${ASK} --option 41 --option 42) || exit 1
echo "$answer" >answer.txt
${done('as I was told')}`;

let server;

const drover = (...args) => launch(args,
    { DROVER_URL: server.url, DROVER_TOKEN: server.token }).ended;

const untilAsked = (runId, on = server) => until(`a question of run ${runId}`, async () =>
    (await on.list(`/v1/questions?status=pending&runId=${runId}`))[0]);

const say = (runId, text, token) =>
    server.call('POST', `/v1/runs/${runId}/messages`, { body: { text }, token });

const steer = (runId, verb, body = {}) =>
    server.call('POST', `/v1/runs/${runId}/${verb}`, { body });

async function lines(runId) {
    const { groups } = await server.get(`/v1/runs/${runId}/timeline`);
    return groups.flatMap((group) => group.lines.map((line) => line.text));
}

describe('steering', { concurrency: 4 }, () => {
    before(async () => {
        server = await start({ args: ['--workers', '6'] });
    });
    after(() => server.discard());

    it('an agent asks from inside its sandbox and goes on with the answer', async () => {
        const repo = await server.repository('acme/asks', asksOnce);
        const { taskId, runId } = await server.submit(repo.name);
        const question = await untilAsked(runId);
        assert.deepEqual([question.text, question.options, question.default, question.attempt],
            [QUESTION, ['41', '42'], null, 1]);
        const run = await server.run(runId);
        assert.equal(run.questionId, question.id);
        assert.equal(run.status, 'running');
        const listed = await drover('questions');
        assert.match(listed.out, /What is the answer\? \(41, 42\)/);
        assert.match((await drover('runs')).out, /running, asks/);
        const wrong = await drover('answer', runId, '43');
        assert.equal(wrong.code, 4, wrong.err);
        assert.match(wrong.err, /one of \["41","42"\]/);
        const right = await drover('answer', runId, '42');
        assert.equal(right.code, 0, right.err);
        const task = await server.untilTask(taskId, 'completed');
        assert.equal(task.errorCode, null);
        assert.equal((await server.run(runId)).attempt, 1);
        assertProblem(await server.call('POST', `/v1/questions/${question.id}/answer`,
            { body: { answer: '41' } }), 409, { code: 'QUESTION_CLOSED' });
        const shown = await drover('question', question.id);
        assert.match(shown.out, /Answered by +admin/);
        const story = await lines(runId);
        assert.ok(story.includes(`the agent asks: ${QUESTION} (41, 42)`), story.join('\n'));
        assert.ok(story.includes('answered by admin: 42'), story.join('\n'));
        assertHistory(await server.events(runId));
    });

    it('a question without an answer in time has its default, or none', async () => {
        const repo = await server.repository('acme/late', `
answer=$(${ASK} --default 42 --timeout 1)
${ASK} --timeout 1 && exit 1
[ $? = 1 ] || exit 2
echo "$answer" >answer.txt
${done()}`);
        const { runId } = await server.finish(repo.name, 'completed');
        const asked = await server.list(`/v1/questions?runId=${runId}`);
        assert.deepEqual(asked.map(({ status, answer }) => [status, answer]).reverse(),
            [['expired', '42'], ['expired', null]]);
    });

    it('an agent may end with its question, and is started with the answer', async () => {
        const repo = await server.repository('acme/ends', `
if [ -z "$DROVER_FEEDBACK" ]; then
    echo kept >note.txt
    printf '{"status":"question","question":"${QUESTION}"}' >"$DROVER_RESULT"
    exit 0
fi
[ "$(cat note.txt)" = kept ] || exit 1
sed -n 's/^> \\([0-9]*\\)$/\\1/p' "$DROVER_FEEDBACK" >answer.txt
${done()}`);
        const { taskId, runId } = await server.submit(repo.name);
        const question = await untilAsked(runId);
        await server.untilRun(runId, 'awaiting_approval');
        await server.post(`/v1/questions/${question.id}/answer`, { answer: '42' });
        await server.untilTask(taskId, 'completed');
        const run = await server.run(runId);
        assert.equal(run.attempt, 2);
        assert.equal(run.retries.agent, 1, 'that is no retry');
    });

    it('only the agent of a run asks in it, and only people answer', async () => {
        const curl = (path, body) => `curl -s -o /dev/null -w '%{http_code} ' --unix-socket \
"$DROVER_SOCKET" -H "Authorization: Bearer $DROVER_TOKEN" -H 'Content-Type: application/json' \
-d '${body}' "http://localhost${path}"`;
        const other = await server.repository('acme/other', waits('other') + fixes);
        const { taskId: otherTask, runId: otherRun } = await server.submit(other.name);
        await server.untilGate('other');
        const repo = await server.repository('acme/rights', `
{ ${curl(`/v1/runs/${otherRun}/questions`, '{"text":"May I?"}')}
${curl('/v1/runs/$DROVER_RUN_ID/messages', '{"text":"hello, me"}')}
${curl('/v1/questions/00000000-0000-7000-8000-000000000000/answer', '{"answer":"x"}')}
} >codes.txt
${fixes}`, { policy: { approval: 'always' } });
        const { taskId, runId } = await server.submit(repo.name);
        const { diffArtifactId, id } = await server.question(runId);
        const diff = (await server.call('GET', `/v1/artifacts/${diffArtifactId}`)).text;
        assert.match(diff, /^\+403 403 403 $/m);
        await server.decide(id, 'approve');
        await server.untilTask(taskId, 'completed');
        const { token } = await server.post('/v1/tokens', { name: 'looker', role: 'viewer' });
        assertProblem(await say(otherRun, 'hello', token), 403, { code: 'ROLE_NOT_ALLOWED' });
        await server.openGate('other');
        await server.untilTask(otherTask, 'completed');
    });

    it('a message that no agent could read while it worked starts it again', async () => {
        const repo = await server.repository('acme/said', '', {
            agent: deaf(`if [ "$DROVER_ATTEMPT" = 1 ]; then
    ${waits('said')}${answers(41)}
else
    grep -q '^> the answer is 42, "really"$' "$DROVER_FEEDBACK" && ${answers(42)}
fi
${done()}`),
        });
        const { taskId, runId } = await server.submit(repo.name);
        await server.untilGate('said');
        const said = await drover('say', runId, 'the answer is 42, "really"');
        assert.equal(said.code, 0, said.err);
        assert.match(said.out, /^Message 1 to run .* \(running\): its agent works/);
        const unread = await drover('messages', runId);
        assert.match(unread.out, /unread +admin +the answer is 42, "really"/);
        await server.openGate('said');
        await server.untilTask(taskId, 'completed');
        const run = await server.run(runId);
        assert.deepEqual([run.attempt, run.retries.agent, run.messages], [2, 1, 1]);
        const types = typesOf(await server.events(runId));
        assert.ok(types.indexOf('agent.message.sent') < types.indexOf('agent.message.delivered'));
        const [message] = await server.list(`/v1/runs/${runId}/messages`);
        assert.ok(message.deliveredAt);
        assertProblem(await say(runId, 'too late'), 409, { code: 'RUN_FINISHED' });
        assert.match((await say(runId, 'too late')).json.detail, /completed/);
    });

    it('a queued run waits while it is paused and has its message at the start', async () => {
        const repo = await server.repository('acme/queued', '', {
            agent: deaf(`if grep -q '^> go first$' "$DROVER_PROMPT"; then
    ${fixes}else
    ${waits('queued')}${fixes}fi`),
            limits: { maxActiveRuns: 1 },
        });
        const first = await server.submit(repo.name);
        await server.untilGate('queued');
        const second = await server.submit(repo.name);
        assert.equal((await say(second.runId, 'go first')).status, 201);
        assert.equal((await drover('pause', second.runId, '--reason', 'not now')).code, 0);
        await server.openGate('queued');
        await server.untilTask(first.taskId, 'completed');
        const task = await server.untilTask(second.taskId, 'deferred');
        assert.equal((await server.run(second.runId)).deferredReason, 'paused');
        assert.equal(task.status, 'deferred');
        assert.equal((await drover('resume', second.runId)).code, 0);
        await server.untilTask(second.taskId, 'completed');
        const story = await lines(second.runId);
        assert.ok(story.includes('paused by admin: not now'), story.join('\n'));
        assert.ok(story.includes('pause ended by admin'), story.join('\n'));
    });

    it('a run that is paused between two steps goes no further', async () => {
        const repo = await server.repository('acme/between', fixes, {
            verify: [{ name: 'unit', command: `sh test.sh\n${waits('between')}` }],
        });
        const { taskId, runId } = await server.submit(repo.name);
        await server.untilGate('between');
        const { deadline } = await server.run(runId);
        for (let twice = 0; twice < 2; twice++)
            assert.equal((await steer(runId, 'pause')).json.paused, true);
        await server.openGate('between');
        await server.untilEvent(runId, 'agent.step.completed',
            ({ data }) => data.step === 'verify');
        const other = await server.repository('acme/beside', fixes);
        await server.finish(other.name, 'completed'); // Workers are free, and pass it by.
        const run = await server.run(runId);
        assert.deepEqual([run.status, run.paused, run.pausedBy], ['judging', true, 'admin']);
        assert.match((await drover('runs')).out, /judging, paused/);
        assert.equal((await steer(runId, 'resume')).json.paused, false);
        assert.equal((await steer(runId, 'resume')).status, 200);
        await server.untilTask(taskId, 'completed');
        assert.ok(Date.parse((await server.run(runId)).deadline) > Date.parse(deadline));
        assertHistory(await server.events(runId));
        assertProblem(await steer(runId, 'pause'), 409, { code: 'RUN_FINISHED' });
    });

    it('a paused run can be cancelled', async () => {
        const repo = await server.repository('acme/stops', waits('stops') + fixes);
        const { taskId, runId } = await server.submit(repo.name);
        await server.untilGate('stops');
        assert.equal((await steer(runId, 'pause')).status, 200);
        await server.cancel(taskId);
        await server.untilTask(taskId, 'cancelled');
        assert.equal((await server.run(runId)).paused, false);
    });
});

describe('after kill -9', { concurrency: 2 }, () => {
    it('a question is still open, and its answer resumes the run', async () => {
        const own = await start({ config: LONG_LEASES });
        try {
            const repo = await own.repository('acme/crash', asksOnce);
            const { taskId, runId } = await own.submit(repo.name);
            const question = await untilAsked(runId, own);
            await own.crash();
            await own.start();
            await own.untilRun(runId, 'awaiting_approval');
            const open = await own.get(`/v1/questions/${question.id}`);
            assert.equal(open.status, 'pending');
            assert.equal(open.expiresAt, question.expiresAt);
            const waiting = own.get(`/v1/questions/${question.id}?waitMs=30000`);
            await own.post(`/v1/questions/${question.id}/answer`, { answer: '42' });
            assert.equal((await waiting).answer, '42');
            await own.untilTask(taskId, 'completed');
            assert.equal((await own.list(`/v1/questions?runId=${runId}`)).length, 1);
            assertHistory(await own.events(runId));
        } finally {
            await own.discard();
        }
    });

    it('a paused run is still paused', async () => {
        const own = await start({ config: LONG_LEASES });
        try {
            const repo = await own.repository('acme/crash', waits('crash') + fixes);
            const { taskId, runId } = await own.submit(repo.name);
            await own.untilGate('crash');
            await own.post(`/v1/runs/${runId}/pause`);
            await own.crash();
            await own.start();
            const run = await own.untilRun(runId, 'preparing'); // Its tree is to be made anew.
            assert.equal(run.paused, true);
            const other = await own.repository('acme/beside', fixes);
            await own.finish(other.name, 'completed');
            assert.equal((await own.run(runId)).status, 'preparing');
            await own.post(`/v1/runs/${runId}/resume`);
            await own.letThrough('crash', taskId);
        } finally {
            await own.discard();
        }
    });
});
