// brokers.mjs - real brokers on loopback, to be stopped and started: NATS, RabbitMQ, and Kafka as
// librdkafka's mock cluster.  Each has
//
//   sink        its members in the configuration of a sink
//   read()      what has arrived: [{id, key, type, contentType, event}], in the broker's order
//   stop()      ends it at once, without a chance to say goodbye
//   start()     starts it again, with what it had
//   close()     ends it for good
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import { join } from 'node:path';
import readline from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { NatsClient } from './nats_client.mjs';
import { makeDirectory } from './server.mjs';
import { until } from './wait.mjs';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const HELPER = join(ROOT, process.env.BUILD ?? 'build', 'brokers');
const RABBITMQ = '/usr/lib/rabbitmq/bin/rabbitmq-server';
const LINES_MAX = 256 * 1024 * 1024;
const run = promisify(execFile);

const children = new Set();
process.on('exit', () => {
    for (const child of children) signalGroup(child, 'SIGKILL');
});

function signalGroup(child, signal) {
    try {
        process.kill(-child.pid, signal);
    } catch {
        // Nothing of it is left.
    }
}

async function freePort() {
    const server = net.createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address();
    await new Promise((resolve) => { server.close(resolve); });
    return port;
}

function accepts(port) {
    return new Promise((resolve) => {
        const socket = net.connect(port, '127.0.0.1');
        socket.on('connect', () => resolve(socket.destroy() && true));
        socket.on('error', () => resolve(false));
    });
}

// A server of a process group of its own, whose output goes to DIR/NAME.log.
class Daemon {
    constructor(name, command, args, env = {}) {
        this.dir = makeDirectory();
        Object.assign(this, { name, command, args, env });
    }

    spawn() {
        const log = openSync(join(this.dir, `${this.name}.log`), 'a');
        this.child = spawn(this.command, this.args, { cwd: this.dir, detached: true,
            stdio: ['ignore', log, log], env: { ...process.env, ...this.env } });
        closeSync(log);
        this.ended = once(this.child, 'exit');
        children.add(this.child);
    }

    said() {
        return readFileSync(join(this.dir, `${this.name}.log`), 'utf8');
    }

    async untilReady(port, look = () => true) {
        await until(`${this.name} on port ${port}`, async (note) => {
            note(this.said().slice(-1000));
            assert.equal(this.child.exitCode, null, `${this.name} ended: ${this.said()}`);
            return await accepts(port) && look();
        });
    }

    // Its children, too: a group without its leader is still there.
    async kill() {
        signalGroup(this.child, 'SIGKILL');
        await this.ended;
        children.delete(this.child);
    }
}

// ---- NATS ----

class Nats {
    // more: lines of its configuration.
    constructor(port, more) {
        this.port = port;
        this.stream = 'drover';
        this.sink = `type: nats, servers: ["nats://127.0.0.1:${port}"]`;
        this.daemon = new Daemon('nats', 'nats-server', ['-c', 'nats.conf'],
            { PATH: `${process.env.PATH}:/usr/sbin` });
        const store = join(this.daemon.dir, 'store');
        writeFileSync(join(this.daemon.dir, 'nats.conf'),
            `listen: "127.0.0.1:${port}"\njetstream { store_dir: "${store}" }\n${more}`);
    }

    async start() {
        this.daemon.spawn();
        await this.daemon.untilReady(this.port,
            () => /Server is ready/.test(this.daemon.said().split('Starting nats-server').at(-1)));
    }

    async stop() {
        await this.daemon.kill();
    }

    close() {
        return this.stop();
    }

    async use(body) {
        const client = await NatsClient.open(this.port);
        try {
            return await body(client);
        } finally {
            client.close();
        }
    }

    read() {
        return this.use(async (client) => (await client.messages(this.stream)).map(
            ({ subject, headers, text }) => ({ id: headers['Nats-Msg-Id'], subject,
                contentType: headers['Content-Type'], event: JSON.parse(text) })));
    }
}

export async function openNats(more = '') {
    const nats = new Nats(await freePort(), more);
    await nats.start();
    return nats;
}

// ---- RabbitMQ ----

class RabbitMq {
    constructor(ports) {
        this.port = ports[0];
        this.sink = `type: rabbitmq, host: 127.0.0.1, port: ${this.port}`;
        this.names = new Daemon('epmd', 'epmd', ['-port', String(ports[1])],
            { ERL_EPMD_ADDRESS: '127.0.0.1' });
        this.namesPort = ports[1];
        this.daemon = new Daemon('rabbitmq', RABBITMQ, []);
        const { dir } = this.daemon;
        // One scheduler that does not spin: the machine has other things to do.
        this.daemon.env = {
            ERL_EPMD_PORT: String(ports[1]),
            HOME: dir,
            RABBITMQ_NODENAME: `t${ports[0]}@localhost`,
            RABBITMQ_DIST_PORT: String(ports[2]),
            RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS:
                '-kernel inet_dist_use_interface {127,0,0,1} +S 1:1 +sbwt none +sbwtdcpu none',
            RABBITMQ_MNESIA_BASE: join(dir, 'mnesia'),
            RABBITMQ_LOG_BASE: join(dir, 'log'),
            RABBITMQ_PID_FILE: join(dir, 'pid'),
            RABBITMQ_CONFIG_FILE: join(dir, 'rabbitmq.conf'),
            RABBITMQ_CONF_ENV_FILE: join(dir, 'none'),
            RABBITMQ_ENABLED_PLUGINS_FILE: join(dir, 'plugins'),
        };
        writeFileSync(join(dir, 'rabbitmq.conf'), `listeners.tcp.1 = 127.0.0.1:${this.port}\n` +
            'disk_free_limit.absolute = 1MB\nvm_memory_high_watermark.absolute = 1GB\n');
    }

    async start() {
        if (!this.names.child) {
            this.names.spawn();
            await this.names.untilReady(this.namesPort);
        }
        const before = existsSync(join(this.daemon.dir, 'rabbitmq.log'))
            ? this.daemon.said().length : 0;
        this.daemon.spawn();
        await this.daemon.untilReady(this.port,
            () => /Starting broker\.\.\. completed/.test(this.daemon.said().slice(before)));
    }

    async stop() {
        await this.daemon.kill();
    }

    async close() {
        await this.stop();
        await this.names.kill();
    }

    // The same server with an exchange and a queue of this name: it takes seconds to start one.
    share(name) {
        return Object.assign(Object.create(this), { exchange: name, queue: name, taken: [],
            sink: `${this.sink}, exchange: ${name}`, close: () => {} });
    }

    // With a length: a queue that refuses more messages than that.
    async bind(queue = this.queue, key = '#', ...length) {
        await run(HELPER, ['amqp-bind', String(this.port), this.exchange, queue, key,
            ...length.map(String)]);
    }

    // Takes them out of the queue.
    async take(queue = this.queue, ...count) {
        return readLines('amqp-read', String(this.port), queue, ...count.map(String));
    }

    async read() {
        this.taken.push(...await this.take());
        return this.taken;
    }
}

export async function openRabbitMq() {
    const rabbit = new RabbitMq([await freePort(), await freePort(), await freePort()]);
    await rabbit.start();
    return rabbit;
}

// ---- Kafka ----

class Kafka {
    constructor() {
        this.topic = 'agent.events.v1';
    }

    async open() {
        this.child = spawn(HELPER, ['kafka-mock'], { detached: true,
            stdio: ['pipe', 'pipe', 'ignore'] });
        children.add(this.child);
        this.answers = readline.createInterface({ input: this.child.stdout })[
            Symbol.asyncIterator]();
        this.brokers = (await this.answers.next()).value;
        this.sink = `type: kafka, brokers: [${this.brokers.split(',').map((each) =>
            JSON.stringify(each)).join(', ')}]`;
        return this;
    }

    async tell(command) {
        this.child.stdin.write(`${command}\n`);
        assert.equal((await this.answers.next()).value, 'done');
    }

    stop() {
        return this.tell('down');
    }

    start() {
        return this.tell('up');
    }

    async close() {
        const ended = once(this.child, 'exit');
        this.child.stdin.end();
        await ended;
        children.delete(this.child);
    }

    read(topic = this.topic) {
        return readLines('kafka-read', this.brokers, topic);
    }
}

export function openKafka() {
    return new Kafka().open();
}

async function readLines(...args) {
    assert.ok(existsSync(HELPER), `${HELPER} is missing: make build/brokers`);
    const { stdout } = await run(HELPER, args, { maxBuffer: LINES_MAX });
    return stdout.split('\n').slice(0, -1).map((line) => {
        const { 'content-type': contentType, ...rest } = JSON.parse(line);
        return { contentType, ...rest };
    });
}
