// nats_client.mjs - as much of a NATS client as it takes to look into a stream.
//
//   PUB SUBJECT [REPLY] BYTES\r\n...    HPUB SUBJECT [REPLY] HEADER-BYTES ALL-BYTES\r\n...
//   MSG SUBJECT SID [REPLY] BYTES\r\n...
import { once } from 'node:events';
import net from 'node:net';

const BATCH = 64;

export class NatsClient {
    static async open(port) {
        const client = new NatsClient();
        client.socket = net.connect(port, '127.0.0.1');
        client.received = Buffer.alloc(0);
        client.waiting = new Map();
        client.inbox = `_INBOX.${process.pid}${Math.random().toString(36).slice(2)}`;
        client.count = 0;
        client.socket.on('data', (bytes) => client.#take(bytes));
        await once(client.socket, 'connect');
        client.socket.write('CONNECT {"verbose":false,"headers":true,"no_responders":true}\r\n' +
            `SUB ${client.inbox}.* 1\r\n`);
        return client;
    }

    close() {
        this.socket.destroy();
    }

    #take(bytes) {
        this.received = Buffer.concat([this.received, bytes]);
        for (;;) {
            const end = this.received.indexOf('\r\n');
            if (end < 0) return;
            const words = this.received.toString('latin1', 0, end).split(' ');
            const size = /^H?MSG$/.test(words[0]) ? Number(words.at(-1)) + 2 : 0;
            if (this.received.length < end + 2 + size) return;
            const body = this.received.subarray(end + 2, end + size);
            this.received = this.received.subarray(end + 2 + size);
            if (words[0] === 'PING') this.socket.write('PONG\r\n');
            if (size === 0) continue;
            this.waiting.get(words[1])?.(body.toString('utf8'));
            this.waiting.delete(words[1]);
        }
    }

    // The answer to a request, as text.
    request(subject, body = '') {
        const reply = `${this.inbox}.${++this.count}`;
        const answer = new Promise((resolve) => { this.waiting.set(reply, resolve); });
        this.socket.write(`PUB ${subject} ${reply} ${Buffer.byteLength(body)}\r\n${body}\r\n`);
        return answer;
    }

    async api(name, body) {
        const answer = JSON.parse(await this.request(`$JS.API.${name}`,
            body === undefined ? '' : JSON.stringify(body)));
        if (answer.error) throw new Error(`${name}: ${answer.error.description}`);
        return answer;
    }

    stream(name) {
        return this.api(`STREAM.INFO.${name}`);
    }

    // All that a stream holds, in its order.
    async messages(name) {
        const { state } = await this.stream(name);
        const all = [];
        for (let seq = state.first_seq; seq <= state.last_seq; seq += BATCH)
            all.push(...await Promise.all(Array.from(
                { length: Math.min(BATCH, state.last_seq - seq + 1) }, async (_, i) => {
                    const { message } = await this.api(`STREAM.MSG.GET.${name}`, { seq: seq + i });
                    return { subject: message.subject, headers: headersOf(message.hdrs),
                        text: Buffer.from(message.data ?? '', 'base64').toString('utf8') };
                })));
        return all;
    }
}

function headersOf(encoded) {
    const lines = Buffer.from(encoded ?? '', 'base64').toString('latin1').split('\r\n').slice(1);
    return Object.fromEntries(lines.filter((line) => line.includes(':')).map((line) => {
        const colon = line.indexOf(':');
        return [line.slice(0, colon), line.slice(colon + 1).trim()];
    }));
}
