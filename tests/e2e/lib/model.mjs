// model.mjs - a language model that says what the test wants, in the shapes that the two vendors
// document.
import { openService } from './service.mjs';

export const openai = (text, more = {}) => ({
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1,
    model: 'judge-model-1',
    choices: [{
        index: 0,
        message: { role: 'assistant', content: text, refusal: null },
        logprobs: null,
        finish_reason: 'stop',
    }],
    usage: { prompt_tokens: 120, completion_tokens: 30, total_tokens: 150 },
    ...more,
});

export const anthropic = (text, more = {}) => ({
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'judge-model-2',
    content: [{ type: 'text', text }],
    stop_reason: 'end_turn',
    stop_sequence: null,
    usage: { input_tokens: 120, output_tokens: 30 },
    ...more,
});

export const error = (type, message) => ({ type: 'error', error: { type, message } });

// A server on a port of its own.  answers: one for each request, the last for all that follow; each
// is {status, headers, body}, or null: no answer at all.  calls: what it was asked, and when.
export async function openModel(...answers) {
    const calls = [];
    const service = await openService(({ text, ...call }) => {
        const answer = answers[Math.min(calls.length, answers.length - 1)];
        calls.push({ at: performance.now(), ...call, body: JSON.parse(text) });
        return answer;
    });
    return { ...service, calls };
}
