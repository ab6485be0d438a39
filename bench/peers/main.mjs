// main.mjs - drover beside its peers, one after the other, on one machine in one run.
//
//   node main.mjs --drover PROGRAM --dir DIR --packages DIR --json FILE [--quick] [PEER...]
//
// DIR must be on a disk; what is made in it is left to the caller (bench/peers/run).  Exit status 1:
// something was not measured.
import { closeSync, fdatasyncSync, openSync, rmSync, unlinkSync, writeSync,
    } from 'node:fs';
import { cpus, loadavg } from 'node:os';
import { join } from 'node:path';
import { now } from './jobs.mjs';
import { FULL, QUICK, measure } from './measure.mjs';
import { fetchDeb, fetchNpm } from './packages.mjs';
import { report } from './report.mjs';
import { Kit } from './servers.mjs';

const FILES = ['drover.mjs', 'drover_postgres.mjs', 'graphile_worker.mjs', 'pg_boss.mjs',
    'bullmq.mjs', 'beanstalkd.mjs', 'rabbitmq.mjs', 'restate.mjs', 'dbos.mjs'];
const FLUSHES = 100;
const FLUSH_BYTES = 4096;
const BUSY_LOAD = 0.5;

function readArguments(argv) {
    const wish = { scale: FULL, names: [] };
    for (let i = 0; i < argv.length; i++) {
        if (argv[i] === '--quick') wish.scale = QUICK;
        else if (argv[i].startsWith('--')) wish[argv[i].slice(2)] = argv[++i];
        else wish.names.push(argv[i]);
    }
    return wish;
}

// The median of appending a page to a file and flushing it: disks have moods.
function measureFlush(dir) {
    const path = join(dir, 'flush'), page = Buffer.alloc(FLUSH_BYTES, 1), took = [];
    const fd = openSync(path, 'w');
    for (let i = 0; i < FLUSHES; i++) {
        const begin = now();
        writeSync(fd, page);
        fdatasyncSync(fd);
        took.push(1000 * (now() - begin));
    }
    closeSync(fd);
    unlinkSync(path);
    return took.sort((a, b) => a - b)[FLUSHES / 2];
}

// Fills in the result as far as it comes.
async function measurePeer({ file, about, serve }, wish, result) {
    const npm = fetchNpm(wish.packages, about);
    result.versions.push(...npm.versions);
    const kit = new Kit({ dir: join(wish.dir, about.name), npm: npm.dir,
        unpacked: fetchDeb(wish.packages, about), drover: wish.drover });
    try {
        result.flushMs = measureFlush(wish.dir);
        const { where, versions } = await serve(kit);
        result.versions.push(...versions);
        result.figures = await measure(kit, { about, file, where, scale: wish.scale });
    } finally {
        await kit.stop();
        rmSync(kit.dir, { recursive: true, force: true });
    }
}

async function measureOrSay(peer, wish) {
    const begin = now();
    const result = { about: peer.about, versions: [] };
    process.stderr.write(`${peer.about.name} ...`);
    try {
        await measurePeer(peer, wish, result);
        process.stderr.write(` ${(now() - begin).toFixed(0)} s\n`);
    } catch (error) {
        process.stderr.write(` not measured: ${error.message}\n`);
        result.failure = error.message.split('\n')[0];
    }
    return result;
}

function printPlace(scale) {
    const load = loadavg()[0];
    const place = { cpu: cpus()[0].model, cores: cpus().length, node: process.version, load,
        quick: scale === QUICK };
    console.log(`${place.cpu}, ${place.cores} cores, Node ${place.node}; jobs of 400 bytes; `
        + `best of ${scale.repeat}${place.quick ? '; QUICK: too short to compare' : ''}`);
    if (load > BUSY_LOAD)
        console.log(`DISTURBED: others keep the machine busy (load ${load.toFixed(1)}); `
            + 'compare within this run only');
    return place;
}

function choose(peers, names) {
    const unknown = names.find((name) => !peers.some(({ about }) => about.name === name));
    if (unknown) {
        const known = peers.map(({ about }) => about.name).join(', ');
        console.error(`peers: there is no peer ${unknown}: ${known} are`);
        process.exit(2);
    }
    return names.length === 0 ? peers : peers.filter(({ about }) =>
        about.name === 'drover' || names.includes(about.name));
}

const wish = readArguments(process.argv.slice(2));
const peers = [];
for (const file of FILES) peers.push({ file, ...await import(`./${file}`) });
const place = printPlace(wish.scale);
const results = [];
for (const peer of choose(peers, wish.names)) results.push(await measureOrSay(peer, wish));
process.exit(report(results, { json: wish.json, place }) ? 0 : 1);
