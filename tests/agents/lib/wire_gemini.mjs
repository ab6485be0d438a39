// wire_gemini.mjs - Google's Gemini API, as Gemini CLI uses it with a key.
//
//     POST /v1beta/models/{model}:streamGenerateContent?alt=sse   one turn, in chunks
//     POST /v1beta/models/{model}:generateContent                 one turn, whole
//     POST /v1beta/models/{model}:countTokens                     {totalTokens}
//
// A turn of the model with functionCall parts is followed by one of the user that has as many
// functionResponse parts.
import { EventStream, piecesOf } from './sse.mjs';

export const name = 'gemini';
const PATH = /\/models\/([^/:]+):(streamGenerateContent|generateContent|countTokens)$/;

export function route(method, path) {
    const found = method === 'POST' ? PATH.exec(path) : null;
    if (!found) return null;
    return { kind: found[2] === 'countTokens' ? 'count' : 'turn', model: found[1],
        streams: found[2] === 'streamGenerateContent' };
}

export function* problems({ headers, query, body }) {
    if (!headers['x-goog-api-key'] && !query.get('key')) yield 'no key';
    if (!Array.isArray(body.contents) || body.contents.length === 0) {
        yield 'no contents';
        return;
    }
    // By their ids: 0.61.0 sends each response twice when it resumes a session.
    const count = (content, part) => new Set((content?.parts ?? [])
        .filter((each) => each[part] !== undefined).map((each) => each[part].id)).size;
    for (const [i, content] of body.contents.entries()) {
        if (!['user', 'model'].includes(content.role)) yield `contents of role ${content.role}`;
        const asked = content.role === 'model' ? count(content, 'functionCall') : 0;
        if (asked > 0 && count(body.contents[i + 1], 'functionResponse') !== asked)
            yield `${asked} calls of functions, not as many responses`;
    }
}

export function read(body, { model, streams }) {
    const parts = (body.contents ?? []).filter(({ role }) => role === 'user')
        .flatMap((content) => content.parts ?? []);
    const said = parts.flatMap(({ text }) => text ?? []);
    const names = (body.tools ?? []).flatMap((tool) => tool.functionDeclarations ?? []);
    return {
        model,
        tools: names.map((each) => each.name),
        said,
        results: parts.filter((part) => part.functionResponse)
            .map((part) => ({ text: JSON.stringify(part.functionResponse.response) })),
        side: names.length === 0,
        directory: /directory: (\S+)/i.exec(said.join('\n'))?.[1],
        streams,
    };
}

const tokens = ({ input, cached, cacheWrite, output }) => ({
    promptTokenCount: input + cached + cacheWrite, cachedContentTokenCount: cached,
    candidatesTokenCount: output, totalTokenCount: input + cached + cacheWrite + output,
});

export function answer(res, turn, { request, usage, ids }) {
    const head = { modelVersion: request.model, responseId: ids.next('resp') };
    const called = (turn.calls ?? []).map(({ name: tool, input }) =>
        ({ functionCall: { name: tool, args: input } }));
    const thought = turn.thinking ? [{ text: turn.thinking, thought: true }] : [];
    const chunk = (parts, end = {}) => ({ ...head,
        candidates: [{ index: 0, content: { role: 'model', parts }, ...end }] });
    const last = { ...chunk(called.length > 0 ? called : [{ text: '' }], { finishReason: 'STOP' }),
        usageMetadata: tokens(usage) };
    if (!request.streams) {
        const text = turn.text ? [{ text: turn.text }] : [];
        res.writeHead(200, { 'content-type': 'application/json', ...turn.headers });
        res.end(JSON.stringify({ ...last, candidates: [{ index: 0, finishReason: 'STOP',
            content: { role: 'model', parts: [...thought, ...text, ...called] } }] }));
        return;
    }
    const stream = new EventStream(res, turn.headers);
    if (thought.length > 0) stream.send(chunk(thought));
    for (const text of piecesOf(turn.text ?? '')) stream.send(chunk([{ text }]));
    stream.send(last);
    stream.end();
}

export const count = () => ({ totalTokens: 100 });

export function failure({ status, type, message }) {
    return { headers: {}, body: { error: { code: status, message, status: type } } };
}
