// notifications.test.mjs - what becomes of a task reaches those who asked to hear of it: once,
// signed, whatever falls meanwhile, and never at the cost of a run.
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { callDrover } from './lib/cli.mjs';
import { assertCloudEvent, assertHistory, typesOf } from './lib/cloudevents.mjs';
import { fixes, gaveUp } from './lib/git.mjs';
import { assertNowhere } from './lib/nowhere.mjs';
import { start } from './lib/server.mjs';
import { openService } from './lib/service.mjs';
import { until } from './lib/wait.mjs';

const SECRET = 'not to be told';

// Takes what comes, by path; answers as `answers` says, else 204.
class Receiver {
    requests = [];
    answers = {};

    async listen() {
        this.service = await openService(({ url: path, headers, text }) => {
            const status = this.answers[path]?.shift() ?? 204;
            this.requests.push({ path, headers, text, status });
            return { status };
        });
        this.url = this.service.url;
    }

    taken(path, pleases = () => true) {
        return this.requests.filter((each) => each.path === path && each.status === 204)
            .map(({ headers, text }) => ({ headers, text, json: JSON.parse(text) }))
            .filter(({ json }) => pleases(json));
    }

    // Those of one task, once there are so many.
    untilTaken(path, taskId, count) {
        return until(`${count} at ${path} for ${taskId}`, (note) => {
            const found = this.taken(path, (json) => json.taskid === taskId);
            return note(found.map(({ json }) => json.type)).length >= count ? found : null;
        });
    }

    close() {
        this.service.close();
    }
}

const receiver = new Receiver();
const printed = join(tmpdir(), `notified-${process.pid}`);
let server;
let names = 0;
const newName = (what = 'plain') => `acme/${what}${++names}`;

// Channels by path: what each of them hears.
const config = () => `
notifications:
  - {name: hook, type: webhook, url: "${receiver.url}/hook?x=1", secretEnv: HOOK_SECRET,
     on: [accepted, running, approval, completed, failed, cancelled, timed_out]}
  - {name: chat, type: slack, urlEnv: CHAT_URL, on: [approval, completed, failed]}
  - {name: flaky, type: webhook, url: "${receiver.url}/flaky", on: [completed],
     repositories: ["acme/flaky*"]}
  - {name: strict, type: webhook, url: "${receiver.url}/strict", on: [completed],
     repositories: ["acme/strict*"]}
  - {name: poor, type: webhook, url: "${receiver.url}/poor", secretEnv: NO_SUCH_SECRET,
     on: [completed], repositories: ["acme/strict*"]}
  - name: page
    type: command
    command: [sh, -c, 'cat >${printed}.json; env >${printed}.env; exit 0']
    env: [PAGER_KEY]
    on: [failed]
    repositories: ["acme/page*"]
  - {name: broken, type: command, command: [sh, -c, 'echo no paper >&2; exit 3'], on: [failed],
     repositories: ["acme/page*"]}
`;

const drover = (...args) => callDrover(server, args);

function told(type, taskId) {
    return until(`${type} about ${taskId}`, async () => {
        const events = await server.list(`/v1/events?type=${type}&limit=200`);
        const mine = events.filter(({ data }) => data.taskId === taskId);
        return mine.length > 0 ? mine : null;
    });
}

before(async () => {
    await receiver.listen();
    server = await start({
        args: ['--workers', '3'],
        config: config(),
        env: { HOOK_SECRET: SECRET, CHAT_URL: `${receiver.url}/chat/T0/secret`,
            PAGER_KEY: 'k1', NOT_FOR_CHILDREN: 'x' },
    });
    await server.ok('PUT', '/v1/queues/drover.notify',
        { backoff: { baseMs: 10, maxMs: 20, jitterMs: 0 }, maxAttempts: 4 });
});
after(async () => {
    await server.discard();
    receiver.close();
});

describe('notifications', { concurrency: 4 }, () => {
    it('a webhook gets the events as the log has them, signed', async () => {
        const name = newName();
        await server.repository(name, fixes);
        const { taskId, runId } = await server.finish(name, 'completed',
            { description: 'Make it 42.\nPlease.' });
        const got = await receiver.untilTaken('/hook?x=1', taskId, 3);
        const byType = Object.fromEntries(got.map((each) => [each.json.type, each]));
        assert.deepEqual(Object.keys(byType).sort(),
            ['agent.run.started', 'agent.task.accepted', 'agent.task.completed']);
        const log = new Map((await server.events(runId)).map((event) => [event.id, event]));
        for (const { json, text, headers } of got) {
            assertCloudEvent(json);
            const { notification, ...data } = json.data;
            const { logseq, ...logged } = log.get(json.id);
            assert.deepEqual({ ...json, data }, logged);
            assert.equal(headers['content-type'], 'application/cloudevents+json; charset=utf-8');
            assert.equal(headers['x-drover-delivery'], json.id);
            assert.equal(headers['x-drover-event'], json.type);
            const mac = createHmac('sha256', SECRET).update(text).digest('hex');
            assert.equal(headers['x-drover-signature'], `sha256=${mac}`);
            assert.equal(notification.repository, name);
            assert.equal(notification.title, 'Make it 42.');
        }
        const { notification } = byType['agent.task.completed'].json.data;
        assert.equal(notification.kind, 'completed');
        assert.equal(notification.status, 'completed');
        assert.equal(notification.pullRequest.number, 1);
        const sent = await told('agent.notification.sent', taskId);
        assert.ok(sent.every(({ data }) => log.has(data.eventId)));
        assertHistory(await server.events(runId));
    });

    it('a chat reads what happened, and what to do', async () => {
        const [good, bad] = [newName(), newName()];
        await server.repository(good, fixes);
        await server.repository(bad, gaveUp('I <cannot> do it'));
        await server.finish(good, 'completed', { description: 'Make it 42' });
        await server.finish(bad, 'failed', { description: 'Impossible & more' });
        const texts = await until('two messages', () => {
            const all = receiver.taken('/chat/T0/secret').map(({ json }) => json.text)
                .filter((text) => text.includes(good) || text.includes(bad));
            return all.length >= 2 ? all : null;
        });
        const done = texts.find((text) => text.includes(good));
        assert.match(done, /^\*acme\/plain\d+\* Make it 42\nDone\. Pull request #1 \(draft\)\.\n`/);
        const failed = texts.find((text) => text.includes(bad));
        assert.match(failed, /Impossible &amp; more\nFailed\. .*I &lt;cannot&gt; do it/);
        assert.match(failed, /`drover timeline [0-9a-f-]{36}`$/);
    });

    it('people hear that their approval is wanted', async () => {
        const name = newName();
        await server.repository(name, fixes, { policy: { approval: 'always' } });
        const { taskId, runId } = await server.submit(name);
        await server.untilRun(runId, 'awaiting_approval');
        const [approval] = await server.list(`/v1/approvals?runId=${runId}`);
        const text = await until('the question', () => receiver.taken('/chat/T0/secret')
            .map(({ json }) => json.text).find((each) => each.includes(name)));
        assert.ok(text.includes(`drover approve ${approval.id}`), text);
        await server.post(`/v1/tasks/${taskId}/cancel`);
        const got = await receiver.untilTaken('/hook?x=1', taskId, 4);
        assert.deepEqual(got.map(({ json }) => json.data.notification.kind).sort(),
            ['accepted', 'approval', 'cancelled', 'running']);
    });

    it('a command gets the event, and of the environment what it may see', async () => {
        const name = newName('page');
        await server.repository(name, gaveUp('no'));
        const { taskId } = await server.finish(name, 'failed');
        await until('the command to have run', () => existsSync(`${printed}.env`) &&
            /DROVER_KIND/.test(readFileSync(`${printed}.env`, 'utf8')));
        const event = JSON.parse(readFileSync(`${printed}.json`, 'utf8'));
        assert.equal(event.type, 'agent.task.failed');
        assert.equal(event.taskid, taskId);
        const env = readFileSync(`${printed}.env`, 'utf8');
        assert.match(env, /^PAGER_KEY=k1$/m);
        assert.match(env, /^DROVER_KIND=failed$/m);
        assert.doesNotMatch(env, /NOT_FOR_CHILDREN|HOOK_SECRET/);
        const [failed] = await told('agent.notification.failed', taskId);
        assert.equal(failed.data.channel, 'broken');
        assert.equal(failed.data.attempts, 4);
        assert.match(failed.data.errorMessage, /exit status 3\. no paper/);
        const dead = await server.list('/v1/dead-letters?queue=drover.notify');
        assert.ok(dead.some(({ id }) => id === failed.data.jobId));
    });

    it('a receiver that is down hears of it when it is up', async () => {
        const name = newName('flaky');
        await server.repository(name, fixes);
        receiver.answers['/flaky'] = [503, 500];
        const { taskId } = await server.finish(name, 'completed');
        await receiver.untilTaken('/flaky', taskId, 1);
        assert.deepEqual(receiver.requests.filter(({ path }) => path === '/flaky')
            .map(({ status }) => status), [503, 500, 204]);
        const { state } = await server.get('/v1/breakers/notify:flaky');
        assert.equal(state, 'closed');
    });

    it('a receiver that refuses and a channel without its secret cost no run', async () => {
        const name = newName('strict');
        await server.repository(name, fixes);
        receiver.answers['/strict'] = [422];
        const { taskId, runId } = await server.finish(name, 'completed');
        const failed = await until('both to be given up', async () => {
            const all = await told('agent.notification.failed', taskId);
            return all.length === 2 ? all : null;
        });
        const codes = Object.fromEntries(failed.map(({ data }) => [data.channel, data.errorCode]));
        assert.deepEqual(codes,
            { strict: 'notification_refused', poor: 'notification_misconfigured' });
        assert.equal(receiver.requests.filter(({ path }) => path === '/strict').length, 1);
        assert.deepEqual(receiver.requests.filter(({ path }) => path === '/poor'), [],
            'nothing goes out unsigned');
        const run = await server.run(runId);
        assert.deepEqual([run.status, run.attempt, run.warning, run.pullRequest.number],
            ['completed', 1, null, 1]);
        const events = await server.events(runId);
        assertHistory(events);
        const types = typesOf(events);
        assert.ok(!types.includes('agent.step.failed'), 'no step of the run has failed');
        const completed = events.find(({ type }) => type === 'agent.task.completed');
        for (const { data } of failed) assert.equal(data.eventId, completed.id);
        await receiver.untilTaken('/hook?x=1', taskId, 3); // Others hear of it all the same.
    });

    it('can be listed and tried out', async () => {
        const list = await drover('notify', 'list');
        assert.equal(list.status, 0, list.stderr);
        for (const row of [
            /^hook +webhook +all +accepted, running, approval, completed, failed, cancelled/m,
            /^chat +slack +all +approval, completed, failed/m,
            /^flaky +webhook +acme\/flaky\* +completed/m,
            /^strict +webhook +acme\/strict\* +completed/m,
            /^poor +webhook +acme\/strict\* +completed/m,
            /^page +command +acme\/page\* +failed/m,
            /^broken +command +acme\/page\* +failed/m])
            assert.match(list.stdout, row);
        const { items } = await server.get('/v1/notifications');
        assert.equal(items.length, 7);
        for (const shown of [list.stdout, JSON.stringify(items)])
            assert.ok(![SECRET, 'T0/secret', 'k1'].some((text) => shown.includes(text)), shown);
        const test = await drover('notify', 'test', 'hook');
        assert.equal(test.status, 0, test.stderr);
        assert.match(test.stdout, /went out by hook/);
        const tests = receiver.taken('/hook?x=1',
            ({ type }) => type === 'agent.notification.test');
        assert.equal(tests.length, 1);
        const [{ json, headers, text }] = tests;
        assert.equal(json.data.notification.kind, 'test');
        const mac = createHmac('sha256', SECRET).update(text).digest('hex');
        assert.equal(headers['x-drover-signature'], `sha256=${mac}`);
        const poor = await drover('notify', 'test', 'poor');
        assert.equal(poor.status, 1);
        assert.match(poor.stdout, /NO_SUCH_SECRET/);
        assert.deepEqual(receiver.requests.filter(({ path }) => path === '/poor'), []);
        assert.equal((await drover('notify', 'test', 'nobody')).status, 3);
    });
});

// They take the server away, or look at what came last.
describe('notifications, one after the other', () => {
    it('each event goes to a channel once, over kill -9 and restart', async () => {
        const name = newName();
        await server.repository(name, fixes);
        const tasks = [];
        for (let i = 0; i < 4; i++) {
            tasks.push(await server.submit(name));
            if (i % 2 === 1) {
                await server.crash();
                await server.startAgain();
            }
        }
        for (const { taskId, runId } of tasks) {
            await server.untilTask(taskId, 'completed');
            const wanted = (await server.events(runId)).filter(({ type }) =>
                ['agent.task.accepted', 'agent.run.started', 'agent.task.completed']
                    .includes(type)).map(({ id }) => id).sort();
            // A worker that dies between the answer and its report leaves a second copy: same id.
            await until(`all events of ${taskId}`, (note) => {
                const got = receiver.taken('/hook?x=1', (json) => json.taskid === taskId);
                const ids = note([...new Set(got.map(({ json }) => json.id))].sort());
                return ids.join() === wanted.join();
            });
        }
        const keys = (await server.list('/v1/jobs?queue=drover.notify&limit=200'))
            .map(({ dedupKey }) => dedupKey).filter(Boolean);
        assert.equal(new Set(keys).size, keys.length);
        for (const { taskId } of tasks)
            assert.equal((await told('agent.notification.sent', taskId)).filter(
                ({ data }) => data.channel === 'hook' && data.kind === 'completed').length, 1);
    });

    it('keep their addresses from viewers, in jobs and in dead letters too', async () => {
        const { token } = await server.post('/v1/tokens', { name: 'looker', role: 'viewer' });
        const look = (path) => server.call('GET', path, { token });
        assert.equal((await look('/v1/notifications')).status, 403);
        assert.equal((await drover('notify', 'test', 'hook')).status, 0);
        assert.equal((await drover('notify', 'test', 'poor')).status, 1);
        const [dead] = await server.list('/v1/dead-letters?queue=drover.notify&limit=1');
        const [job] = await server.list('/v1/jobs?queue=drover.notify&state=succeeded&limit=1');
        for (const path of [`/v1/jobs/${job.id}`, `/v1/jobs/${dead.id}`,
            `/v1/dead-letters/${dead.id}`]) {
            const whole = (await server.get(path)).payload;
            const seen = await look(path);
            assert.equal(seen.status, 200, seen.text);
            assert.ok(!seen.text.includes(receiver.url), `${path}: ${seen.text}`);
            assert.ok(whole.channel.url.startsWith(receiver.url));
            const { name, type } = whole.channel;
            assert.deepEqual(seen.json.payload, { ...whole, channel: { name, type } });
        }
    });

    it('tell nobody their secrets', async () => {
        const runs = await server.list('/v1/runs?limit=200');
        await assertNowhere(server, runs.map(({ id }) => id), SECRET, 'T0/secret');
    });
});
