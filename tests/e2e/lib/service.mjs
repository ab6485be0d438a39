// service.mjs - something outside: an HTTP server of the test's own, on a port of its own.
import { once } from 'node:events';
import http from 'node:http';
import { PATIENCE_MS } from './wait.mjs';

// answer({method, url, headers, text}) gives {status, headers, body}, now or later; null: no answer
// at all.  A body that is no text goes out as JSON.
export async function openService(answer) {
    // Closes no idle connection: a request that is sent once would fail with it.
    const server = http.createServer({ keepAliveTimeout: PATIENCE_MS }, async (req, res) => {
        const parts = [];
        for await (const part of req) parts.push(part);
        const { method, url, headers } = req;
        const text = Buffer.concat(parts).toString('utf8');
        const given = await answer({ method, url, headers, text });
        if (given === null || res.destroyed) return;
        const { status = 200, headers: more = {}, body } = given;
        const type = body === undefined ? {} : { 'content-type': 'application/json' };
        res.writeHead(status, { ...type, ...more })
            .end(body === undefined || typeof body === 'string' ? body : JSON.stringify(body));
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const host = `127.0.0.1:${server.address().port}`;
    const close = () => {
        server.closeAllConnections();
        server.close();
    };
    return { host, url: `http://${host}`, close };
}
