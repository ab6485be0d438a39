// wire_chat.mjs - OpenAI's chat completions, as opencode uses them for a provider of one's own.
//
//     POST {base}/chat/completions   one turn; chunks of a delta each, then usage, then [DONE]
//
// Every call of a tool in a message of the assistant must have a message of the role `tool`.
import { EventStream, piecesOf } from './sse.mjs';

export const name = 'chat';

export function route(method, path) {
    return method === 'POST' && path.endsWith('/chat/completions') ? { kind: 'turn' } : null;
}

export function* problems({ headers, body }) {
    if (!/^Bearer ./.test(headers.authorization ?? '')) yield 'no bearer token';
    if (typeof body.model !== 'string') yield 'no model';
    if (!Array.isArray(body.messages) || body.messages.length === 0) {
        yield 'no messages';
        return;
    }
    const answered = new Set(body.messages.filter(({ role }) => role === 'tool')
        .map((message) => message.tool_call_id));
    for (const message of body.messages)
        for (const { id } of message.tool_calls ?? [])
            if (!answered.has(id)) yield `call ${id} has no message of the tool`;
}

const textsOf = (content) => (typeof content === 'string' ? [content]
    : (content ?? []).flatMap((part) => part.text ?? []));

export function read(body) {
    const messages = body.messages ?? [];
    const of = (role) => messages.filter((message) => message.role === role)
        .flatMap(({ content }) => textsOf(content));
    return {
        model: body.model,
        tools: (body.tools ?? []).map((tool) => tool.function?.name),
        said: of('user'),
        results: of('tool').map((text) => ({ text })),
        side: !body.tools?.length,
        directory: /working directory: (\S+)/i.exec(of('system').join('\n'))?.[1],
        streams: body.stream === true,
    };
}

const tokens = ({ input, cached, cacheWrite, output }) => ({
    prompt_tokens: input + cached + cacheWrite, completion_tokens: output,
    total_tokens: input + cached + cacheWrite + output,
    prompt_tokens_details: { cached_tokens: cached },
});

const toolCalls = (turn, ids) => (turn.calls ?? []).map(({ name: tool, input }) => ({
    id: ids.next('call'), type: 'function',
    function: { name: tool, arguments: JSON.stringify(input) },
}));

export function answer(res, turn, { request, usage, ids }) {
    const called = toolCalls(turn, ids);
    const finish = called.length > 0 ? 'tool_calls' : 'stop';
    const head = { id: ids.next('chatcmpl'), model: request.model,
        created: Math.floor(Date.now() / 1000) };
    if (!request.streams) {
        const message = { role: 'assistant', content: turn.text ?? null,
            ...(called.length > 0 ? { tool_calls: called } : {}) };
        res.writeHead(200, { 'content-type': 'application/json', ...turn.headers });
        res.end(JSON.stringify({ ...head, object: 'chat.completion',
            choices: [{ index: 0, message, finish_reason: finish }], usage: tokens(usage) }));
        return;
    }
    const stream = new EventStream(res, turn.headers);
    const chunk = (delta, reason = null) => stream.send({ ...head,
        object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason: reason }] });
    chunk({ role: 'assistant', content: '' });
    for (const content of piecesOf(turn.text ?? '')) chunk({ content });
    called.forEach((each, index) => chunk({ tool_calls: [{ index, ...each }] }));
    chunk({}, finish);
    stream.send({ ...head, object: 'chat.completion.chunk', choices: [], usage: tokens(usage) });
    stream.send('[DONE]');
    stream.end();
}

export function failure({ type, message, code }) {
    return { headers: {}, body: { error: { type, code: code ?? type, message, param: null } } };
}
