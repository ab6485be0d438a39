// scenarios.mjs - what is recorded of each agent: a script for its model, and the true figures.
//
// A scenario is {turns(agent), end}, and more where it needs that: `agents` (those that can do it),
// `args` and `env` of the program, `subscriber` (it has no key but a login), `stop` (the signal
// that it gets at the gate of its last turn), `resumes` (the turns from this one on are those of a
// second process, in the same session), `turnsOfMain` (where others are those of a subagent).
//
// end: success, error (the agent failed), quota, overloaded (the provider), login, killed.
import { Gate, call, calls, drops, fails, holds, says } from './turns.mjs';
import { limitHeaders } from './wire_anthropic.mjs';
import { limitReached } from './wire_responses.mjs';

const CLAUDE = ['claude'], BOTH = ['claude', 'codex'];
// opencode tries for ever, and prints nothing meanwhile.
const THREE = [...BOTH, 'gemini'];
// Few tries: what they print of the first ones is what they print of the others.
const QUICK = { claude: { CLAUDE_CODE_MAX_RETRIES: '2' } };
const RESET = 1893456000; // 2030-01-01, in the recordings: they stay the same.

// How each vendor refuses a request.
const overload = ({ wire }) => (wire === 'gemini'
    ? fails(503, 'UNAVAILABLE', 'The model is overloaded. Please try again later.')
    : fails(529, 'overloaded_error', 'Overloaded'));
const rateLimit = ({ wire }) => (wire === 'gemini'
    ? fails(429, 'RESOURCE_EXHAUSTED', 'You exceeded your current quota, please check your plan.')
    : fails(429, 'rate_limit_error',
        "This request would exceed your account's rate limit. Please try again later.",
        { headers: { 'retry-after': '1' }, error: { code: 'rate_limit_exceeded' } }));
const ended = says('The answer is 42 now.');

export const SCENARIOS = {
    ok: {
        turns: (agent) => [agent.shell('cat answer.txt', { text: 'I look first.' }), agent.edit(),
            ended],
        end: 'success',
    },
    two_tools: {
        turns: (agent) => [{ text: 'Two at once.',
            calls: [...agent.shell('cat answer.txt').calls, ...agent.shell('ls').calls] },
        agent.edit(), ended],
        end: 'success',
    },
    tool_error: {
        turns: (agent) => [agent.shell('cat missing.txt; exit 3'), agent.edit(), ended],
        end: 'success',
    },
    thinking: {
        turns: (agent) => [agent.shell('cat answer.txt', { thinking: 'It says 41. That is low.' }),
            agent.edit(), ended],
        end: 'success',
    },
    cached: {
        turns: (agent) => [
            agent.shell('cat answer.txt', { usage: { input: 20, cacheWrite: 3000, output: 40 } }),
            { ...agent.edit(), usage: { input: 30, cached: 3000, cacheWrite: 200, output: 50 } },
            { ...ended, usage: { input: 10, cached: 3200, output: 20 } }],
        end: 'success',
    },
    edit: {
        turns: (agent) => [...agent.change('answer.txt', '41', '42'), ended],
        end: 'success',
    },
    subagent: {
        agents: CLAUDE,
        turns: (agent) => [calls(call('Agent', { description: 'Look for me',
            prompt: 'Say what answer.txt has.', subagent_type: 'general-purpose',
            run_in_background: false })), agent.shell('cat answer.txt'), says('It has 41.'),
        agent.edit(), ended],
        turnsOfMain: 3,
        end: 'success',
    },
    turn_limit: {
        agents: CLAUDE,
        args: ['--max-turns', '2'],
        turns: (agent) => [agent.shell('ls'), agent.shell('cat answer.txt')],
        end: 'error',
    },
    resumed: {
        agents: ['claude', 'codex', 'opencode'],
        resumes: 2,
        turns: (agent) => [agent.shell('cat answer.txt'), says('Nothing to do.'), agent.edit(),
            ended],
        end: 'success',
    },
    // A limit of a subscription, which says when it ends.
    quota: {
        agents: BOTH,
        subscriber: true,
        turns: (agent) => [agent.shell('ls'), agent.wire === 'anthropic'
            ? fails(429, 'rate_limit_error', 'Usage limit reached.',
                { headers: limitHeaders(RESET) })
            : fails(429, 'usage_limit_reached', 'The usage limit has been reached',
                { error: limitReached(RESET) })],
        end: 'quota',
    },
    // A limit of a key, which does not.
    rate_limit: {
        agents: THREE,
        env: QUICK,
        turns: (agent) => [rateLimit(agent)],
        end: 'quota',
    },
    overload: {
        agents: THREE,
        env: QUICK,
        turns: (agent) => [overload(agent)],
        end: 'overloaded',
    },
    overload_passes: {
        turns: (agent) => [{ ...overload(agent), times: 1 }, agent.edit(), ended],
        end: 'success',
    },
    connection_lost: {
        agents: THREE,
        env: QUICK,
        turns: (agent) => [agent.shell('ls'), drops({ times: Infinity })],
        end: 'overloaded',
    },
    login: {
        env: QUICK,
        subscriber: true,
        turns: () => [fails(401, 'authentication_error', 'OAuth token has expired.')],
        end: 'login',
    },
    credit: {
        agents: BOTH,
        turns: (agent) => [agent.wire === 'anthropic'
            ? fails(400, 'invalid_request_error', 'Your credit balance is too low to access the '
                + 'Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.')
            : fails(429, 'insufficient_quota', 'You exceeded your current quota, please check '
                + 'your plan and billing details.')],
        end: 'quota',
    },
};

// Killed while the model works.  Gemini prints its tokens at the end only.
for (const signal of ['INT', 'TERM', 'KILL'])
    SCENARIOS[`killed_${signal.toLowerCase()}`] = {
        agents: [...BOTH, 'opencode'],
        stop: `SIG${signal}`,
        turns: (agent) => [agent.edit(), holds(new Gate(), ended)],
        end: 'killed',
    };
