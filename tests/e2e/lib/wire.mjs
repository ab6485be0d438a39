// wire.mjs - a TCP relay on the loopback that can fail as networks do: packets that go nowhere, and
// connections of which one end knows nothing of the other's end.
import net from 'node:net';

const wires = new Set();
process.on('exit', () => {
    for (const wire of wires) wire.close();
});

export class Wire {
    // target: as net.connect has it: {port, host} or {path}.
    constructor(target) {
        this.target = target;
        this.pairs = new Set();
        this.cut = false;
    }

    async open() {
        this.server = net.createServer((near) => this.#join(near));
        await new Promise((resolve) => this.server.listen(0, '127.0.0.1', resolve));
        this.port = this.server.address().port;
        wires.add(this);
        return this;
    }

    #join(near) {
        const far = net.connect(this.target);
        const pair = { near, far, orphaned: false };
        this.pairs.add(pair);
        const end = (other) => () => {
            if (pair.orphaned) return; // The other end does not hear of it, yet.
            other.destroy();
            this.pairs.delete(pair);
        };
        near.on('error', () => {}).on('close', end(far));
        far.on('error', () => {}).on('close', end(near));
        near.on('data', (bytes) => far.write(bytes));
        far.on('data', (bytes) => near.write(bytes));
        if (this.cut) this.#pause(pair);
    }

    #pause({ near, far }) {
        near.pause();
        far.pause();
    }

    // From now on nothing passes, in either direction; nobody is told.
    partition() {
        this.cut = true;
        for (const pair of this.pairs) this.#pause(pair);
    }

    // What was held back arrives now, late.
    heal() {
        this.cut = false;
        for (const { near, far } of this.pairs) {
            near.resume();
            far.resume();
        }
    }

    // One end of every connection is gone, the other one is not told: side 'near' is that of the
    // client.  New connections work.
    halfClose(side) {
        for (const pair of this.pairs) {
            pair.orphaned = true;
            pair.near.removeAllListeners('data').resume();
            pair.far.removeAllListeners('data').resume();
            pair[side].destroy();
        }
    }

    // Now it is.
    reset() {
        for (const pair of this.pairs) {
            if (!pair.orphaned) continue;
            pair.near.destroy();
            pair.far.destroy();
            this.pairs.delete(pair);
        }
    }

    close() {
        wires.delete(this);
        this.server.close();
        for (const { near, far } of this.pairs) {
            near.destroy();
            far.destroy();
        }
        this.pairs.clear();
    }
}

// The URL of a PostgreSQL that listens on a unix socket, through a wire of its own.
export async function wireToDatabase(url) {
    const { searchParams, pathname, username } = new URL(url.replace('@/', '@localhost/'));
    const wire = await new Wire({ path: `${searchParams.get('host')}/.s.PGSQL.5432` }).open();
    wire.url = `postgres://${username}@127.0.0.1:${wire.port}${pathname}?sslmode=disable`;
    return wire;
}

// The address of an HTTP server, through a wire of its own.
export async function wireToServer(url) {
    const { hostname, port } = new URL(url);
    const wire = await new Wire({ host: hostname, port: Number(port) }).open();
    wire.url = `http://127.0.0.1:${wire.port}`;
    return wire;
}
