// wire_responses.mjs - OpenAI's Responses API, as Codex uses it.
//
//     POST {base}/responses   one turn, as server-sent events
//     GET  {base}/models      the models
//
// The stream: response.created, then for each item of the output response.output_item.added, its
// deltas and response.output_item.done, then response.completed with the tokens.  Every
// function_call of the input must have its function_call_output.
import { EventStream, piecesOf } from './sse.mjs';

export const name = 'responses';

export function route(method, path) {
    if (method === 'POST' && path.endsWith('/responses')) return { kind: 'turn' };
    return method === 'GET' && path.endsWith('/models') ? { kind: 'models' } : null;
}

const CALLS = new Set(['function_call', 'custom_tool_call', 'local_shell_call']);

export function* problems({ headers, body }) {
    if (!/^Bearer ./.test(headers.authorization ?? '')) yield 'no bearer token';
    if (typeof body.model !== 'string') yield 'no model';
    if (!Array.isArray(body.input) || body.input.length === 0) {
        yield 'no input';
        return;
    }
    if (body.stream !== true) yield 'it does not ask for a stream';
    const answered = new Set(body.input.filter(({ type }) => /_output$/.test(type ?? ''))
        .map((item) => item.call_id));
    for (const { type, call_id: id } of body.input)
        if (CALLS.has(type) && !answered.has(id)) yield `${type} ${id} has no output`;
    for (const { type, name: tool } of body.tools ?? [])
        if (!type || (type === 'function' && !tool)) yield 'a tool without type or name';
}

const textsOf = (content) => (typeof content === 'string' ? [content]
    : (content ?? []).flatMap((part) => part.text ?? []));

export function read(body) {
    const input = Array.isArray(body.input) ? body.input : [];
    const said = input.filter(({ role }) => role === 'user')
        .flatMap(({ content }) => textsOf(content));
    return {
        model: body.model,
        tools: (body.tools ?? []).map((tool) => tool.name ?? tool.type),
        said,
        results: input.filter(({ type }) => /_output$/.test(type ?? '')).map(({ output }) =>
            ({ text: typeof output === 'string' ? output : JSON.stringify(output) })),
        side: false,
        directory: /<cwd>([^<]+)<\/cwd>/.exec(said.join('\n'))?.[1],
        streams: true,
    };
}

// `input` of a call is an object for a function, and a text for a tool that takes any text.
function items(turn, ids) {
    const list = [];
    if (turn.thinking)
        list.push({ type: 'reasoning', id: ids.next('rs'), encrypted_content: null,
            summary: [{ type: 'summary_text', text: turn.thinking }] });
    if (turn.text)
        list.push({ type: 'message', id: ids.next('msg'), role: 'assistant', status: 'completed',
            content: [{ type: 'output_text', text: turn.text, annotations: [] }] });
    for (const { name: tool, input } of turn.calls ?? []) {
        const free = typeof input === 'string';
        list.push({ type: free ? 'custom_tool_call' : 'function_call',
            id: ids.next(free ? 'ctc' : 'fc'), call_id: ids.next('call'), status: 'completed',
            name: tool, ...(free ? { input } : { arguments: JSON.stringify(input) }) });
    }
    return list;
}

const tokens = ({ input, cached, cacheWrite, output }) => ({
    input_tokens: input + cached + cacheWrite, input_tokens_details: { cached_tokens: cached },
    output_tokens: output, output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: input + cached + cacheWrite + output,
});

export function answer(res, turn, { request, usage, ids }) {
    const output = items(turn, ids);
    const response = { id: ids.next('resp'), object: 'response', model: request.model,
        created_at: Math.floor(Date.now() / 1000), status: 'in_progress', output: [], usage: null };
    const stream = new EventStream(res, { 'x-request-id': ids.next('req'), ...turn.headers });
    let number = 0;
    const send = (type, data) =>
        stream.send({ type, sequence_number: number++, ...data }, type);
    send('response.created', { response });
    for (const [index, item] of output.entries()) {
        const at = { output_index: index };
        const words = item.type === 'message' ? item.content[0].text : null;
        send('response.output_item.added', { ...at,
            item: { ...item, status: 'in_progress', ...(words === null ? {} : { content: [] }) } });
        for (const delta of piecesOf(words ?? ''))
            send('response.output_text.delta',
                { ...at, item_id: item.id, content_index: 0, delta });
        send('response.output_item.done', { ...at, item });
    }
    send('response.completed',
        { response: { ...response, status: 'completed', output, usage: tokens(usage) } });
    stream.end();
}

export const models = () => ({ object: 'list', data: [], models: [] });

// more: what else the error has, such as resets_at.
export function failure({ type, message, code, status, ...more }, ids) {
    return { headers: { 'x-request-id': ids.next('req') },
        body: { error: { type, code: code ?? type, message, ...more } } };
}

// What the error of a subscription's limit has beside its words.
export const limitReached = (resetsAt) => ({ plan_type: 'plus', resets_at: resetsAt,
    resets_in_seconds: Math.max(1, resetsAt - Math.floor(Date.now() / 1000)) });
