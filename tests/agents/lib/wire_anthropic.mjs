// wire_anthropic.mjs - Anthropic's Messages API, as Claude Code uses it.
//
//     POST /v1/messages               one turn; `stream: true` answers with server-sent events
//     POST /v1/messages/count_tokens  {input_tokens}
//     HEAD /                          is the address there at all?
//
// The stream: message_start, then for each block content_block_start, _delta... and _stop, then
// message_delta with the tokens of the whole answer, and message_stop.  Each call of a tool
// (tool_use) must be answered by a tool_result in the next message of the user.
import { EventStream, piecesOf } from './sse.mjs';

const JSON_PIECE = 4096;

export const name = 'anthropic';

export function route(method, path) {
    if (method === 'HEAD' && path === '/') return { kind: 'ping' };
    if (method !== 'POST') return null;
    if (path === '/v1/messages') return { kind: 'turn' };
    return path === '/v1/messages/count_tokens' ? { kind: 'count' } : null;
}

// ---- requests ----

const blocksOf = ({ content }) =>
    typeof content === 'string' ? [{ type: 'text', text: content }] : content ?? [];

function* problemsOfCalls(messages) {
    for (const [i, message] of messages.entries()) {
        if (message.role !== 'assistant') continue;
        const open = blocksOf(message).filter((block) => block.type === 'tool_use');
        const answered = new Set(blocksOf(messages[i + 1] ?? {})
            .filter((block) => block.type === 'tool_result').map((block) => block.tool_use_id));
        for (const { id } of open)
            if (!answered.has(id)) yield `tool_use ${id} has no tool_result behind it`;
    }
}

export function* problems({ headers, body }) {
    if (!headers['anthropic-version']) yield 'no header anthropic-version';
    if (!headers['x-api-key'] && !/^Bearer ./.test(headers.authorization ?? ''))
        yield 'neither x-api-key nor a bearer token';
    if (typeof body.model !== 'string') yield 'no model';
    if (!(body.max_tokens > 0)) yield 'no max_tokens';
    if (!Array.isArray(body.messages) || body.messages.length === 0) {
        yield 'no messages';
        return;
    }
    if (body.messages[0].role !== 'user') yield 'the first message is not of the user';
    for (const { name: tool, input_schema: schema, type } of body.tools ?? [])
        if (!tool || (!schema && !type)) yield `tool ${tool} without a schema`;
    yield* problemsOfCalls(body.messages);
}

const textsOf = (content) => (typeof content === 'string' ? [content]
    : (content ?? []).flatMap((block) => block.text ?? []));

export function read(body) {
    const messages = body.messages ?? [];
    const blocks = messages.filter(({ role }) => role === 'user').flatMap(blocksOf);
    const said = blocks.filter(({ type }) => type === 'text').map(({ text }) => text);
    // Newer versions describe the place in a message of the role system.
    const place = [...textsOf(body.system), ...messages.flatMap(({ content }) => textsOf(content))];
    return {
        model: body.model,
        tools: (body.tools ?? []).map((tool) => tool.name),
        said, // By the user: the prompt, reminders, what was sent while it worked.
        results: blocks.filter(({ type }) => type === 'tool_result')
            .map(({ content, is_error: failed }) =>
                ({ text: textsOf(content).join('\n'), failed: failed ?? false })),
        // It asks for a title of the session, or what the user might type next.
        side: !body.tools?.length || /^\[SUGGESTION MODE/.test(said.at(-1) ?? ''),
        directory: /working directory: (\S+)/i.exec(place.join('\n'))?.[1],
        streams: body.stream === true,
    };
}

// ---- answers ----

function blocks(turn, ids) {
    const list = [];
    if (turn.thinking)
        list.push({ type: 'thinking', thinking: turn.thinking, signature: 'c2lnbmF0dXJl' });
    if (turn.text) list.push({ type: 'text', text: turn.text });
    for (const { name: tool, input } of turn.calls ?? [])
        list.push({ type: 'tool_use', id: ids.next('toolu'), name: tool, input });
    return list;
}

const tokens = ({ input, cached, cacheWrite, output }) => ({
    input_tokens: input, cache_creation_input_tokens: cacheWrite,
    cache_read_input_tokens: cached, output_tokens: output,
});

function sendBlock(stream, index, block) {
    const send = (type, data) => stream.send({ type, index, ...data }, type);
    const delta = (value) => send('content_block_delta', { delta: value });
    if (block.type === 'text') {
        send('content_block_start', { content_block: { type: 'text', text: '' } });
        for (const text of piecesOf(block.text)) delta({ type: 'text_delta', text });
    } else if (block.type === 'thinking') {
        send('content_block_start',
            { content_block: { type: 'thinking', thinking: '', signature: '' } });
        for (const thinking of piecesOf(block.thinking))
            delta({ type: 'thinking_delta', thinking });
        delta({ type: 'signature_delta', signature: block.signature });
    } else {
        send('content_block_start', { content_block: { ...block, input: {} } });
        for (const json of piecesOf(JSON.stringify(block.input), JSON_PIECE))
            delta({ type: 'input_json_delta', partial_json: json });
    }
    send('content_block_stop');
}

export function answer(res, turn, { request, usage, ids }) {
    const content = blocks(turn, ids);
    const counted = tokens(usage);
    const headers = { 'request-id': ids.next('req'), ...turn.headers };
    const message = { id: ids.next('msg'), type: 'message', role: 'assistant',
        model: request.model, content: [], stop_reason: null, stop_sequence: null };
    const reason = turn.calls ? 'tool_use' : 'end_turn';
    if (!request.streams) {
        res.writeHead(200, { 'content-type': 'application/json', ...headers });
        res.end(JSON.stringify({ ...message, content, stop_reason: reason, usage: counted }));
        return;
    }
    const stream = new EventStream(res, headers);
    stream.send({ type: 'message_start',
        message: { ...message, usage: { ...counted, output_tokens: 1 } } }, 'message_start');
    stream.send({ type: 'ping' }, 'ping');
    content.forEach((block, index) => sendBlock(stream, index, block));
    stream.send({ type: 'message_delta', delta: { stop_reason: reason, stop_sequence: null },
        usage: counted }, 'message_delta');
    stream.send({ type: 'message_stop' }, 'message_stop');
    stream.end();
}

export const count = () => ({ input_tokens: 100 });

export function failure({ type, message }, ids) {
    const id = ids.next('req');
    return { headers: { 'request-id': id },
        body: { type: 'error', error: { type, message }, request_id: id } };
}

// What a subscription's 429 carries: Claude Code takes the time of the reset from these.
export const limitHeaders = (resetsAt, claim = 'five_hour') => ({
    'anthropic-ratelimit-unified-status': 'rejected',
    'anthropic-ratelimit-unified-reset': String(resetsAt),
    'anthropic-ratelimit-unified-representative-claim': claim,
    'anthropic-ratelimit-unified-overage-status': 'rejected',
});
