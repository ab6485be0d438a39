// topics.test.mjs - messages to topics: every subscription its own copy; requests and replies.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import http from 'node:http';
import { after, before, describe, it } from 'node:test';
import { callDrover } from './lib/cli.mjs';
import { RFC3339, UUID } from './lib/cloudevents.mjs';
import { on } from './lib/database.mjs';
import { assertProblem } from './lib/http.mjs';
import { Server, start } from './lib/server.mjs';
import { until } from './lib/wait.mjs';

let server;
let names = 0;
const newName = (what = 'x') => `${what}${++names}`;

const subscribe = (name, pattern, queue) =>
    server.ok('PUT', `/v1/subscriptions/${name}`, { pattern, ...(queue && { queue }) });
const publish = (topic, body) => server.post(`/v1/topics/${topic}/publish`, body);

async function lease(queue, { max = 100, waitMs = 0, from = server } = {}) {
    const body = { queues: [queue], worker: 'w1', max, waitMs, leaseMs: 60_000 };
    return (await from.post('/v1/jobs/lease', body)).jobs;
}

async function leaseOne(queue, options = {}) {
    const jobs = await until(`a job of ${queue}`, async () => {
        const some = await lease(queue, { max: 1, waitMs: 10_000, ...options });
        return some.length > 0 ? some : null;
    });
    return jobs[0];
}

// Does not wait for its answer.
const ask = (topic, body, from = server) =>
    from.call('POST', `/v1/topics/${topic}/request`, { body });
const reply = (id, body, from = server) => from.call('POST', `/v1/replies/${id}`, { body });

async function droppedReplies(requestId) {
    const events = await server.list('/v1/events?type=agent.reply.dropped&limit=200');
    return events.map(({ data }) => data).filter((data) => data.requestId === requestId);
}

const drover = (args, input) => callDrover(server, args, input);

describe('topics', { concurrency: 8 }, () => {
    before(async () => (server = await start({ args: ['--workers', '1'] })));
    after(() => server.discard());

    it('give every subscription that matches a copy of its own', async () => {
        const root = newName('t');
        const [one, all, other] = [newName('s'), newName('s'), newName('s')];
        await subscribe(one, `${root}.*`);
        await subscribe(all, `${root}.>`, `queue.${all}`);
        await subscribe(other, `${root}x.*`);
        const payload = { text: 'ü ☃', n: [1, null] };
        const message = await publish(`${root}.created`,
            { payload, priority: 7, headers: { tenant: 'acme' } });
        assert.match(message.id, UUID);
        assert.deepEqual(message.deliveries.map(({ jobId, ...rest }) => rest), [
            { subscription: one, queue: `sub.${one}`, duplicate: false },
            { subscription: all, queue: `queue.${all}`, duplicate: false },
        ].sort((a, b) => (a.subscription < b.subscription ? -1 : 1)));
        for (const queue of [`sub.${one}`, `queue.${all}`]) {
            const [job, ...more] = await lease(queue);
            assert.equal(more.length, 0);
            assert.deepEqual(job.payload, payload);
            assert.equal(job.type, `${root}.created`);
            const { publishedAt, ...headers } = job.headers;
            assert.match(publishedAt, RFC3339);
            assert.deepEqual(headers,
                { messageId: message.id, topic: `${root}.created`, tenant: 'acme' });
            const stored = await server.get(`/v1/jobs/${job.id}`);
            assert.deepEqual(stored.headers, job.headers);
            assert.equal(stored.priority, 7);
        }
        const deep = await publish(`${root}.created.eu`, { payload: 1 });
        assert.deepEqual(deep.deliveries.map((each) => each.subscription), [all]);
        const nobody = await publish(`${root}.a.b.c-d_e`.replace(root, newName('z')), {});
        assert.deepEqual(nobody.deliveries, []);
    });

    it('take many messages in one commit, in order, and drop duplicates', async () => {
        const topic = newName('t');
        const [a, b] = [newName('s'), newName('s')];
        const queue = newName('q');
        await subscribe(a, topic, queue);
        await subscribe(b, topic, queue);
        const messages = [0, 1, 2].map((payload) => ({ payload, dedupKey: `k${payload}` }));
        const first = await publish(topic, { messages });
        assert.equal(first.messages.length, 3);
        const jobs = await lease(queue);
        assert.deepEqual(jobs.map((job) => job.payload), [0, 0, 1, 1, 2, 2]);
        const again = await publish(topic, messages[1]);
        assert.deepEqual(again.deliveries.map((each) => each.duplicate), [true, true]);
        assert.deepEqual(again.deliveries.map((each) => each.jobId),
            first.messages[1].deliveries.map((each) => each.jobId));
        const many = Array.from({ length: 501 }, () => ({ payload: null }));
        const res = await server.call('POST', `/v1/topics/${topic}/publish`,
            { body: { messages: many } });
        assert.match(assertProblem(res, 413, { code: 'TOO_MANY_DELIVERIES' }).detail, /1002 jobs/);
        assert.deepEqual(await lease(queue), []);
    });

    it('keep a subscription until it is changed or removed', async () => {
        const [name, topic] = [newName('s'), newName('t')];
        const made = await server.call('PUT', `/v1/subscriptions/${name}`,
            { body: { pattern: `${topic}.*` } });
        assert.equal(made.status, 201);
        await publish(`${topic}.a`, { payload: 1 });
        const changed = await server.call('PUT', `/v1/subscriptions/${name}`,
            { body: { pattern: `${topic}.b` } });
        assert.equal(changed.status, 200);
        assert.equal(changed.json.createdAt, made.json.createdAt);
        assert.deepEqual((await publish(`${topic}.a`, { payload: 2 })).deliveries, []);
        assert.deepEqual(await server.get(`/v1/subscriptions/${name}`), changed.json);
        const listed = await server.list('/v1/subscriptions?limit=2');
        assert.equal(listed.filter((each) => each.name === name).length, 1);
        assert.equal((await server.call('DELETE', `/v1/subscriptions/${name}`)).status, 204);
        assertProblem(await server.call('DELETE', `/v1/subscriptions/${name}`), 404);
        assertProblem(await server.call('GET', `/v1/subscriptions/${name}`), 404);
        assert.deepEqual((await lease(`sub.${name}`)).map((job) => job.payload), [1]);
    });

    it('refuse what is not valid, by name', async () => {
        const put = (name, body) => server.call('PUT', `/v1/subscriptions/${name}`, { body });
        const post = (path, body) => server.call('POST', path, { body });
        const long = 'x'.repeat(97);
        assertProblem(await put(long, { pattern: 'a' }), 400, { code: 'INVALID_NAME' });
        assertProblem(await put('a%2Fb', { pattern: 'a' }), 400, { code: 'INVALID_NAME' });
        for (const pattern of ['', 'a..b', 'a.>.b', 'a.b*', 'ä'])
            assertProblem(await put('s', { pattern }), 422, { field: 'pattern' });
        assertProblem(await put('s', { pattern: 'a', queue: 'drover.agent' }), 422,
            { field: 'queue' });
        assertProblem(await put('s', { pattern: 'a', more: 1 }), 422, { code: 'UNKNOWN_FIELD' });
        for (const topic of ['a.*', '%3E', 'a..b', 'a%20b'])
            assertProblem(await post(`/v1/topics/${topic}/publish`, {}), 400,
                { code: 'INVALID_TOPIC' });
        const bad = [{ headers: { a: 1 } }, { headers: { messageId: 'x' } },
            { headers: { 'a b': 'x' } }, { headers: [] }, { headers: { a: 'x'.repeat(1025) } }];
        for (const body of bad)
            assertProblem(await post('/v1/topics/a/publish', body), 422, { field: 'headers' });
        assertProblem(await post('/v1/topics/a/publish', { messages: [{}, { payload: 1, x: 2 }] }),
            422, { field: 'messages[1].x' });
        assertProblem(await post('/v1/topics/a/publish', { messages: [] }), 422);
        assertProblem(await post('/v1/topics/a/request', { timeoutMs: 60_001 }), 422);
        assertProblem(await post('/v1/topics/a/request', { requestId: 'x' }), 422);
        assertProblem(await post('/v1/topics/a/request', { dedupKey: 'x' }), 422);
        assertProblem(await post('/v1/replies/x', {}), 400, { code: 'INVALID_ID' });
        assertProblem(await post(`/v1/replies/${randomUUID()}`, { payload: 1 }), 404,
            { code: 'REQUEST_NOT_FOUND' });
        assertProblem(await post(`/v1/replies/${randomUUID()}`,
            { payload: 1, error: { code: 'x' } }), 422, { field: 'error' });
        assertProblem(await post(`/v1/replies/${randomUUID()}`, { error: {} }), 422,
            { field: 'error.code' });
    });
});

describe('a request', { concurrency: 8 }, () => {
    before(async () => (server = await start({ args: ['--workers', '1'] })));
    after(() => server.discard());

    it('gets the one reply, be it a payload or an error', async () => {
        const [name, topic] = [newName('s'), newName('t')];
        await subscribe(name, topic);
        for (const answer of [{ payload: { price: 12 } }, { payload: null },
            { error: { code: 'SOLD_OUT', message: 'no more' } }]) {
            const asked = ask(topic, { payload: { item: 7 }, headers: { a: 'b' } });
            const job = await leaseOne(`sub.${name}`);
            const { correlationId, replyTo, deadline, a } = job.headers;
            assert.equal(replyTo, `/v1/replies/${correlationId}`);
            assert.match(deadline, RFC3339);
            assert.equal(a, 'b');
            assert.deepEqual((await server.call('POST', replyTo, { body: answer })).json,
                { ok: true });
            const { status, json } = await asked;
            assert.equal(status, 200);
            const { repliedAt, ...rest } = json;
            assert.match(repliedAt, RFC3339);
            assert.deepEqual(rest, { requestId: correlationId, topic, repliedBy: 'admin',
                ...answer });
            assertProblem(await reply(correlationId, { payload: 2 }), 409,
                { code: 'REPLY_TAKEN' });
            assert.deepEqual(await droppedReplies(correlationId),
                [{ requestId: correlationId, topic, reason: 'second' }]);
        }
    });

    it('ends at its deadline, and the late reply is dropped with a trace', async () => {
        const [name, topic] = [newName('s'), newName('t')];
        await subscribe(name, topic);
        const requestId = randomUUID();
        const body = { payload: 1, timeoutMs: 50, requestId };
        assertProblem(await ask(topic, body), 504, { code: 'REQUEST_TIMED_OUT' });
        assertProblem(await reply(requestId, { payload: 1 }), 409, { code: 'REPLY_LATE' });
        assert.deepEqual(await droppedReplies(requestId), [{ requestId, topic, reason: 'late' }]);
        assertProblem(await ask(topic, body), 504, { code: 'REQUEST_TIMED_OUT' });
    });

    it('is refused at once when nobody has subscribed', async () => {
        const requestId = randomUUID();
        assertProblem(await ask(newName('t'), { requestId }), 404, { code: 'NO_SUBSCRIBER' });
        assertProblem(await reply(requestId, {}), 404, { code: 'REQUEST_NOT_FOUND' });
    });

    it('that lost its connection is resumed by its id, and published once', async () => {
        const [name, topic] = [newName('s'), newName('t')];
        await subscribe(name, topic);
        const requestId = randomUUID();
        const lost = http.request(`${server.url}/v1/topics/${topic}/request`, {
            method: 'POST',
            headers: { authorization: `Bearer ${server.token}`,
                'content-type': 'application/json' },
        });
        lost.on('error', () => {});
        lost.end(JSON.stringify({ payload: 1, requestId }));
        const job = await leaseOne(`sub.${name}`);
        assert.equal(job.headers.correlationId, requestId);
        lost.destroy();
        const resumed = ask(topic, { payload: 1, requestId });
        assert.equal((await reply(requestId, { payload: 'yes' })).status, 200);
        assert.equal((await resumed).json.payload, 'yes');
        assert.equal((await ask(topic, { payload: 1, requestId })).json.payload, 'yes');
        assert.deepEqual(await lease(`sub.${name}`), []);
        await subscribe(newName('s'), `${topic}x`);
        assertProblem(await ask(`${topic}x`, { requestId }), 409, { code: 'REQUEST_ID_TAKEN' });
    });

    it('works from the command line', async () => {
        const [name, topic] = [newName('s'), newName('t')];
        const set = await drover(['subscription', 'set', name, topic, '--queue', `q.${name}`]);
        assert.match(set.stdout, new RegExp(`q\\.${name}`));
        const sent = await drover(['publish', topic, '-', '--header', 'a=b=c', '--json'],
            '"plain text"\n');
        assert.equal(JSON.parse(sent.stdout).deliveries.length, 1);
        const [message] = await lease(`q.${name}`);
        assert.equal(message.payload, 'plain text');
        assert.equal(message.headers.a, 'b=c');
        const asked = drover(['request', topic, '{"item": 7}', '--timeout', '20']);
        const { payload, headers } = await leaseOne(`q.${name}`);
        assert.deepEqual(payload, { item: 7 });
        const replied = await drover(['reply', headers.correlationId, '[1]']);
        assert.equal(replied.status, 0, replied.stderr);
        assert.deepEqual(await asked, { status: 0, stdout: '[1]\n', stderr: '' });
        assert.match((await drover(['subscription', 'list'])).stdout, new RegExp(name));
        assert.equal((await drover(['subscription', 'remove', name])).status, 0);
        assert.equal((await drover(['subscription', 'remove', name])).status, 3);
        assert.match((await drover(['publish', topic, '1'])).stdout, /No subscription matches/);
        const nobody = await drover(['request', topic, '1']);
        assert.equal(nobody.status, 3);
        assert.match(nobody.stderr, /drover subscription list/);
        assert.equal((await drover(['publish', topic, '@/no/such/file'])).status, 2);
        assert.match((await drover(['publish', topic, '{"a":'])).stderr, /no JSON/);
    });

    on('postgres', it)('is answered through another node', async () => {
        const other = new Server({ args: ['--workers', '1'], db: server.db });
        try {
            await other.start();
            const [name, topic] = [newName('s'), newName('t')];
            await other.ok('PUT', `/v1/subscriptions/${name}`, { pattern: topic });
            const asked = ask(topic, { payload: 1, timeoutMs: 30_000 });
            const job = await leaseOne(`sub.${name}`, { from: other });
            const res = await reply(job.headers.correlationId, { payload: 'there' }, other);
            assert.equal(res.status, 200);
            assert.equal((await asked).json.payload, 'there');
            await other.discard();
        } finally {
            other.killNow();
        }
    });
});

describe('what was acknowledged', () => {
    it('is there after kill -9: subscriptions, copies and requests', async () => {
        server = await start({ args: ['--workers', '1'] });
        const subscriptions = ['a', 'b', 'c'];
        for (const name of subscriptions) await subscribe(name, 't.>');
        const sent = [];
        let crashed = false;
        const senders = Array.from({ length: 8 }, async (_, sender) => {
            for (let n = 0; !crashed; n++) {
                const payload = `${sender}.${n}`;
                const body = { payload, dedupKey: payload };
                const res = await server.call('POST', '/v1/topics/t.x/publish', { body })
                    .catch(() => null);
                if (res?.status === 201) sent.push(payload);
            }
        });
        const requestId = randomUUID();
        const asked = ask('t.ask', { requestId, timeoutMs: 60_000 }).catch(() => 'cut off');
        await until('messages and a request', async () =>
            sent.length > 200 && (await server.list('/v1/jobs?type=t.ask')).length > 0);
        crashed = true;
        await server.crash();
        await Promise.all(senders);
        assert.equal(await asked, 'cut off');
        await server.start();
        const resumed = ask('t.ask', { requestId });
        for (const name of subscriptions) {
            const copies = [];
            for (let some; (some = await lease(`sub.${name}`, { max: 1000 })).length > 0;)
                copies.push(...some.map((job) => job.payload));
            const unique = new Set(copies);
            assert.equal(unique.size, copies.length, `${name} has one twice`);
            assert.deepEqual(sent.filter((payload) => !unique.has(payload)), [],
                `${name} has lost some`);
        }
        assert.equal((await reply(requestId, { payload: 'after all' })).status, 200);
        assert.equal((await resumed).json.payload, 'after all');
        await server.discard();
    });
});
