// secrets.test.mjs - what an agent leaks stays on the worker: not in artifacts, events, answers,
// logs or pull requests.
//
// Tokens are put together here, so that no scanner takes this file for a leak.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { branches, fixes, git, refs, says } from './lib/git.mjs';
import { assertNowhere } from './lib/nowhere.mjs';
import { start } from './lib/server.mjs';

const TOKEN = ['ghp', 'Zq8X2v7Lr5Tn3Wk9Bd4Yc6Hj1Mf0Pg8Us2Ea'].join('_');
const OLD_TOKEN = ['ghp', 'Pg8Us2EaZq8X2v7Lr5Tn3Wk9Bd4Yc6Hj1Mf0'].join('_');
const AWS = ['AKIA', 'Q3EGRT5Y7U9I2O4P'].join('');
const HANDED = 'correct-horse-battery-staple';

// As shell text that makes it, between quotes: what is stored of a configuration does not hold it.
const hide = (text, secret, quote = "'") =>
    text.replaceAll(secret, `${secret.slice(0, 3)}${quote}${quote}${secret.slice(3)}`);

let server;
before(async () => {
    server = await start({ args: ['--workers', '4'], env: { API_KEY: HANDED } });
});
after(() => server.discard());

const eventsOf = (runId, type) => server.dataOf(runId, type);

describe('a secret in a patch', () => {
    it('blocks it, ends the run at once, and is shown nowhere', async () => {
        const agent = hide(`echo 'const token = "${TOKEN}";' >conf.js\n`, TOKEN) +
            hide(`echo 'x ${AWS}' >more.txt\n`, AWS);
        const repo = await server.repository('acme/leaky', agent + fixes);
        const { task, runId, run } = await server.finish(repo.name, 'failed');
        assert.equal(task.errorCode, 'secret_detected');
        assert.match(task.errorMessage, /github-token in conf\.js, line 1/);
        assert.equal(run.attempt, 1, 'it goes back to nobody');
        const found = await eventsOf(runId, 'agent.secret.detected');
        assert.deepEqual(found.map(({ rule, path, line }) => [rule, path, line]),
            [['github-token', 'conf.js', 1], ['aws-access-key', 'more.txt', 1]]);
        assert.equal((await eventsOf(runId, 'agent.patch.policy_flagged'))[0].reason,
            'secret_detected');
        assert.deepEqual(await eventsOf(runId, 'agent.patch.created'), []);
        assert.deepEqual(await eventsOf(runId, 'agent.run.verdict.retry_with_feedback'), []);
        const artifacts = await assertNowhere(server, [runId], TOKEN, AWS);
        const kept = artifacts.find(({ kind }) => kind === 'redacted_patch');
        const { text } = await server.call('GET', `/v1/artifacts/${kept.sha256}`);
        assert.match(text, /\+const token = "\[redacted:github-token\]";/);
        assert.deepEqual(branches(repo.origin), []);
        await server.untilCleaned(runId); // Unpublished work goes to the origin, where it may.
        assert.deepEqual(Object.keys(refs(repo.origin)), ['refs/heads/main']);
    });

    it('that is the agent\'s own token is known though it has no known shape', async () => {
        const repo = await server.repository('acme/own-token',
            `echo "$DROVER_TOKEN" >conf.txt\n${fixes}`);
        const { task, runId } = await server.finish(repo.name, 'failed');
        assert.equal(task.errorCode, 'secret_detected');
        assert.equal((await eventsOf(runId, 'agent.secret.detected'))[0].rule, 'drover-token');
    });

    it('may be taken out, and moved', async () => {
        const files = { 'answer.txt': '41\n', 'test.sh': 'grep -qx 42 answer.txt\n',
            'conf.js': `const a = "${OLD_TOKEN}";\nconst b = "${OLD_TOKEN.slice(0, -1)}";\n` };
        const agent = 'sed -i 1d conf.js; echo >>conf.js; sed -i s/const/let/ conf.js\n';
        const repo = await server.repository('acme/cleaned', agent + fixes, { files });
        const { run } = await server.finish(repo.name, 'completed');
        assert.ok(!git(repo.origin, 'show', `${run.branch}:conf.js`).includes(OLD_TOKEN));
    });
});

describe('a secret that is printed', () => {
    it('by an agent is redacted in log, events, summary and pull request', async () => {
        const agent = hide(hide(`echo "$API_KEY"; echo "$DROVER_TOKEN"; echo 'x ${TOKEN}' >&2
printf '%s' "${TOKEN.slice(0, 20)}"; sleep 0.1; echo "${TOKEN.slice(20)}"
${says({ type: 'message', text: `I use ${TOKEN}` })}
${says({ type: 'tool', name: 'sh', status: 'completed', summary: `curl -H ${HANDED}` })}
${fixes.replace('the answer is 42', `42 with ${HANDED}`)}`, TOKEN), HANDED);
        const repo = await server.repository('acme/loud', agent, { agent: {
            command: ['/bin/sh', '-c', agent], adapter: 'ndjson', env: ['API_KEY'] } });
        const { runId } = await server.finish(repo.name, 'completed');
        const items = await assertNowhere(server, [runId], TOKEN, HANDED);
        const log = items.find(({ kind }) => kind === 'agent_log');
        const { text } = await server.call('GET', `/v1/artifacts/${log.sha256}`);
        assert.match(text, /^\[redacted:env\]\n\[redacted:drover-token\]\n/m);
        assert.equal(text.match(/\[redacted:github-token\]/g).length, 3);
        const [patch] = await eventsOf(runId, 'agent.patch.created');
        assert.equal(patch.summary, '42 with [redacted:env]');
        const [message] = await eventsOf(runId, 'agent.step.recorded');
        assert.equal(message.text, 'I use [redacted:github-token]');
    });

    it('in another spelling is redacted all the same', async () => {
        const agent = `printf '%s' "x-access-token:$API_KEY" | base64 -w0; echo
printf '%s' "$API_KEY" | base64 -w0 | tr '+/' '-_' | tr -d =; echo
printf '%s' "$API_KEY" | od -An -v -tx1 | tr -d '\\n' | tr ' ' %; echo
${fixes}`;
        const repo = await server.repository('acme/coded', agent, { agent: {
            command: ['/bin/sh', '-c', agent], env: ['API_KEY'] } });
        const { runId } = await server.finish(repo.name, 'completed');
        const coded = Buffer.from(HANDED).toString('base64');
        const items = await assertNowhere(server, [runId], HANDED, coded.slice(0, 12),
            coded.replace(/=+$/, '').slice(-12));
        const log = items.find(({ kind }) => kind === 'agent_log');
        const { text } = await server.call('GET', `/v1/artifacts/${log.sha256}`);
        assert.equal(text.match(/\[redacted:env\]/g).length, 3, text);
    });

    it('by a verifier is redacted in its report and in what the agent is told', async () => {
        const verify = [{ name: 'unit', command: hide(`echo 'Error: ${TOKEN} is wrong'; exit 1`,
            TOKEN) }];
        const repo = await server.repository('acme/loud-check', fixes,
            { verify, retries: { agentAttempts: 1 } });
        const { runId, task } = await server.finish(repo.name, 'failed');
        assert.match(task.errorMessage, /Error: \[redacted:github-token\] is wrong/);
        await assertNowhere(server, [runId], TOKEN);
    });
});
