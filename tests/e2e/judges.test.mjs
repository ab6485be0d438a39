// judges.test.mjs - commands and models that judge a patch: what they are asked, what comes of
// their answers, and that no answer is never a pass.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { fixes } from './lib/git.mjs';
import { anthropic, error, openModel, openai } from './lib/model.mjs';
import { assertNowhere } from './lib/nowhere.mjs';
import { start } from './lib/server.mjs';

const KEY = 'judge-key-7d2c19e4b5';

let server;
const models = [];

before(async () => {
    server = await start({ args: ['--workers', '4'], env: { JUDGE_KEY: KEY } });
});
after(() => {
    for (const model of models) model.close();
    return server.discard();
});

async function modelThat(...says) {
    const model = await openModel(...says);
    models.push(model);
    return model;
}

const says = (verdict, more = {}) => JSON.stringify({ verdict, score: 0.9, findings: [], ...more });

const byModel = (model, api, more = {}) => ({
    name: 'reviewer',
    timeoutMs: 20000,
    model: { api, url: model.url, model: 'judge-model', credential: 'JUDGE_KEY',
        prices: { inputPerMTok: 1000, outputPerMTok: 2000 } },
    ...more,
});

let count = 0;
async function judged(judge, status, { agent = fixes, submit = {}, ...more } = {}) {
    const policy = { approval: 'never' }; // Whoever is asked is asked by a judge.
    const name = `acme/judged-${++count}`;
    await server.repository(name, agent, { judge: [judge].flat(), policy, ...more });
    const { runId, taskId } = await server.submit(name, submit);
    await server.untilRun(runId, status);
    const events = await server.events(runId);
    const of = (type) => events.filter((event) => event.type === type).map(({ data }) => data);
    return { name, runId, taskId, events, of };
}

async function reportOf({ reportArtifactId }) {
    return JSON.parse((await server.call('GET', `/v1/artifacts/${reportArtifactId}`)).text);
}

const APIS = { openai, anthropic };

describe('a model as a judge', { concurrency: 4 }, () => {
    for (const [api, shape] of Object.entries(APIS)) {
        it(`is asked as ${api} documents it, and its pass lets the patch go on`, async () => {
            const model = await modelThat({ body: shape(says('pass')) });
            const { runId, of } = await judged(byModel(model, api), 'completed');
            assert.equal(model.calls.length, 1);
            const [{ method, url, headers, body }] = model.calls;
            assert.equal(method, 'POST');
            assert.equal(body.model, 'judge-model');
            if (api === 'openai') {
                assert.equal(url, '/chat/completions');
                assert.equal(headers.authorization, `Bearer ${KEY}`);
                assert.deepEqual(body.messages.map(({ role }) => role), ['system', 'user']);
            } else {
                assert.equal(url, '/v1/messages');
                assert.equal(headers['x-api-key'], KEY);
                assert.equal(headers['anthropic-version'], '2023-06-01');
                assert.equal(headers.authorization, undefined);
                assert.ok(body.max_tokens > 0 && typeof body.system === 'string');
            }
            const asked = body.messages.at(-1).content;
            const [, mark] = asked.match(/^BEGIN PATCH ([0-9a-f]{32})$/m);
            assert.match(asked, new RegExp(`\\+42[^]*\\nEND PATCH ${mark}\\n`));
            assert.match(asked, /Make the answer right\./);
            assert.match(asked, /^- unit: passed$/m);
            assert.deepEqual(of('agent.judge.started').map(({ judgeType }) => judgeType).sort(),
                ['model', 'rules']);
            const told = of('agent.judge.completed').find(({ judgeType }) => judgeType === 'model');
            assert.equal(told.verdict, 'pass');
            assert.equal(told.score, 0.9);
            assert.equal(told.findingsCount, 0);
            const report = await reportOf(told);
            assert.equal(report.verdict, 'pass');
            const [cost] = of('agent.cost.recorded');
            assert.equal(cost.inputTokens, 120);
            assert.equal(cost.outputTokens, 30);
            assert.equal(cost.costUsd, 0.18);
            assert.equal((await server.run(runId)).costUsd, 0.18);
            assert.match(cost.model, /^judge-model-\d$/);
        });
    }

    it('is understood when it wraps its answer in prose and fences', async () => {
        const fence = '```';
        const text = `It says {"verdict":"fail"}.\n${fence}json\n${says('pass')}\n${fence}\nBye.`;
        const model = await modelThat({ body: anthropic(text) });
        await judged(byModel(model, 'anthropic'), 'completed');
    });

    it('sends the patch back with its findings, and hears the next one', async () => {
        const findings = [{ rule: 'tests', path: 'answer.txt', text: 'Say why.',
            category: 'tests' }];
        const model = await modelThat({ body: openai(says('fail', { score: 0.2, findings })) },
            { body: openai(says('pass')) });
        const agent = `[ -z "\${DROVER_FEEDBACK:-}" ] || cp "$DROVER_FEEDBACK" why.txt\n${fixes}`;
        const { of } = await judged(byModel(model, 'openai'), 'completed', { agent });
        const [retry] = of('agent.run.verdict.retry_with_feedback');
        assert.equal(retry.reason, 'judge_failed');
        const feedback = (await server.call('GET', `/v1/artifacts/${retry.feedbackArtifactId}`));
        assert.match(feedback.text, /judge reviewer does not accept[^]*answer\.txt: Say why\./);
        assert.match(model.calls[1].body.messages[1].content, /why\.txt/);
    });

    it('that scores too low does not pass', async () => {
        const model = await modelThat({ body: openai(says('pass', { score: 0.4 })) },
            { body: openai(says('pass', { score: 0.8 })) });
        const agent = `date +%N >>log.txt\n${fixes}`;
        const { of } = await judged(byModel(model, 'openai', { minScore: 0.7 }), 'completed',
            { agent });
        assert.equal(of('agent.run.verdict.retry_with_feedback').length, 1);
    });

    it('asked for patience tries again after it, and passes', async () => {
        const model = await modelThat(
            { status: 429, headers: { 'retry-after': '1' },
                body: { error: { message: 'slow down', type: 'rate_limit_exceeded' } } },
            { body: openai(says('pass')) });
        await judged(byModel(model, 'openai'), 'completed');
        assert.equal(model.calls.length, 2);
        assert.ok(model.calls[1].at - model.calls[0].at >= 1000, 'not before it is over');
        const path = `/v1/breakers/${encodeURIComponent(`model:${model.host}`)}`;
        const { status } = await server.call('GET', path);
        assert.equal(status, 404, 'a limit is not the fault of the host: no failure was told');
    });

    const doubts = {
        'talks without a verdict': { body: openai('It looks fine to me.') },
        'answers something else': { body: '<html>hello</html>' },
        'refuses': { body: openai(null, { choices: [{ message: { content: null,
            refusal: 'no' } }] }) },
        'runs out of tokens': { body: openai('{"verdict":"pa', { choices: [{ message:
            { content: '{"verdict":"pa' }, finish_reason: 'length' }] }) },
        'asks for a person': { body: openai(says('needs_human_review')) },
        'knows no such key': { status: 401, body: error('authentication_error', 'bad key') },
        'does not answer in time': null,
    };
    for (const [what, answer] of Object.entries(doubts)) {
        it(`that ${what} leaves the decision to a person`, async () => {
            const model = await modelThat(answer);
            const timeoutMs = answer ? 20000 : 2000;
            const { runId, of } = await judged(byModel(model, 'openai', { timeoutMs }),
                'awaiting_approval');
            assert.equal(model.calls.length, 1);
            const [asked] = of('agent.approval.requested');
            assert.equal(asked.kind, 'patch');
            assert.equal(of('agent.patch.policy_flagged').length, 1);
            const type = answer === null || answer.status ? 'agent.judge.failed'
                : what === 'asks for a person' ? 'agent.judge.completed'
                    : 'agent.judge.inconclusive';
            assert.ok(of(type).some(({ name }) => name === 'reviewer'), type);
            const res = await server.decide(asked.approvalId, 'approve');
            assert.equal(res.status, 200, res.text);
            await server.untilRun(runId, 'completed');
        });
    }

    it('behind an open breaker is not called, and a person is asked', async () => {
        const model = await modelThat({ status: 500, body: error('api_error', 'sorry') });
        const path = `/v1/breakers/${encodeURIComponent(`model:${model.host}`)}`;
        await server.ok('PUT', path, { failures: 2, windowMs: 60000, openMs: 60000 });
        const judge = byModel(model, 'anthropic');
        await judged(judge, 'awaiting_approval');
        assert.equal(model.calls.length, 2);
        const { state, lastError } = await server.get(path);
        assert.equal(state, 'open');
        assert.match(lastError, /sorry/);
        const { of } = await judged(judge, 'awaiting_approval');
        assert.equal(model.calls.length, 2);
        assert.match(of('agent.judge.failed')[0].problem, /breaker/);
    });

    it('without its key is not called', async () => {
        const model = await modelThat({ body: openai(says('pass')) });
        const judge = byModel(model, 'openai');
        judge.model.credential = 'NO_SUCH_KEY';
        const { of } = await judged(judge, 'awaiting_approval');
        assert.equal(model.calls.length, 0);
        assert.match(of('agent.judge.failed')[0].problem, /NO_SUCH_KEY/);
    });
});

describe('a command as a judge', { concurrency: 4 }, () => {
    const byCommand = (command, more = {}) => ({ name: 'checker', command, ...more });
    const fails = '{"verdict":"fail","findings":[{"rule":"r","text":"Say it.","path":"a.txt"}]}';

    it('sees the patched tree, the task and the verification', async () => {
        const command = `grep -qx 42 answer.txt && grep -q '+42' "$(dirname \
            "$DROVER_JUDGE_INPUT")/patch.diff" && cp "$DROVER_JUDGE_INPUT" /dev/stdout && \
            echo '{"verdict":"pass","score":1}' >"$DROVER_RESULT"`;
        const { of } = await judged(byCommand(command), 'completed',
            { submit: { scope: ['answer.txt'] } });
        const told = of('agent.judge.completed').find(({ name }) => name === 'checker');
        assert.equal(told.judgeType, 'command');
        assert.equal(told.verdict, 'pass');
        const report = await reportOf(told);
        const input = JSON.parse(report.output);
        assert.equal(input.task.description, 'Make the answer right.');
        assert.deepEqual(input.task.scope, ['answer.txt']);
        assert.equal(input.verification.verdict, 'verified');
        assert.equal(input.files, 1);
    });

    const endings = [
        ['exits with 0 and says nothing', 'true', 'completed', 'agent.judge.completed'],
        ['answers on stdout', 'echo \'{"verdict":"pass"}\'', 'completed',
            'agent.judge.completed'],
        ['exits with 2', 'echo oops; exit 2', 'awaiting_approval', 'agent.judge.failed'],
        ['takes too long', 'sleep 60', 'awaiting_approval', 'agent.judge.failed'],
        ['writes no verdict', 'echo nonsense >"$DROVER_RESULT"', 'awaiting_approval',
            'agent.judge.inconclusive'],
    ];
    for (const [what, command, status, type] of endings) {
        it(`that ${what}: ${status}`, async () => {
            const more = command.startsWith('sleep') ? { timeoutMs: 300 } : {};
            const { of } = await judged(byCommand(command, more), status);
            assert.ok(of(type).some(({ name }) => name === 'checker'));
        });
    }

    it('is heard together with all others, and all go back to the agent at once', async () => {
        const agent = `if [ "$DROVER_ATTEMPT" = 1 ]; then echo x >extra.txt; else
            rm -f extra.txt; cp "$DROVER_FEEDBACK" told.txt; fi\n${fixes}`;
        const once = (text) => `[ -e told.txt ] || { ${text}; }`;
        const judge = [
            { rules: { forbiddenPaths: ['extra.txt'] } },
            byCommand(once(`echo '${fails}'`)),
            byCommand(once('echo "Error: it is wrong"; exit 1'), { name: 'second' }),
        ];
        const { runId, of } = await judged(judge, 'completed', { agent });
        const first = of('agent.judge.completed').slice(0, 3);
        assert.deepEqual(first.map(({ verdict }) => verdict), ['fail', 'fail', 'fail']);
        assert.equal(first[0].category, 'forbidden_path');
        const [retry] = of('agent.run.verdict.retry_with_feedback');
        const { text } = await server.call('GET', `/v1/artifacts/${retry.feedbackArtifactId}`);
        assert.match(text, /extra\.txt[^]*a\.txt: Say it\.[^]*Error: it is wrong/);
        assert.equal((await server.run(runId)).attempt, 2);
    });
});

describe('the key of a model', () => {
    it('stands in no event, artifact or log', async () => {
        const runs = await server.list('/v1/runs?limit=200');
        const kinds = (await assertNowhere(server, runs.map(({ id }) => id), KEY))
            .map(({ kind }) => kind);
        assert.ok(kinds.includes('judge_report'), `${new Set(kinds)}`);
    });
});
