// http.mjs - a plain HTTP/1.1 client: JSON out and in, over connections that are kept and each have
// one request under way.  As thin as the clients of the peers, which speak protocols of their own.
import net from 'node:net';

const HEAD_END = Buffer.from('\r\n\r\n');

class Connection {
    static open(port) {
        return new Promise((resolve, reject) => {
            const self = new Connection();
            self.socket = net.connect({ port, host: '127.0.0.1', noDelay: true });
            self.socket.on('connect', () => resolve(self));
            self.socket.on('error', (error) => self.fail(error) || reject(error));
            self.socket.on('close', () => self.fail(new Error('the connection is closed')));
            self.socket.on('data', (chunk) => self.take(chunk));
        });
    }

    fail(error) {
        this.reject?.(error);
        return this.reject !== undefined;
    }

    send(request) {
        this.parts = null;
        this.socket.write(request);
        return new Promise((resolve, reject) => Object.assign(this, { resolve, reject }));
    }

    // Answers nearly always come in one piece.
    take(chunk) {
        this.parts = this.parts ? Buffer.concat([this.parts, chunk]) : chunk;
        const at = this.parts.indexOf(HEAD_END);
        if (at < 0) return;
        const head = this.parts.latin1Slice(0, at);
        const length = /\r\ncontent-length: *(\d+)/i.exec(head);
        const start = at + HEAD_END.length;
        if (!length) return this.fail(new Error(`an answer without a length: ${head}`));
        if (this.parts.length < start + Number(length[1])) return;
        this.resolve({ status: Number(head.slice(9, 12)), body: this.parts.utf8Slice(start) });
    }
}

export class Http {
    constructor({ port, token }) {
        this.port = port;
        this.token = token;
        this.idle = [];
        this.all = [];
    }

    // The answer's JSON; anything but 2xx is an error.
    async post(path, body) {
        return this.call('POST', path, body);
    }

    async call(method, path, body) {
        const text = body === undefined ? '' : JSON.stringify(body);
        const request = `${method} ${path} HTTP/1.1\r\nHost: 127.0.0.1:${this.port}\r\n`
            + (this.token ? `Authorization: Bearer ${this.token}\r\n` : '')
            + 'Content-Type: application/json\r\n'
            + `Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`;
        const connection = this.idle.pop() ?? await this.open();
        const answer = await connection.send(request);
        this.idle.push(connection);
        if (answer.status < 200 || answer.status > 299)
            throw new Error(`${method} ${path}: ${answer.status} ${answer.body}`);
        return answer.body === '' ? null : JSON.parse(answer.body);
    }

    async open() {
        const connection = await Connection.open(this.port);
        this.all.push(connection);
        return connection;
    }

    close() {
        for (const connection of this.all) connection.socket.destroy();
    }
}
