// rabbitmq.mjs - RabbitMQ with a quorum queue: its log is flushed before it confirms.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort, until } from './servers.mjs';
import { range } from './jobs.mjs';

export const about = {
    name: 'rabbitmq',
    title: 'RabbitMQ',
    lines: ['queue'],
    packages: ['amqplib'],
    deb: 'rabbitmq-server',
    program: 'rabbitmq-server',
    durability: 'quorum queue of one node, persistent messages, publisher confirms',
    tuning: 'batch by a window of confirms, 16 channels with prefetch, acknowledged together',
};

// ---- the server ----

// Its launcher and Erlang's know only where Debian installs them.
function unpackedEnv(kit) {
    const erlang = join(kit.unpacked, 'usr/lib/erlang');
    const launcher = join(erlang, 'bin/erl');
    const text = readFileSync(launcher, 'utf8');
    writeFileSync(launcher, text.replaceAll(/ROOTDIR=\S*\/erlang$/gm, `ROOTDIR=${erlang}`));
}

function findServer(kit) {
    const lib = join(kit.unpacked ?? '/', 'usr/lib/rabbitmq/lib');
    const found = readdirSync(lib).find((each) => each.startsWith('rabbitmq_server-'));
    return { version: found.split('-')[1], program: join(lib, found, 'sbin/rabbitmq-server') };
}

function writeConfig(kit, port) {
    const file = join(kit.dir, 'rabbitmq.conf');
    writeFileSync(file, `listeners.tcp.1 = 127.0.0.1:${port}\n`);
    return file;
}

// A name service of its own, so that nothing of Erlang's outlives the bench.
async function startNames(kit) {
    const port = await freePort();
    const erlang = join(kit.unpacked ?? '/', 'usr/lib/erlang/bin/epmd');
    const env = { ERL_EPMD_PORT: String(port), ERL_EPMD_ADDRESS: '127.0.0.1' };
    await kit.ready(kit.spawn('epmd', erlang, ['-port', String(port)], env), port);
    return env;
}

export async function serve(kit) {
    if (kit.unpacked) unpackedEnv(kit);
    const { version, program } = findServer(kit);
    const port = await freePort();
    const names = await startNames(kit);
    const server = kit.spawn('rabbitmq', program, [], {
        ...names,
        HOME: kit.dir,
        RABBITMQ_NODENAME: 'bench@localhost',
        RABBITMQ_DIST_PORT: String(await freePort()),
        RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS: '-kernel inet_dist_use_interface {127,0,0,1}',
        RABBITMQ_MNESIA_BASE: join(kit.dir, 'mnesia'),
        RABBITMQ_LOG_BASE: join(kit.dir, 'log'),
        RABBITMQ_PID_FILE: join(kit.dir, 'pid'),
        RABBITMQ_CONFIG_FILE: writeConfig(kit, port),
        RABBITMQ_CONF_ENV_FILE: join(kit.dir, 'none'),
        RABBITMQ_ENABLED_PLUGINS_FILE: join(kit.dir, 'plugins'),
    });
    await kit.ready(server, port);
    await until('RabbitMQ', () => /Starting broker\.\.\. completed/.test(kit.tail('rabbitmq')));
    return { where: { port }, versions: [`RabbitMQ ${version}`] };
}

// ---- clients ----

async function connect(port) {
    const { default: amqp } = await import('amqplib');
    const connection = await amqp.connect(`amqp://guest:guest@127.0.0.1:${port}`,
        { noDelay: true });
    connection.on('error', (error) => { throw error; });
    return connection;
}

export async function producer({ port }) {
    const connection = await connect(port);
    const channel = await connection.createConfirmChannel();
    const send = (queue, job) => new Promise((resolve, reject) => {
        channel.sendToQueue(queue, Buffer.from(job.text, 'latin1'), { persistent: true },
            (error) => error ? reject(error) : resolve());
    });
    return {
        prepare: (queue) => channel.assertQueue(queue,
            { durable: true, arguments: { 'x-queue-type': 'quorum' } }),
        send,
        sendMany: (queue, jobs) => Promise.all(jobs.map((job) => send(queue, job))),
        close: () => connection.close(),
    };
}

// What has arrived by the end of a turn of the event loop is acknowledged in one frame.
async function openLane(connection, queue, { batch, took, done }) {
    const channel = await connection.createChannel();
    let last = null, count = 0;
    const acknowledge = () => {
        channel.ack(last, true);
        done(count);
        count = 0;
    };
    await channel.prefetch(batch);
    await channel.consume(queue, (message) => {
        if (message === null) return;
        took(JSON.parse(message.content.toString('latin1')));
        last = message;
        if (count++ === 0) setImmediate(acknowledge);
    });
    return channel;
}

export async function consumer({ port }) {
    const connection = await connect(port);
    let channels = [];
    return {
        async start(queue, wish) {
            channels = await Promise.all(range(wish.lanes).map(() =>
                openLane(connection, queue, wish)));
            channels.queue = queue;
        },
        // Acknowledgements are not answered: a call behind them is.
        settle: () => Promise.all(channels.map((each) => each.checkQueue(channels.queue))),
        stop: () => Promise.all(channels.map((each) => each.close())),
        close: () => connection.close(),
    };
}
