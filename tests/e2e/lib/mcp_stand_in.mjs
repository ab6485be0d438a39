// mcp_stand_in.mjs - a server of MCP over HTTP that answers as a test wants it: late, in pieces, in
// a stream, wrongly or not at all.
import { once } from 'node:events';
import http from 'node:http';
import { PATIENCE_MS } from './wait.mjs';

// answer({message, headers, method}, reply) answers a request by one of reply's functions; it may
// keep reply for later.  requests: all that came; each has `closed` once its client has gone.
export async function openStandIn(answer, port = 0) {
    const requests = [];
    // Like a drover it keeps idle connections: `drover mcp` sends every request once, and one that
    // meets the closing of its connection would fail.
    const server = http.createServer({ keepAliveTimeout: PATIENCE_MS }, async (req, res) => {
        const parts = [];
        for await (const part of req) parts.push(part);
        const text = Buffer.concat(parts).toString('utf8');
        const message = text ? JSON.parse(text) : undefined;
        const request = { method: req.method, url: req.url, headers: req.headers, message };
        requests.push(request);
        res.on('close', () => (request.closed = !res.writableFinished));
        answer(request, replyTo(message, res));
    });
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    const close = async () => {
        server.closeAllConnections();
        server.close();
        await once(server, 'close');
    };
    const { port: own } = server.address();
    return { url: `http://127.0.0.1:${own}`, port: own, requests, close };
}

const whole = (message, more) => ({ jsonrpc: '2.0', id: message?.id, ...more });

function replyTo(message, res) {
    const raw = (status, headers, body) => res.writeHead(status, headers).end(body);
    return {
        raw,
        json: (more, status = 200, headers = {}) => raw(status,
            { 'content-type': 'application/json', ...headers },
            JSON.stringify(whole(message, more), null, 2)),
        accepted: () => raw(202, {}),
        // A stream: write() sends an event, or bytes as they are.
        stream() {
            res.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
            res.flushHeaders();
            const write = (each) => res.write(Buffer.isBuffer(each) ? each
                : `event: message\ndata: ${JSON.stringify({ jsonrpc: '2.0', ...each })}\n\n`);
            return { write, respond: (more) => write(whole(message, more)), end: () => res.end(),
                break: () => res.destroy() };
        },
        break: () => res.destroy(),
    };
}
