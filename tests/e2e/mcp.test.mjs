// mcp.test.mjs - the Model Context Protocol at /mcp: both eras, roles, tools, tasks, notifications.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { fixes, patchTo, waits } from './lib/git.mjs';
import { assertProblem } from './lib/http.mjs';
import { LEGACY, MODERN, Mcp, TASKS } from './lib/mcp.mjs';
import { withServer } from './lib/own.mjs';
import { start } from './lib/server.mjs';
import { until } from './lib/wait.mjs';

let server;
const tokens = {};
const open = (options) => Mcp.open(server, options);
// Arguments by which a tool that may wait does not.
const WAITING = { get_next_task: { waitMs: 0, queue: 'empty' }, wait_for_event: { waitMs: 0 } };
const ERAS = ['modern', 'legacy'];
const PULL = { agent: { compute: 'pull' } };
const queueOf = (name) => name.replace('/', '-');
const pulled = (name) => server.repository(name, '', { agent: { compute: 'pull',
    queue: queueOf(name) } });
// The next claim, once there is one.
const work = (mcp, queue, more = {}) => until('work', async () =>
    (await mcp.call('get_next_task', { queue, ...more })).claim);
// Messages that are in progress, beside the one that asks.
const untilMessages = (count, of = server) => until(`${count} messages`, async (note) => {
    const { text } = await of.call('GET', '/metrics');
    return note(Number(/^drover_mcp_messages (\d+)$/m.exec(text)[1])) === count;
});
const META = { 'io.modelcontextprotocol/protocolVersion': MODERN,
    'io.modelcontextprotocol/clientCapabilities': {} };

before(async () => {
    server = await start({ args: ['--workers', '4'] });
    tokens.admin = server.token;
    for (const role of ['viewer', 'operator', 'worker'])
        tokens[role] = (await server.post('/v1/tokens', { name: role, role })).token;
});
after(() => server.discard());

describe('a message', { concurrency: 4 }, () => {
    it('opens either era, and each is told what works', async () => {
        const legacy = await open({ era: 'legacy' });
        assert.deepEqual(legacy.about.capabilities, { tools: {}, prompts: {},
            resources: { subscribe: true }, completions: {} });
        assert.equal(legacy.about.protocolVersion, LEGACY);
        assert.equal((await legacy.initialize('2025-06-18')).protocolVersion, '2025-06-18');
        assert.equal((await legacy.initialize('1999-01-01')).protocolVersion, LEGACY);
        assert.match(legacy.session, /^[\x21-\x7e]+$/);
        assert.deepEqual(await legacy.ask('ping'), {});
        const modern = await open();
        const about = await modern.ask('server/discover');
        assert.deepEqual(about.supportedVersions, [MODERN, LEGACY, '2025-06-18']);
        assert.deepEqual(about.capabilities.extensions, { [TASKS]: {} });
        assert.deepEqual([about.cacheScope, typeof about.ttlMs], ['public', 'number']);
        for (const method of ['tools/list', 'prompts/list', 'resources/list',
            'resources/templates/list']) {
            const list = await modern.ask(method);
            assert.ok(list.ttlMs >= 0 && ['public', 'private'].includes(list.cacheScope), method);
            assert.ok(!('ttlMs' in await legacy.ask(method)), method);
            await modern.refused(-32602, method, { cursor: 'no such page' });
        }
        await modern.refused(-32601, 'ping');
        await legacy.refused(-32601, 'server/discover');
        await legacy.refused(-32601, 'logging/setLevel', { level: 'info' });
        // A client without a session is served, too.
        legacy.session = undefined;
        assert.deepEqual(await legacy.ask('ping'), {});
    });

    it('keeps its id as it was sent', async () => {
        const { url } = server;
        for (const id of ['"7"', '7', '7.0', '-1', '"\\u00e4\\n"', '1e2',
            `"${'x'.repeat(254)}"`]) {
            const res = await server.call('POST', '/mcp', { headers: { 'content-type':
                'application/json' }, body: `{"jsonrpc":"2.0", "id" : ${id} ,"method":"ping"}` });
            assert.ok(res.text.includes(`"id":${id},`), `${url}: ${res.text}`);
        }
    });

    it('that is none is refused, and so is one that comes from elsewhere', async () => {
        const deep = `${'['.repeat(70)}${']'.repeat(70)}`;
        for (const [body, code] of [['{"jsonrpc":', -32700], ['', -32700], [deep, -32700],
            ['{"a":1,"a":2}', -32700], ['[]', -32600], ['7', -32600], ['{}', -32600],
            ['[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600],
            ['{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600],
            ['{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600],
            ['{"jsonrpc":"2.0","id":{},"method":"ping"}', -32600],
            [`{"jsonrpc":"2.0","id":"${'x'.repeat(300)}","method":"ping"}`, -32600],
            ['{"jsonrpc":"2.0","id":1}', -32600], ['{"jsonrpc":"2.0","id":1,"method":7}', -32600],
            ['{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', -32600],
            ['{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":1}}', -32600]]) {
            const res = await server.call('POST', '/mcp', { body,
                headers: { 'content-type': 'application/json' } });
            assert.deepEqual([res.status, res.json?.error?.code], [400, code], body.slice(0, 80));
        }
        const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };
        const call = (headers, body = ping) => server.call('POST', '/mcp', { body, headers });
        const none = await server.call('POST', '/mcp', { body: ping, token: null });
        assertProblem(none, 401);
        assert.equal(none.headers['www-authenticate'], 'Bearer');
        assertProblem(await call({ host: 'evil.example.com' }), 403, { code: 'FOREIGN_HOST' });
        for (const origin of ['http://evil.example.com', 'null', 'http://10.1.2.3', 'file://'])
            assertProblem(await call({ origin }), 403, { code: 'FOREIGN_ORIGIN' });
        assertProblem(await server.call('POST', '/mcp', { body: ping, token: null,
            headers: { origin: 'http://evil.example.com' } }), 403, { code: 'FOREIGN_ORIGIN' });
        for (const origin of ['http://localhost:1234', server.url, 'https://127.0.0.1'])
            assert.equal((await call({ origin })).status, 200, origin);
        assertProblem(await call({ 'content-type': 'text/plain' }), 415);
        assert.equal((await call({ accept: 'text/event-stream' })).headers['content-type'],
            'text/event-stream');
        const large = { ...ping, params: { x: 'x'.repeat(1 << 20) } };
        assert.equal((await call({}, large)).status, 413);
        for (const method of ['GET', 'DELETE', 'PUT']) {
            const res = await server.call(method, '/mcp');
            assertProblem(res, 405);
            assert.match(res.headers.allow, /POST/);
        }
    });

    it('of the modern era must have headers that agree with it', async () => {
        const mcp = await open();
        const send = async (message, headers) => {
            const { status, json } = await mcp.post(message, headers);
            return [status, json.error?.code ?? 'ok'];
        };
        const list = mcp.message('tools/list'), tool = mcp.message('tools/call',
            { name: 'list_tasks', arguments: {} });
        for (const [message, headers, wanted] of [
            [list, {}, [200, 'ok']],
            [list, { 'mcp-method': null }, [400, -32020]],
            [list, { 'mcp-method': 'Tools/List' }, [400, -32020]],
            [list, { 'mcp-protocol-version': null }, [400, -32020]],
            [list, { 'mcp-protocol-version': LEGACY }, [400, -32020]],
            [tool, {}, [200, 'ok']],
            [tool, { 'mcp-name': `=?base64?${btoa('list_tasks')}?=` }, [200, 'ok']],
            [tool, { 'mcp-name': `=?base64?${btoa('list_task')}?=` }, [400, -32020]],
            [tool, { 'mcp-name': '=?base64?bGlzdF90YXNrcw?=' }, [400, -32020]],
            [tool, { 'mcp-name': 'create_task' }, [400, -32020]],
            [tool, { 'mcp-name': null }, [400, -32020]],
            [{ ...list, params: {} }, {}, [400, -32602]],
            [{ ...list, params: undefined }, {}, [400, -32602]],
            [{ ...list, params: { _meta: { ...META,
                'io.modelcontextprotocol/clientCapabilities': undefined } } }, {}, [400, -32602]],
            [{ ...list, params: { _meta: { ...META,
                'io.modelcontextprotocol/protocolVersion': undefined } } }, {}, [400, -32602]],
            [{ ...list, method: 'no/such' }, {}, [404, -32601]],
            [mcp.message('tools/list', {}, { meta: { progressToken: [] } }), {}, [200, -32602]],
            [mcp.message('tools/list', {}, { meta: {
                'io.modelcontextprotocol/logLevel': 'loud' } }), {}, [200, -32602]],
        ])
            assert.deepEqual(await send(message, headers), wanted,
                JSON.stringify([message, headers]));
        const old = { ...list, params: { _meta: { ...META,
            'io.modelcontextprotocol/protocolVersion': '1999-01-01' } } };
        const { status, json } = await mcp.post(old, { 'mcp-protocol-version': '1999-01-01' });
        assert.deepEqual([status, json.error.code, json.error.data], [400, -32022,
            { supported: [MODERN, LEGACY, '2025-06-18'], requested: '1999-01-01' }]);
        const legacy = await open({ era: 'legacy' });
        const wrong = await legacy.post({ jsonrpc: '2.0', id: 1, method: 'ping' },
            { 'mcp-protocol-version': '1999-01-01' });
        assert.deepEqual([wrong.status, wrong.json.error.code], [400, -32022]);
        const note = await mcp.post({ jsonrpc: '2.0', method: 'notifications/whatever' });
        assert.deepEqual([note.status, note.text], [202, '']);
    });

    it('of a session belongs to its token until the session is deleted', async () => {
        const mcp = await open({ era: 'legacy', token: tokens.viewer });
        const other = await open({ era: 'legacy', token: tokens.operator });
        const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };
        assertProblem(await other.post(ping, { 'mcp-session-id': mcp.session }), 404);
        for (const id of ['x', `${mcp.session}0`, mcp.session.replace('1-0-', '1-f-')])
            assertProblem(await mcp.post(ping, { 'mcp-session-id': id }), 404);
        assert.equal((await mcp.post(ping)).status, 200);
        const gone = await server.call('DELETE', '/mcp', { token: tokens.viewer,
            headers: { 'mcp-session-id': mcp.session } });
        assert.equal(gone.status, 204);
        assertProblem(await mcp.post(ping), 404, { code: 'NO_SUCH_SESSION' });
    });
});

describe('a tool', { concurrency: 4 }, () => {
    it('is offered to those that may use its route, and refuses others', async () => {
        const all = (await (await open()).ask('tools/list')).tools;
        assert.ok(all.length >= 20);
        for (const { name, title, description, inputSchema, outputSchema, annotations } of all) {
            assert.match(name, /^[a-z_]{1,64}$/);
            assert.ok(title && description && annotations, name);
            assert.deepEqual([inputSchema.type, outputSchema.type], ['object', 'object'], name);
            assert.equal(inputSchema.additionalProperties, false, name);
        }
        for (const era of ERAS)
            for (const role of Object.keys(tokens)) {
                const mcp = await open({ era, token: tokens[role] });
                const offered = new Set((await mcp.ask('tools/list')).tools.map((t) => t.name));
                for (const { name } of all) {
                    const args = WAITING[name] ?? {};
                    const { content } = await mcp.tool(name, args);
                    const denied = /^ROLE_NOT_ALLOWED: /.test(content[0].text);
                    assert.equal(denied, !offered.has(name), `${role} ${name}: ${content[0].text}`);
                }
                assert.equal(offered.has('create_task'), /admin|operator/.test(role), role);
                assert.equal(offered.has('get_next_task'), role !== 'viewer', role);
            }
    });

    it('of an agent\'s token reaches its own run, and nothing else', async () => {
        const repo = await pulled('acme/own');
        const mine = await server.submit(repo.name), other = await server.submit(repo.name);
        const worker = await open({ token: tokens.worker });
        const claim = await work(worker, queueOf(repo.name));
        const { token } = (await server.call('POST', '/v1/jobs/run-token', { token: tokens.worker,
            body: { id: claim.id, epoch: claim.epoch } })).json;
        const agent = await open({ token });
        const own = claim.taskId, foreign = own === mine.taskId ? other.taskId : mine.taskId;
        const names = (await agent.ask('tools/list')).tools.map(({ name }) => name);
        assert.ok(names.includes('ask_question') && names.includes('get_task_status'));
        assert.ok(!names.includes('cancel_task') && !names.includes('list_tasks'));
        assert.equal((await agent.call('get_task_status', { taskId: own })).id, own);
        assert.match(await agent.fails('get_task_status', { taskId: foreign }), /^NOT_YOUR_RUN/);
        assert.match(await agent.fails('cancel_task', { taskId: own }), /^ROLE_NOT_ALLOWED/);
        const question = await agent.call('ask_question', { runId: claim.runId, text: 'Why?' });
        assert.equal(question.status, 'pending');
        const same = { claimId: claim.id, epoch: claim.epoch, question: { text: 'Why?' } };
        assert.equal((await worker.call('ask_about_claim', same)).id, question.id);
        assert.match(await worker.fails('ask_about_claim', { ...same, epoch: claim.epoch + 1 }),
            /^LEASE_LOST/);
        assert.match(await worker.fails('ask_about_claim',
            { ...same, question: { text: 'How?' } }), /^QUESTION_OPEN/);
        const mineToRead = { claimId: claim.id, epoch: claim.epoch, questionId: question.id };
        assert.equal((await worker.call('get_answer', mineToRead)).status, 'pending');
        await server.post(`/v1/questions/${question.id}/answer`, { answer: 'Because.' });
        assert.equal((await worker.call('get_answer', mineToRead)).answer, 'Because.');
        assert.match(await worker.fails('get_answer', { ...mineToRead, questionId: other.taskId }),
            /^QUESTION_NOT_FOUND/);
        const { contents } = await agent.ask('resources/read',
            { uri: `drover://runs/${claim.runId}/timeline` });
        assert.match(contents[0].text, /groups/);
        await agent.refused(-32602, 'resources/read', { uri: `drover://tasks/${foreign}` });
        for (const { taskId } of [mine, other]) await server.cancel(taskId);
    });

    it('says what is wrong with its arguments', async () => {
        for (const era of ERAS) {
            const mcp = await open({ era });
            const unknown = await mcp.refused(-32602, 'tools/call', { name: 'create_tusk' });
            assert.match(unknown.message, /did you mean create_task/);
            await mcp.refused(-32602, 'tools/call', { name: 7 });
            await mcp.refused(-32602, 'tools/call', { name: 'list_tasks', arguments: [] });
            const wrong = await mcp.fails('create_task', { priority: 'high', colour: 'red' });
            assert.match(wrong, /priority: must be an integer/);
            assert.match(wrong, /colour: is not known here/);
            assert.match(await mcp.fails('get_task_status'), /taskId/);
            assert.match(await mcp.fails('get_task_status', { taskId: 'x' }), /^INVALID_ID: /);
            assert.match(await mcp.fails('create_task', { repository: 'no/such',
                description: 'x' }), /^REPO_NOT_ONBOARDED: .*drover repo add/);
            assert.deepEqual((await mcp.call('list_tasks', { status: null, limit: 1,
                repository: 'none & such/ä' })).items, []);
        }
    });

    it('does a task from its submission to its end, in either era', async () => {
        for (const era of ERAS) {
            const repo = await pulled(`acme/whole-${era}`);
            const queue = queueOf(repo.name);
            const boss = await open({ era, token: tokens.operator });
            const agent = await open({ era, token: tokens.worker });
            const waiting = agent.call('get_next_task', { queue, agent: 'bob', waitMs: 30_000 });
            const body = { repository: repo.name, description: 'Make the answer right.',
                labels: ['vat'], idempotencyKey: `one ${era}` };
            const { taskId, runId } = await boss.call('create_task', body);
            assert.equal((await boss.call('create_task', body)).taskId, taskId, 'the same again');
            const claim = (await waiting).claim ?? await work(agent, queue, { agent: 'bob' });
            assert.deepEqual([claim.taskId, claim.runId], [taskId, runId]);
            assert.match(claim.prompt, /Make the answer right\./);
            const mine = { claimId: claim.id, epoch: claim.epoch, agent: 'bob' };
            const beat = await agent.call('heartbeat', mine);
            assert.deepEqual([beat.ok, beat.cancel], [true, false]);
            const { tools } = await agent.ask('tools/list');
            const beats = tools.find(({ name }) => name === 'heartbeat').inputSchema.properties;
            const example = JSON.parse(beats.events.description.match(/\{"type".*\}\}/)[0]);
            assert.equal((await agent.call('heartbeat', { ...mine, events: [example] })).ok, true);
            assert.equal((await agent.call('heartbeat', { ...mine, events: [] })).ok, true);
            assert.match(await agent.fails('heartbeat', { ...mine, events: [{ text: 'x' }] }),
                /^INVALID_ARGUMENTS: .*\n.*type/);
            assert.match(await agent.fails('heartbeat', { ...mine, events: [{ type: 'x',
                data: {} }] }), /^INVALID_FIELD: .*agent\.step\.recorded/);
            await boss.call('send_message', { runId, text: 'It is 42.' });
            assert.ok((await agent.call('heartbeat', mine)).messageSeq >= 1);
            const { messages } = await agent.call('get_messages',
                { claimId: claim.id, epoch: claim.epoch });
            assert.equal(messages[0].text, 'It is 42.');
            const stale = await agent.tool('heartbeat', { ...mine, epoch: mine.epoch + 1 });
            assert.deepEqual([stale.isError, stale.structuredContent.code], [true, 'LEASE_LOST']);
            await agent.call('report_task_completion', { ...mine, summary: 'as I was told',
                patch: patchTo(42), turns: 1, costUsd: 0.1 });
            await server.untilTask(taskId, 'completed');
            const task = await boss.call('get_task_status', { taskId });
            assert.equal(task.status, 'completed');
            assert.deepEqual([task.pullRequest.number, task.pullRequest.status,
                task.pullRequest.runId], [1, 'open', runId]);
            const failing = await boss.call('create_task', { repository: repo.name,
                description: 'Again.' });
            const second = await work(agent, queue);
            const failed = await agent.call('report_task_failure', { claimId: second.id,
                epoch: second.epoch, message: 'cannot be done', retryable: false });
            assert.equal(failed.ok, true);
            await server.untilTask(failing.taskId, 'failed');
            await boss.call('retry_task', { taskId: failing.taskId });
            assert.equal((await boss.call('cancel_task', { taskId: failing.taskId,
                reason: 'enough' })).taskId, failing.taskId);
        }
    });

    it('waits for an event, and appends one', async () => {
        const type = 'com.example.build.finished';
        for (const era of ERAS) {
            const mcp = await open({ era, token: tokens.operator });
            const { cursor } = await mcp.call('wait_for_event', { waitMs: 0, type });
            const waiting = mcp.call('wait_for_event', { after: cursor, type, waitMs: 30_000 });
            const event = { type, id: `build-${era}`, data: { ok: true } };
            assert.deepEqual(await mcp.call('append_event', event), { accepted: 1, duplicates: 0 });
            assert.deepEqual(await mcp.call('append_event', event), { accepted: 0, duplicates: 1 });
            const { events } = await waiting;
            assert.deepEqual([events[0].id, events[0].source, events[0].data],
                [event.id, 'mcp', event.data]);
            assert.match(await mcp.fails('append_event', { ...event, type: 'agent.run.started' }),
                /^EVENT_RESERVED/);
            const left = mcp.stream('tools/call', { name: 'wait_for_event',
                arguments: { type: 'com.example.never', waitMs: 30_000 } });
            await until('it to wait', async () => /^drover_http_event_waits 1$/m.test(
                (await server.call('GET', '/metrics')).text));
            left.close();
            await until('it to be gone', async () => /^drover_http_event_waits 0$/m.test(
                (await server.call('GET', '/metrics')).text));
        }
    });

    it('kills an agent that waits in another', async () => {
        const boss = await open({ token: tokens.operator });
        const agent = await open({ token: tokens.worker });
        const name = 'doomed';
        const made = await boss.call('register_agent', { name, persona: 'tester', capacity: 2 });
        assert.deepEqual([made.name, made.persona, made.capacity], [name, 'tester', 2]);
        const waiting = agent.tool('get_next_task', { agent: name, waitMs: 30_000 });
        const { items } = await until('it to come', async () => {
            const list = await boss.call('list_agents', { name });
            return list.items[0].lastHeartbeatAt && list;
        });
        assert.equal(items.length, 1);
        assert.match(await boss.fails('launch_agent', { agent: name }), /^[A-Z_]+: /);
        const killed = await boss.call('kill_agent', { agent: made.id, policy: 'requeue' });
        assert.equal(killed.state, 'killed');
        const { isError, content } = await waiting;
        assert.deepEqual([isError, content[0].text.split(':')[0]], [true, 'AGENT_GONE']);
        assert.match(await agent.fails('get_next_task', { agent: name, waitMs: 0 }),
            /^AGENT_GONE/);
    });

    it('that waits reports its progress, and ends with its client', async () => {
        await Promise.all(ERAS.map(async (era) => {
            const repo = await pulled(`acme/waits-${era}`);
            const queue = queueOf(repo.name);
            const mcp = await open({ era });
            const args = { name: 'get_next_task', arguments: { queue, waitMs: 30_000 } };
            const told = mcp.stream('tools/call', args,
                { id: 'long', meta: { progressToken: 't' } });
            let last = -1;
            for (let i = 0; i < 2; i++) {
                const { method, params } = await told.take();
                assert.equal(method, 'notifications/progress');
                assert.equal(params.progressToken, 't');
                assert.ok(params.progress > last, `${params.progress} after ${last}`);
                last = params.progress;
            }
            assert.match((await told.head).headers['content-type'], /event-stream/);
            told.close();
            const { taskId } = await server.submit(repo.name);
            // Without a token there is nothing to report, and the answer is plain JSON.
            const res = await until('the work', async () => {
                const answer = await mcp.exchange('tools/call', args);
                return answer.body.result.structuredContent.claim && answer;
            });
            assert.match(res.headers['content-type'], /json/);
            assert.equal(res.body.result.structuredContent.claim.taskId, taskId);
            await server.cancel(taskId);
        }));
        await untilMessages(0);
        const mcp = await open({ era: 'legacy' });
        const waiting = mcp.exchange('tools/call', { name: 'get_next_task',
            arguments: { queue: 'none', waitMs: 30_000 } }, { id: 'c' });
        await untilMessages(1);
        const note = await mcp.post({ jsonrpc: '2.0', method: 'notifications/cancelled',
            params: { requestId: 'c', reason: 'enough' } });
        assert.equal(note.status, 202);
        await waiting;
    });
});

describe('a person', { concurrency: 4 }, () => {
    it('is asked what an agent asks, and answers in the client', async () => {
        for (const era of ERAS) {
            const repo = await pulled(`acme/asks-${era}`);
            const { runId, taskId } = await server.submit(repo.name);
            await work(await open(), queueOf(repo.name));
            const question = await server.post(`/v1/runs/${runId}/questions`,
                { text: 'Which one?', options: ['41', '42'] });
            const mute = await open({ era });
            assert.match(await mute.fails('answer_question', { questionId: question.id }),
                /answer is missing/);
            const mcp = await open({ era, can: { elicitation: {} } });
            const args = { name: 'answer_question', arguments: { questionId: question.id } };
            const answered = era === 'modern' ? await retried(mcp, args) : await asked(mcp, args);
            assert.deepEqual([answered.status, answered.answer], ['answered', '42']);
            await server.cancel(taskId);
        }
    });

    // The form comes as a result, and the call is sent again with what was filled in.
    async function retried(mcp, args) {
        const first = await mcp.ask('tools/call', args);
        assert.equal(first.resultType, 'input_required');
        const { method, params } = first.inputRequests.answer;
        assert.deepEqual([method, params.message], ['elicitation/create', 'Which one?']);
        assert.deepEqual(params.requestedSchema.properties.answer.enum, ['41', '42']);
        const no = await mcp.ask('tools/call', { ...args,
            inputResponses: { answer: { action: 'decline' } } });
        assert.match(no.content[0].text, /^NOT_ANSWERED/);
        await mcp.refused(-32602, 'tools/call', { ...args, inputResponses: 7 });
        await mcp.refused(-32602, 'tools/call', { ...args, requestState: 'mine' });
        const second = await mcp.ask('tools/call', { ...args,
            inputResponses: { answer: { action: 'accept', content: { answer: '42' } } } });
        return second.structuredContent;
    }

    // The form comes as a request on the stream of the call, and the response by itself.
    async function asked(mcp, args) {
        const stream = mcp.stream('tools/call', args, { id: 'ask' });
        const { id, method, params } = await stream.take();
        assert.deepEqual([method, params.message], ['elicitation/create', 'Which one?']);
        const other = await open({ era: 'legacy', token: tokens.operator });
        const response = { jsonrpc: '2.0', id, result: { action: 'accept',
            content: { answer: '42' } } };
        assert.equal((await other.post(response)).status, 202);
        assert.equal((await mcp.post(response)).status, 202);
        const answer = await stream.take();
        assert.equal(answer.id, 'ask');
        return answer.result.structuredContent;
    }

    it('decides about a task of the protocol, which is a task of drover', async () => {
        const repo = await server.repository('acme/supervised', fixes,
            { policy: { approval: 'always' } });
        const mcp = await open({ can: { elicitation: {}, extensions: { [TASKS]: {} } } });
        const plain = await open();
        const made = await mcp.tool('create_task', { repository: repo.name,
            description: 'Make the answer right.' });
        const { taskId, ...rest } = made;
        assert.deepEqual([made.resultType, rest.status, rest.ttlMs], ['task', 'working', null]);
        assert.ok(Date.parse(rest.createdAt) && Date.parse(rest.lastUpdatedAt));
        for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel']) {
            const missing = await plain.refused(-32021, method, { taskId, inputResponses: {} });
            assert.deepEqual([missing.status, missing.data.requiredCapabilities.extensions],
                [400, { [TASKS]: {} }]);
            await mcp.refused(-32602, method, { taskId: 'none', inputResponses: {} });
            await mcp.refused(-32602, method, { taskId:
                '018f0000-0000-7000-8000-000000000000', inputResponses: {} });
        }
        const waiting = await until('a question', async () => {
            const task = await mcp.ask('tasks/get', { taskId });
            assert.equal(task.resultType, 'complete');
            return task.status === 'input_required' && task;
        });
        const deaf = await open({ can: { extensions: { [TASKS]: {} } } });
        assert.equal((await deaf.ask('tasks/get', { taskId })).status, 'working');
        const [key] = Object.keys(waiting.inputRequests);
        assert.match(key, /^approval-/);
        assert.equal(waiting.inputRequests[key].method, 'elicitation/create');
        const ignored = await mcp.ask('tasks/update', { taskId, inputResponses: {
            'approval-x': { action: 'accept', content: { decision: 'reject' } },
            [key]: { action: 'cancel' } } });
        assert.deepEqual(Object.keys(ignored).sort(), ['_meta', 'resultType']);
        const viewer = await open({ token: tokens.viewer, can: { extensions: { [TASKS]: {} } } });
        const yes = { taskId, inputResponses: { [key]: { action: 'accept',
            content: { decision: 'approve', reason: 'good' } } } };
        assert.match((await viewer.refused(-32602, 'tasks/update', yes)).message,
            /^ROLE_NOT_ALLOWED/);
        for (const content of [{}, { decision: 'Approve' }, { decision: true }]) {
            const { message } = await mcp.refused(-32602, 'tasks/update', { taskId,
                inputResponses: { [key]: { action: 'accept', content } } });
            assert.match(message, /decision must be approve or reject/);
        }
        await mcp.ask('tasks/update', yes);
        const ended = await until('its end', async () => {
            const task = await mcp.ask('tasks/get', { taskId });
            return task.status === 'completed' && task;
        });
        assert.equal(ended.result.isError, false);
        assert.deepEqual([ended.result.structuredContent.taskId,
            ended.result.structuredContent.status], [taskId, 'completed']);
        await mcp.ask('tasks/cancel', { taskId });
        assert.equal((await mcp.ask('tasks/get', { taskId })).status, 'completed');
        // What has failed is a result; what was cancelled has none.
        const broken = await server.repository('acme/broken', 'exit 1');
        const failed = await mcp.tool('create_task', { repository: broken.name,
            description: 'x' });
        const bad = await until('its end', async () => {
            const task = await mcp.ask('tasks/get', { taskId: failed.taskId });
            return task.status !== 'working' && task;
        });
        assert.deepEqual([bad.status, bad.result.isError], ['completed', true]);
        const third = await mcp.tool('create_task', { repository: (await pulled('acme/never')).name,
            description: 'x' });
        await mcp.ask('tasks/cancel', { taskId: third.taskId });
        await until('it to be cancelled', async () =>
            (await mcp.ask('tasks/get', { taskId: third.taskId })).status === 'cancelled');
    });
});

describe('a resource', { concurrency: 4 }, () => {
    it('is listed, read and completed', async () => {
        const repo = await server.repository('acme/read', fixes);
        const { runId, taskId } = await server.finish(repo.name, 'completed');
        for (const era of ERAS) {
            const mcp = await open({ era, token: tokens.viewer });
            const first = await mcp.ask('resources/list');
            const uris = first.resources.map(({ uri }) => uri);
            for (const uri of ['drover://queues', 'drover://events/types', 'drover://repositories',
                `drover://runs/${runId}/timeline`])
                assert.ok(uris.includes(uri), uris.join(' '));
            const { resourceTemplates } = await mcp.ask('resources/templates/list');
            assert.ok(resourceTemplates.some(({ uriTemplate }) =>
                uriTemplate === 'drover://runs/{runId}/artifacts'));
            const read = async (uri) => (await mcp.ask('resources/read', { uri })).contents[0];
            const types = JSON.parse((await read('drover://events/types')).text).items;
            assert.ok(types.some(({ type, severity }) => type === 'agent.task.submitted'
                && severity === 'info'));
            assert.equal(JSON.parse((await read(`drover://tasks/${taskId}`)).text).id, taskId);
            assert.ok(JSON.parse((await read('drover://repositories')).text).items
                .some(({ name }) => name === repo.name));
            assert.ok(JSON.parse((await read('drover://queues')).text).items.length > 0);
            assert.equal(JSON.parse((await read('drover://queues/some')).text).name, 'some');
            const { items } = JSON.parse((await read(`drover://runs/${runId}/artifacts`)).text);
            const patch = items.find(({ kind }) => kind === 'patch');
            const content = await read(`drover://artifacts/${patch.sha256}`);
            assert.match(content.text, /^\+42$/m);
            const notFound = era === 'modern' ? -32602 : -32002;
            for (const uri of ['drover://tasks/x', 'drover://queues/a%20b', 'drover://nothing',
                'http://elsewhere/',
                `drover://artifacts/${'0'.repeat(64)}`,
                'drover://runs/018f0000-0000-7000-8000-000000000000']) {
                const { data } = await mcp.refused(notFound, 'resources/read', { uri });
                assert.equal(data.uri, uri);
            }
            await mcp.refused(-32602, 'resources/read', {});
            const complete = async (ref, name, value) => (await mcp.ask('completion/complete',
                { ref, argument: { name, value } })).completion.values;
            const template = { type: 'ref/resource', uri: 'drover://runs/{runId}/timeline' };
            assert.deepEqual(await complete(template, 'runId', runId), [runId]);
            const prompt = { type: 'ref/prompt', name: 'work_as_implementer' };
            assert.deepEqual(await complete(prompt, 'repository', 'acme/rea'), ['acme/read']);
            await mcp.refused(-32602, 'completion/complete', { ref: { type: 'ref/prompt',
                name: 'none' }, argument: { name: 'x', value: '' } });
            const got = await mcp.ask('prompts/get', { name: 'review', arguments: { runId } });
            assert.match(got.messages[0].content.text, new RegExp(`drover://runs/${runId}`));
            const { prompts } = await mcp.ask('prompts/list');
            assert.deepEqual(prompts.map(({ name }) => name), ['work_as_implementer', 'review']);
            await mcp.refused(-32602, 'prompts/get', { name: 'review' });
            await mcp.refused(-32602, 'prompts/get', { name: 'none' });
        }
        const worker = await open({ token: tokens.worker });
        assert.match((await worker.refused(-32602, 'resources/read', { uri: 'drover://queues' }))
            .message, /^ROLE_NOT_ALLOWED/);
    });

    it('that changes is told to those that listen', async () => {
        const mark = `listen-${process.pid}`;
        const repo = await server.repository('acme/listen', waits(mark) + fixes);
        const { runId, taskId } = await server.submit(repo.name);
        const timeline = `drover://runs/${runId}/timeline`;
        const mcp = await open({ can: { extensions: { [TASKS]: {} } } });
        const wanted = { toolsListChanged: true, resourceSubscriptions: [timeline,
            'drover://queues', 'drover://runs/018f0000-0000-7000-8000-000000000000'],
        taskIds: [taskId, 'x'] };
        await (await open()).refused(-32021, 'subscriptions/listen', { notifications: wanted });
        await mcp.refused(-32602, 'subscriptions/listen', {});
        const stream = mcp.stream('subscriptions/listen', { notifications: wanted }, { id: 'sub' });
        const idOf = ({ params }) => params._meta['io.modelcontextprotocol/subscriptionId'];
        const ack = await stream.take();
        assert.equal(ack.method, 'notifications/subscriptions/acknowledged');
        assert.deepEqual([idOf(ack), ack.params.notifications], ['sub',
            { resourceSubscriptions: [timeline], taskIds: [taskId] }]);
        // A legacy session hears of the same.
        const legacy = await open({ era: 'legacy' });
        await legacy.refused(-32002, 'resources/subscribe', { uri: 'drover://queues' });
        await legacy.ask('resources/subscribe', { uri: timeline });
        const old = legacy.listen();
        assert.equal((await old.head).statusCode, 200);
        const twice = legacy.listen();
        assert.equal((await twice.head).statusCode, 409);
        await server.openGate(mark);
        const updated = await stream.until(({ method }) =>
            method === 'notifications/resources/updated');
        assert.deepEqual([idOf(updated), updated.params.uri], ['sub', timeline]);
        const heard = await old.take();
        assert.deepEqual([heard.method, heard.params], ['notifications/resources/updated',
            { uri: timeline }]);
        const end = await stream.until(({ method, params }) =>
            method === 'notifications/tasks' && params.status === 'completed');
        assert.deepEqual([idOf(end), end.params.taskId, end.params.result.isError],
            ['sub', taskId, false]);
        stream.close();
        await legacy.ask('resources/unsubscribe', { uri: timeline });
        const ended = await server.call('DELETE', '/mcp', { headers: {
            'mcp-session-id': legacy.session } });
        assert.equal(ended.status, 204);
        await until('its stream to end', () => old.ended);
    });
});

describe('a stream', { concurrency: 4 }, () => {
    // Says something of a task, so that those that listen to it are told.
    let said = 0;
    const say = (taskId, of = server) => of.post('/v1/events', { specversion: '1.0',
        id: `say-${said++}`, source: 'test', type: 'com.example.said', taskid: taskId });
    const uriOf = ({ taskId }) => `drover://tasks/${taskId}`;
    const tasksOf = async (name, count) => {
        const repo = await pulled(name), tasks = [];
        for (let i = 0; i < count; i++) tasks.push(await server.submit(repo.name));
        return tasks;
    };

    it('that opens lives on while its session subscribes and unsubscribes', async () => {
        const uris = (await tasksOf('acme/opens', 16)).flatMap((task) =>
            [uriOf(task), `drover://runs/${task.runId}`]);
        for (let round = 0; round < 8; round++) {
            const mcp = await open({ era: 'legacy', token: tokens.viewer });
            const all = (method) => Promise.all(uris.map((uri) => mcp.ask(method, { uri })));
            await all('resources/subscribe');
            const stream = mcp.listen(); // Reads each of them before it opens.
            await new Promise((resolve) => setTimeout(resolve, 2 * round));
            await all('resources/unsubscribe');
            assert.equal((await stream.head).statusCode, 200);
            stream.close();
        }
    });

    it('has a resource once, however often it was subscribed to', async () => {
        const [one, two] = await tasksOf('acme/once', 2);
        const mcp = await open({ era: 'legacy' });
        for (let i = 0; i < 2; i++) await work(mcp, queueOf('acme/once')); // They rest now.
        const stream = mcp.listen();
        await stream.head;
        for (let i = 0; i < 33; i++) await mcp.ask('resources/subscribe', { uri: uriOf(one) });
        await mcp.ask('resources/subscribe', { uri: uriOf(two) });
        await say(two.taskId);
        await stream.until(({ params }) => params.uri === uriOf(two));
        await mcp.ask('resources/unsubscribe', { uri: uriOf(one) });
        await say(one.taskId);
        await say(two.taskId);
        assert.equal((await stream.take()).params.uri, uriOf(two));
        stream.close();
        const modern = await open({ can: { extensions: { [TASKS]: {} } } });
        const wanted = { resourceSubscriptions: [uriOf(one), uriOf(one)],
            taskIds: Array(40).fill(two.taskId) };
        const listening = modern.stream('subscriptions/listen', { notifications: wanted });
        assert.deepEqual((await listening.take()).params.notifications,
            { resourceSubscriptions: [uriOf(one)], taskIds: [two.taskId] });
        listening.close();
    });

    it('keeps little for a client that does not read, and tells it the last word', async () => {
        const repo = await server.repository('acme/slow', fixes);
        const { taskId } = await server.finish(repo.name, 'completed');
        const mcp = await open({ can: { extensions: { [TASKS]: {} } } });
        const stream = mcp.stream('subscriptions/listen', { notifications: { taskIds: [taskId] } });
        await stream.take();
        await say(taskId);
        const each = JSON.stringify(await stream.take()).length;
        stream.res.pause();
        const count = Math.ceil((3 << 19) / each); // More than sockets hold.
        for (let i = 0; i < count; i++) await say(taskId);
        const before = stream.text.length;
        stream.res.resume();
        await say(taskId);
        await until('all to be read', async (note) => {
            const had = note(stream.text.length);
            await new Promise((resolve) => setTimeout(resolve, 300));
            return stream.text.length === had && had > before;
        });
        assert.ok(stream.text.length < 1 << 20, `${stream.text.length} bytes were kept`);
        stream.close();
    });
});

describe('limits', { concurrency: 4 }, () => {
    withServer('are those of the routes, and of streams', { args: ['--workers', '0'], config: `
mcp: {allowedHosts: [drover.example.com]}
limits:
  perToken: {connections: 16, streams: 1, requests: 4, bytes: 1048576}
  rates:
    - {route: "POST /v1/tasks", perSecond: 1, burst: 1}
    - {route: "*", perSecond: 1, burst: 12, actor: "token:few"}
` }, async (own) => {
        const make = async (name, role) => (await own.post('/v1/tokens', { name, role })).token;
        const token = await make('op', 'operator');
        const mcp = await Mcp.open(own, { token });
        const body = { repository: 'none', description: 'x' };
        assert.match(await mcp.fails('create_task', body), /^REPO_NOT_ONBOARDED/);
        await until('a refusal', async () =>
            /^RATE_LIMITED: .*try again after/.test(await mcp.fails('create_task', body)));
        // A rule for all routes counts a call of a tool once; the client reads the list, too.
        const few = await Mcp.open(own, { token: await make('few', 'viewer') });
        for (let i = 0; i < 11; i++) await few.call('list_dead_letters', {}).catch((error) => {
            throw new Error(`call ${i}: ${error.message}`);
        });
        assertProblem(await until('a refusal', async () => {
            const res = await few.post(few.message('tools/list'));
            return res.status !== 200 && res;
        }), 429, { code: 'RATE_LIMITED' });
        const listen = { notifications: {} };
        const stream = mcp.stream('subscriptions/listen', listen);
        assert.equal((await stream.take()).method, 'notifications/subscriptions/acknowledged');
        assertProblem(await mcp.post(mcp.message('subscriptions/listen', listen)), 429,
            { code: 'TOO_MANY_STREAMS' });
        const waiting = [];
        for (let i = 0; i < 4; i++)
            waiting.push(mcp.stream('tools/call', { name: 'get_next_task',
                arguments: { waitMs: 30_000 } }));
        await own.untilParked(4);
        assertProblem(await mcp.post(mcp.message('tools/list')), 429,
            { code: 'TOO_MANY_REQUESTS' });
        for (const each of waiting) each.close();
        await own.untilParked(0);
        for (const [host, status] of [['drover.example.com:80', 200], ['other.example.com', 403]])
            assert.equal((await mcp.post(mcp.message('tools/list'), { host })).status, status);
        // A token that is revoked ends what it holds open.
        const { items } = await own.get('/v1/tokens');
        const { id } = items.find(({ name }) => name === 'op');
        await own.ok('DELETE', `/v1/tokens/${id}`);
        await until('the stream to end', () => stream.ended);
    });
});

describe('a restart', { concurrency: 4 }, () => {
    const args = ['--workers', '2', '--mcp-fixtures'];
    withServer('keeps sessions, tasks and claims', { args }, async (own) => {
        const repo = await own.repository('acme/again', '', PULL);
        const mcp = await Mcp.open(own, { era: 'legacy' });
        const modern = await Mcp.open(own, { can: { extensions: { [TASKS]: {} } } });
        const next = (waitMs) => ({ name: 'get_next_task', arguments: { waitMs } });
        // Stopped in good order, it answers those that wait; a stream ends with a result.
        const polite = mcp.stream('tools/call', next(30_000));
        const listening = modern.stream('subscriptions/listen', { notifications: {} }, { id: 7 });
        await listening.take();
        const asking = (await Mcp.open(own, { era: 'legacy', can: { elicitation: {} } }))
            .stream('tools/call', { name: 'test_elicitation', arguments: { message: 'Well?' } });
        assert.equal((await asking.take()).method, 'elicitation/create');
        await untilMessages(3, own);
        assert.deepEqual(await own.stop(), { code: 0, signal: null });
        await until('its answer', () => polite.ended);
        assert.deepEqual(JSON.parse(polite.text).result.structuredContent, { claim: null });
        assert.match((await asking.take()).result.content[0].text, /^STOPPING: /);
        const last = await listening.take();
        assert.deepEqual([last.id, last.result.resultType], [7, 'complete']);
        await own.startAgain();
        assert.deepEqual(await mcp.ask('ping'), {}, 'the session is still good');
        const made = await modern.tool('create_task', { repository: repo.name,
            description: 'Make the answer right.' });
        assert.equal(made.resultType, 'task');
        // Killed, it answers nothing, and what was acknowledged is there.
        const claim = await work(mcp);
        const cut = mcp.exchange('tools/call', next(30_000)).catch((error) => error);
        await untilMessages(1, own);
        await own.crash();
        assert.ok(await cut instanceof Error);
        await own.startAgain();
        assert.equal((await modern.ask('tasks/get', { taskId: made.taskId })).status, 'working');
        await mcp.call('report_task_completion', { claimId: claim.id, epoch: claim.epoch,
            patch: patchTo(42) });
        await own.untilTask(made.taskId, 'completed');
    });
});
