// sse.mjs - server-sent events, as the vendors send them.

// Texts in pieces, as a model makes them.
export const PIECE = 12;
export function piecesOf(text, size = PIECE) {
    const pieces = [];
    for (let at = 0; at < text.length; at += size) pieces.push(text.slice(at, at + size));
    return pieces;
}

export class EventStream {
    constructor(res, headers = {}) {
        this.res = res;
        res.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8',
            'cache-control': 'no-cache', ...headers });
    }

    // With a name where the format has names.
    send(data, name) {
        const text = typeof data === 'string' ? data : JSON.stringify(data);
        this.res.write(`${name ? `event: ${name}\n` : ''}data: ${text}\n\n`);
    }

    end() {
        this.res.end();
    }
}

// Ends the connection without announcing it.
export const cut = (res) => res.socket?.destroy();
