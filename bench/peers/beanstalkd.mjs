// beanstalkd.mjs - beanstalkd with a binlog that is flushed at every write.  A client of our own:
// its protocol is lines of text, answered in order.
import net from 'node:net';
import { join } from 'node:path';
import { mkdirSync } from 'node:fs';
import { freePort } from './servers.mjs';
import { range } from './jobs.mjs';

const RUN_SECONDS = 60; // How long a worker may hold a job.
const PRODUCERS = 16;

export const about = {
    name: 'beanstalkd',
    title: 'beanstalkd',
    lines: ['queue'],
    deb: 'beanstalkd',
    program: 'beanstalkd',
    durability: '-b DIR -f 0: an fsync per put and delete',
    tuning: 'batch by pipelined puts; a consumer sends delete and the next reserve together',
};

export async function serve(kit) {
    const port = await freePort();
    const binlog = join(kit.dir, 'binlog');
    mkdirSync(binlog);
    const server = kit.spawn('beanstalkd', 'beanstalkd',
        ['-l', '127.0.0.1', '-p', String(port), '-b', binlog, '-f', '0']);
    await kit.ready(server, port);
    return { where: { port }, versions: [kit.ask('beanstalkd', ['-v'])] };
}

class Connection {
    constructor(port) {
        this.rest = '';
        this.waiting = []; // Who waits for which answer, in order.
        this.socket = net.connect({ port, host: '127.0.0.1', noDelay: true });
        this.socket.setEncoding('latin1');
        this.socket.on('data', (chunk) => this.take(chunk));
        this.socket.on('error', (error) => this.waiting.forEach((each) => each.reject(error)));
    }

    send(text, want) {
        this.socket.write(text, 'latin1');
        return this.expect(want);
    }

    expect(want) {
        return new Promise((resolve, reject) => this.waiting.push({ want, resolve, reject }));
    }

    take(chunk) {
        this.rest += chunk;
        let at = 0;
        for (let end; (end = this.rest.indexOf('\r\n', at)) >= 0;) {
            const words = this.rest.slice(at, end).split(' ');
            const size = words[0] === 'RESERVED' ? Number(words[2]) : -1;
            if (size >= 0 && this.rest.length < end + 2 + size + 2) break;
            const body = size < 0 ? '' : this.rest.slice(end + 2, end + 2 + size);
            at = size < 0 ? end + 2 : end + 2 + size + 2;
            const { want, resolve, reject } = this.waiting.shift();
            if (words[0] === want) resolve({ words, body });
            else reject(new Error(`beanstalkd answers ${words.join(' ')}, not ${want}`));
        }
        this.rest = this.rest.slice(at);
    }
}

function putText(job) {
    return `put 100 0 ${RUN_SECONDS} ${job.text.length}\r\n${job.text}\r\n`;
}

export function producer({ port }) {
    const all = range(PRODUCERS).map(() => new Connection(port));
    const idle = [...all];
    const on = async (queue, work) => {
        const connection = idle.pop();
        if (connection.tube !== queue) await connection.send(`use ${queue}\r\n`, 'USING');
        connection.tube = queue;
        await work(connection);
        idle.push(connection);
    };
    return {
        send: (queue, job) => on(queue, (connection) =>
            connection.send(putText(job), 'INSERTED')),
        sendMany: (queue, jobs) => on(queue, (connection) => {
            connection.socket.write(jobs.map(putText).join(''), 'latin1');
            return Promise.all(jobs.map(() => connection.expect('INSERTED')));
        }),
        close: () => all.forEach((connection) => connection.socket.destroy()),
    };
}

export function consumer({ port }) {
    let lanesOpen = [], stopping = false;

    async function lane(connection, queue, { took, done }) {
        connection.send(`watch ${queue}\r\n`, 'WATCHING');
        connection.send('ignore default\r\n', 'WATCHING');
        let reserved = await connection.send('reserve\r\n', 'RESERVED');
        while (!stopping) {
            took(JSON.parse(reserved.body));
            const deleted = connection.send(`delete ${reserved.words[1]}\r\nreserve\r\n`,
                'DELETED');
            const next = connection.expect('RESERVED');
            await deleted;
            done(1);
            reserved = await next;
        }
    }

    return {
        start(queue, wish) {
            stopping = false;
            lanesOpen = range(wish.lanes).map(() => new Connection(port));
            for (const each of lanesOpen) lane(each, queue, wish);
        },
        stop() {
            stopping = true;
            for (const each of lanesOpen) each.socket.destroy();
        },
        close() {},
    };
}
