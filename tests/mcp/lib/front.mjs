// front.mjs - a forwarder for programs that cannot send a token: adds it, and nothing else.
import { once } from 'node:events';
import http from 'node:http';

// Host and Origin pass as they came: the server decides about them.
export async function openFront(target, token) {
    const { hostname: host, port } = new URL(target);
    const server = http.createServer((req, res) => {
        const { method, url: path, rawHeaders } = req;
        const headers = [...rawHeaders, 'Authorization', `Bearer ${token}`];
        const onward = http.request({ host, port, method, path, headers }, (answer) => {
            res.writeHead(answer.statusCode, answer.rawHeaders);
            res.flushHeaders();
            answer.pipe(res);
        });
        onward.on('error', () => res.destroy());
        res.on('close', () => onward.destroy());
        req.pipe(onward);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const close = () => {
        server.closeAllConnections();
        server.close();
    };
    return { url: `http://127.0.0.1:${server.address().port}`, close };
}
