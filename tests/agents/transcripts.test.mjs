// transcripts.test.mjs - what the agents print, scenario by scenario, without drover.
//
// The fixtures that the adapters are tested with (fixtures/transcripts/real) come from here.
// RECORD=1 writes them anew, and figures.jsonl: what each scenario has truly used up, by the books
// of the model.  Without it, each agent must print the kinds of lines that its fixture has: in some
// of the scenarios, in long runs in all.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { AGENTS, VERSIONS } from './lib/agents.mjs';
import { answersWithTokens } from './lib/books.mjs';
import { Direct } from './lib/direct.mjs';
import { costOf, openModel, tokensOf } from './lib/model_server.mjs';
import { SCENARIOS } from './lib/scenarios.mjs';

const REAL = fileURLToPath(new URL('../fixtures/transcripts/real/', import.meta.url));
const RECORD = Boolean(process.env.RECORD);
const ALL = RECORD || Boolean(process.env.DROVER_LONG);
const SOME = ['ok', 'tool_error', 'login', 'killed_term'];
const PROMPT = 'Make the answer right.';
const SESSIONS = ['session_id', 'thread_id', 'sessionID'];

const parse = (line) => {
    try {
        return JSON.parse(line);
    } catch {
        return {};
    }
};

const sessionOf = (lines) => lines.map(parse)
    .flatMap((object) => SESSIONS.flatMap((name) => object[name] ?? []))[0];

// {type, subtype, and the type of an item}, each kind once.
const kindsOf = (lines) => [...new Set(lines.map(parse).map(({ type, subtype, item }) =>
    [type, subtype, item?.type].filter(Boolean).join(' ')))].sort();

// Where it was killed it may have come to say less: Claude Code prints its result or not.
function assertKinds(kinds, recorded, { stop }) {
    if (stop) assert.deepEqual(kinds.filter((kind) => !recorded.includes(kind)), []);
    else assert.deepEqual(kinds, recorded);
}

// Runs the scenario; resolves with the last process's end, and what was used up in it.
async function play(name, scenario, model, direct) {
    const { turns } = model;
    const options = { args: scenario.args, env: scenario.env?.[name] };
    const ended = direct.start(PROMPT, options);
    if (scenario.stop) {
        await turns.at(-1).gate.stands();
        direct.kill(scenario.stop);
    }
    const first = await ended;
    if (!scenario.resumes) return { ...first, from: 0 };
    const from = model.answers.length;
    const session = sessionOf(first.lines);
    return { ...await direct.start('It is still wrong.', { ...options, session }), from };
}

// Paths of this machine and its ports, which are others every time.
const scrub = (text, direct, model) => text.replaceAll(direct.tree, '/srv/tree')
    .replaceAll(direct.home, '/srv/home').replaceAll(model.host, '127.0.0.1:8080')
    .replaceAll(direct.tree.replaceAll('/', '-'), '-srv-tree')
    .replaceAll(direct.dir, '/srv/tmp');

// Codex reports the tokens of single requests here only.
const rolloutOf = (direct) => direct.files((path) => /rollout-.*\.jsonl$/.test(path)).join('')
    .split('\n').filter((line) => /"turn_context"|"token_count"/.test(line));

function figuresOf(name, scenario, model, { lines, from }) {
    const agent = AGENTS[name];
    const answers = answersWithTokens(agent, model.answers.slice(from));
    const { input, cached, cacheWrite, output } = tokensOf(answers);
    const turns = answers.filter(({ side }) => !side).length;
    const tools = answers.flatMap(({ calls }) => calls)
        .map((tool) => agent.printed?.[tool] ?? tool);
    return {
        adapter: name, version: VERSIONS[name].version, session: sessionOf(lines),
        model: agent.model, turns: scenario.turnsOfMain ?? turns,
        inputTokens: input + cached + cacheWrite, cachedInputTokens: cached,
        outputTokens: output, costUsd: Number(costOf(answers, agent.prices).toFixed(9)),
        tools, end: scenario.end,
    };
}

const readLines = (file) => readFileSync(`${REAL}${file}.jsonl`, 'utf8').split('\n').slice(0, -1);
const writeLines = (file, lines) =>
    writeFileSync(`${REAL}${file}.jsonl`, lines.map((line) => `${line}\n`).join(''));

// One line for each fixture, in the order of their names.
function record(figures) {
    const path = `${REAL}figures.jsonl`;
    const rows = existsSync(path) ? readLines('figures').map(parse) : [];
    const others = rows.filter(({ file }) => file !== figures.file);
    writeLines('figures', [...others, figures]
        .sort((a, b) => (a.file < b.file ? -1 : 1)).map((row) => JSON.stringify(row)));
}

for (const name of Object.keys(AGENTS).filter((each) => AGENTS[each].words)) {
    const title = `${name} ${VERSIONS[name].version} prints what is recorded:`;
    describe(title, { concurrency: 2 }, () => {
        for (const [what, scenario] of Object.entries(SCENARIOS)) {
            if (!ALL && !SOME.includes(what)) continue;
            if (scenario.agents && !scenario.agents.includes(name)) continue;
            it(what, async (t) => {
                const model = await openModel(scenario.turns(AGENTS[name]));
                t.after(() => model.close());
                const direct = new Direct(name, model, scenario);
                const end = await play(name, scenario, model, direct);
                model.assertSound();
                const file = `${name}_${what}`;
                if (RECORD) {
                    const clean = (lines) => lines.map((line) => scrub(line, direct, model));
                    mkdirSync(REAL, { recursive: true });
                    writeLines(file, clean(end.lines));
                    if (name === 'codex') writeLines(`${file}.rollout`, clean(rolloutOf(direct)));
                    record({ file, ...figuresOf(name, scenario, model, end) });
                }
                assertKinds(kindsOf(end.lines), kindsOf(readLines(file)), scenario);
            });
        }
    });
}
