// model.mjs - a language model that says what the test wants, in the shapes that the two vendors
// document.
import { once } from 'node:events';
import http from 'node:http';

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
    const model = { calls: [] };
    model.http = http.createServer(async (req, res) => {
        const at = performance.now();
        let text = '';
        for await (const chunk of req) text += chunk;
        const { method, url, headers } = req;
        const { status = 200, headers: more = {}, body } =
            answers[Math.min(model.calls.length, answers.length - 1)] ?? { status: null };
        model.calls.push({ at, method, url, headers, body: JSON.parse(text) });
        if (status === null) return;
        const given = typeof body === 'string' ? body : JSON.stringify(body);
        res.writeHead(status, { 'content-type': 'application/json', ...more }).end(given);
    });
    model.http.listen(0, '127.0.0.1');
    await once(model.http, 'listening');
    model.host = `127.0.0.1:${model.http.address().port}`;
    model.url = `http://${model.host}`;
    model.close = () => {
        model.http.closeAllConnections();
        model.http.close();
    };
    return model;
}
