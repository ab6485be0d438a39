// credits.mjs - how the consumer's process tells the producer's that jobs are done: one byte for
// each, over a socket of their own, past the server that is measured.
import net from 'node:net';

// The producer's end: take() waits until one more job may be under way.
export class Credits {
    static async listen(path) {
        const credits = new Credits();
        credits.server = net.createServer((socket) => {
            credits.socket = socket;
            socket.on('data', (chunk) => credits.give(chunk.length));
        });
        await new Promise((resolve, reject) => {
            credits.server.on('error', reject).listen(path, resolve);
        });
        return credits;
    }

    constructor() {
        this.free = 0;
        this.waiting = [];
    }

    reset(count) {
        this.free = count;
    }

    give(count) {
        this.free += count;
        while (this.free > 0 && this.waiting.length > 0) {
            this.free--;
            this.waiting.shift()();
        }
    }

    take() {
        if (this.free > 0) {
            this.free--;
            return undefined;
        }
        return new Promise((resolve) => this.waiting.push(resolve));
    }

    close() {
        this.socket?.destroy();
        this.server.close();
    }
}

// The consumer's end.
export function openPurse(path) {
    return new Promise((resolve, reject) => {
        const socket = net.connect(path);
        socket.on('error', reject);
        socket.on('connect', () => resolve({
            pay: (count) => socket.write(Buffer.alloc(count, 1)),
            close: () => socket.destroy(),
        }));
    });
}
