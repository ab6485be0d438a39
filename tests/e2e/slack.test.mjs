// slack.test.mjs - messages with buttons, and the answers that people give with them: signed by
// Slack, by those who may, once, and with a reply where the message was.
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { fixes } from './lib/git.mjs';
import { assertProblem } from './lib/http.mjs';
import { start } from './lib/server.mjs';
import { openService } from './lib/service.mjs';
import { until } from './lib/wait.mjs';

const SECRET = '8f742231b10e8888abcd99yyyzzz85a5';
let server, chat, asks, gated;
const messages = []; // That the channel has got: {text, blocks}
const replies = []; // By response_url: {path, json}
let uses = 0;

before(async () => {
    chat = await openService(({ url, text }) => {
        if (url === '/channel') messages.push(JSON.parse(text));
        else replies.push({ path: url, json: JSON.parse(text) });
        return { status: 200, text: 'ok' };
    });
    server = await start({
        args: ['--workers', '2'],
        env: { SLACK_URL: `${chat.url}/channel`, SIGNING_SECRET: SECRET },
        config: `
notifications:
  - {name: ops, type: slack, urlEnv: SLACK_URL, buttons: true, on: [approval, question, completed]}
slack:
  secretEnv: SIGNING_SECRET
  team: T9TK3CUKW
  reply: true
  replyHosts: [127.0.0.1]
  users: [{id: UADA, name: ada}, {id: UEVE, name: eve, role: admin}]
`,
    });
    gated = await server.repository('acme/gated', fixes, { policy: { approval: 'always' } });
    asks = (options) => server.repository('acme/asks', `
answer=$(drover ask 'Which <is> it?' ${options})
echo "$answer" >answer.txt
printf '{"status":"success","summary":"done"}' >"$DROVER_RESULT"`);
});
after(async () => {
    await server.discard();
    chat.close();
});

const untilMessage = (id) => until(`a message about ${id}`, (note) =>
    note(messages).find(({ blocks }) => blocks?.[1]?.block_id?.endsWith(id)));
const untilReply = (path) => until(`a reply at ${path}`, (note) =>
    note(replies).find((one) => one.path === path)?.json);

// What Slack sends when a person uses an element of a message.
function payloadOf(message, element, more = {}) {
    const path = `/reply/${++uses}`;
    const payload = {
        type: 'block_actions',
        team: { id: 'T9TK3CUKW', domain: 'example' },
        user: { id: 'UADA', username: 'ada', team_id: 'T9TK3CUKW' },
        api_app_id: 'AABA1ABCD',
        container: { type: 'message', message_ts: '1548261231.000200', channel_id: 'CBR2V3XEX' },
        trigger_id: '12321423423.333649436676.d8c1bb837935619ccad0f624c448ffb3',
        channel: { id: 'CBR2V3XEX', name: 'review-updates' },
        message: { type: 'message', text: message.text, ts: '1548261231.000200' },
        response_url: `${chat.url}${path}`,
        actions: [{ block_id: message.blocks[1].block_id, type: element.type,
            action_id: element.action_id, value: element.value,
            action_ts: `1548426417.${uses}` }],
        ...more,
    };
    return { payload, path };
}

function send(payload, { secret = SECRET, at = Date.now() / 1000, body, headers = {} } = {}) {
    const form = body ?? `payload=${encodeURIComponent(JSON.stringify(payload))}`;
    const timestamp = String(Math.floor(at));
    const signature = createHmac('sha256', secret).update(`v0:${timestamp}:${form}`).digest('hex');
    const all = { 'content-type': 'application/x-www-form-urlencoded',
        'x-slack-request-timestamp': timestamp, 'x-slack-signature': `v0=${signature}`,
        ...headers };
    for (const name of Object.keys(all)) if (all[name] === null) delete all[name];
    return server.call('POST', '/v1/interactions/slack', { token: null, body: form, headers: all });
}

async function untilAsked(repository) {
    const ids = await server.submit(repository);
    const { id } = await server.question(ids.runId);
    return { ...ids, id, message: await untilMessage(id) };
}

async function untilQuestion(options) {
    const repo = await asks(options);
    const ids = await server.submit(repo.name);
    const question = await until('the agent to ask', async () =>
        (await server.list(`/v1/questions?runId=${ids.runId}`))[0]);
    return { ...ids, question, message: await untilMessage(question.id) };
}

describe('a message of Slack', () => {
    it('is approved by its button, as the person and with a reply', async () => {
        const { id, taskId, message } = await untilAsked(gated.name);
        const [approve, reject] = message.blocks[1].elements;
        assert.deepEqual([message.blocks[0].type, message.blocks[1].type, approve.action_id,
            reject.action_id], ['section', 'actions', 'approve', 'reject']);
        assert.match(message.text, /^\*acme\/gated\* /);
        const { payload, path } = payloadOf(message, approve);
        const res = await send(payload);
        assert.deepEqual([res.status, res.json], [200, { ok: true, id }], res.text);
        const decided = await server.get(`/v1/approvals/${id}`);
        assert.deepEqual([decided.status, decided.decidedBy], ['approved', 'ada']);
        const reply = await untilReply(path);
        assert.equal(reply.replace_original, true);
        assert.equal(reply.text, `${message.text}\nApproved by <@UADA>`);
        assert.deepEqual(reply.blocks.map(({ type }) => type), ['section'], 'no button is left');
        await server.untilTask(taskId, 'completed');
        const rows = await server.list('/v1/audit?action=approval.approve');
        assert.deepEqual(rows.map(({ actor, resourceId }) => [actor.id, resourceId, actor.role]),
            [['ada', id, 'operator']]);

        // The same once more, or by another person: nothing changes, and the person sees why.
        for (const more of [{}, { user: { id: 'UEVE' } }]) {
            const again = payloadOf(message, reject, more);
            const late = await send(again.payload);
            assert.deepEqual([late.status, late.json.ok, late.json.code],
                [200, false, 'APPROVAL_DECIDED']);
            assert.match((await untilReply(again.path)).text, /is approved already$/);
        }
        const events = await server.list('/v1/events?type=agent.approval.*&limit=200');
        assert.deepEqual(events.filter(({ data }) => data.approvalId === id)
            .map(({ type }) => type), ['agent.approval.requested', 'agent.approval.approved']);
    });

    it('is rejected by the other one', async () => {
        const { id, taskId, message } = await untilAsked(gated.name);
        const { payload } = payloadOf(message, message.blocks[1].elements[1]);
        assert.equal((await send(payload)).json.ok, true);
        const task = await server.untilTask(taskId, 'failed');
        assert.equal(task.errorCode, 'approval_rejected');
        assert.equal((await server.get(`/v1/approvals/${id}`)).decidedBy, 'ada');
    });

    it('has a button for each option of a question', async () => {
        const { taskId, question, message } = await untilQuestion('--option 41 --option 42');
        const { elements } = message.blocks[1];
        assert.deepEqual(elements.map(({ value }) => value), ['41', '42']);
        assert.match(message.text, /Which &lt;is&gt; it\?/);
        const { payload, path } = payloadOf(message, elements[1]);
        assert.equal((await send(payload)).json.ok, true);
        await server.untilTask(taskId, 'completed');
        const { answer, answeredBy } = await server.get(`/v1/questions/${question.id}`);
        assert.deepEqual([answer, answeredBy], ['42', 'ada']);
        assert.match((await untilReply(path)).text, /Answered "42" by <@UADA>$/);
    });

    it('has a line of text for a question without options', async () => {
        const { taskId, message } = await untilQuestion('');
        const { element, type, dispatch_action: sends } = message.blocks[1];
        assert.deepEqual([type, sends, element.type], ['input', true, 'plain_text_input']);
        const { payload } = payloadOf(message, { ...element, value: '42' });
        assert.equal((await send(payload)).json.ok, true);
        await server.untilTask(taskId, 'completed');
    });

    it('has no buttons where there is nothing to answer', async () => {
        const done = await until('a message of the end', () =>
            messages.find(({ text }) => /Done\./.test(text)));
        assert.equal(done.blocks, undefined);
    });
});

describe('an answer from Slack', () => {
    let asked, good;
    before(async () => {
        asked = await untilAsked(gated.name);
        good = () => payloadOf(asked.message, asked.message.blocks[1].elements[0]);
    });
    after(async () => server.cancel(asked.taskId));

    it('is refused without a signature that fits, whatever it says', async () => {
        const { payload } = good();
        for (const options of [{ secret: 'another' }, { at: Date.now() / 1000 - 600 },
            { at: Date.now() / 1000 + 600 }, { headers: { 'x-slack-signature': null } },
            { headers: { 'x-slack-signature': 'v0=' } },
            { headers: { 'x-slack-request-timestamp': 'now' } },
            { headers: { 'x-slack-request-timestamp': null } }])
            assertProblem(await send(payload, options), 401, { code: 'INTERACTION_REFUSED' });
        assertProblem(await send(null, { secret: 'x', body: 'a'.repeat(2_000_000) }), 401);
        assert.equal((await server.get(`/v1/approvals/${asked.id}`)).status, 'pending');
    });

    it('is refused of people that the configuration does not list, and they see why', async () => {
        for (const more of [{ user: { id: 'UMALLORY' } }, { team: { id: 'TOTHER' } },
            { team: null }]) {
            const { payload, path } = payloadOf(asked.message,
                asked.message.blocks[1].elements[0], more);
            assertProblem(await send(payload), 403, { code: 'SLACK_USER_UNKNOWN' });
            const reply = await untilReply(path);
            assert.deepEqual([reply.response_type, reply.replace_original], ['ephemeral', false]);
        }
        assert.equal((await server.get(`/v1/approvals/${asked.id}`)).status, 'pending');
    });

    it('is refused where it is no use of a button of drover', async () => {
        const { payload } = good();
        const [action] = payload.actions;
        for (const wrong of [{ type: 'view_submission' }, { actions: [] }, { user: null },
            { actions: [{ ...action, block_id: 'x' }] },
            { actions: [{ ...action, action_id: 'merge' }] }])
            assertProblem(await send({ ...payload, ...wrong }), 422,
                { code: 'INTERACTION_UNKNOWN' });
        assertProblem(await send(null, { body: 'payload=%7B' }), 400);
        assertProblem(await send(null, { body: 'nothing=1' }), 400, { code: 'MALFORMED_BODY' });
        assertProblem(await send(null, { body: 'payload=%zz' }), 400, { code: 'MALFORMED_BODY' });
        const unknown = { ...payload, actions: [{ ...action,
            block_id: 'drover:approval:01a1e111-4280-788b-8f9d-658fd086a1f4' }] };
        const res = await send(unknown);
        assert.deepEqual([res.status, res.json.code], [200, 'APPROVAL_NOT_FOUND']);
    });

    it('is sent no reply to an address that is not allowed', async () => {
        const { payload } = payloadOf(asked.message, asked.message.blocks[1].elements[0],
            { user: { id: 'UMALLORY' }, response_url: 'http://169.254.169.254/latest' });
        assertProblem(await send(payload), 403);
        const jobs = await server.list('/v1/jobs?queue=drover.notify&limit=200');
        assert.ok(jobs.every((job) => !JSON.stringify(job).includes('169.254')));
    });

    it('is not taken where it is not configured', async () => {
        const other = await start({ args: ['--workers', '0'] });
        const res = await other.call('POST', '/v1/interactions/slack', { token: null,
            body: 'payload=1', headers: { 'content-type': 'application/x-www-form-urlencoded' } });
        assertProblem(res, 404, { code: 'SLACK_NOT_CONFIGURED' });
        await other.discard();
    });
});
