// books.mjs - what drover has booked for a run is what the model has answered, to the last token.
import assert from 'node:assert/strict';
import { costOf, tokensOf } from './model_server.mjs';

const USD_EXACT = 1e-6;

// Of the answers, those that the agent prints the cost or the tokens of.
const ofWork = (answers) => answers.filter(({ side }) => !side);
export const answersWithCost = (agent, answers) =>
    (agent.asides === 'none' ? ofWork(answers) : answers);
export const answersWithTokens = (agent, answers) => (agent.asides ? ofWork(answers) : answers);

// at: what prepare() gave.  Resolves with the run.
export async function assertBooked(server, runId, at) {
    at.model.assertSound();
    const run = await server.run(runId);
    const { agent, model } = at;
    const { input, cached, cacheWrite, output } = tokensOf(answersWithTokens(agent, model.answers));
    const cost = costOf(answersWithCost(agent, model.answers), agent.prices);
    assert.deepEqual([run.inputTokens, run.outputTokens], [input + cached + cacheWrite, output]);
    assert.ok(Math.abs(run.costUsd - cost) < USD_EXACT, `booked ${run.costUsd}, cost ${cost}`);
    return run;
}
