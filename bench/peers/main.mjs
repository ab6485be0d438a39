// main.mjs - drover beside its peers, one after the other, on one machine in one run.
//
//   node main.mjs --drover PROGRAM --dir DIR --packages DIR --json FILE [--quick] [PEER...]
//
// DIR must be on a disk; what is made in it is left to the caller (bench/peers/run).  Exit status
// 1: something was not measured.
import { closeSync, fdatasyncSync, openSync, rmSync, statfsSync, unlinkSync, writeSync,
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
const TMPFS = 0x01021994;

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

// ---- rounds ----

// One round of one peer, from nothing.
async function measureRound({ file, about, serve }, wish, result) {
    const npm = fetchNpm(wish.packages, about);
    result.versions = npm.versions;
    const kit = new Kit({ dir: join(wish.dir, about.name), npm: npm.dir,
        unpacked: fetchDeb(wish.packages, about), drover: wish.drover });
    try {
        const flushMs = measureFlush(wish.dir);
        const { where, versions } = await serve(kit);
        result.versions = [...npm.versions, ...versions];
        const begin = now();
        const figures = await measure(kit,
            { about, file, where, scale: wish.scale, idle: result.rounds === 0 });
        result.spentMs += 1000 * (now() - begin);
        keep(result, { ...figures, flushMs });
    } finally {
        await kit.stop();
        rmSync(kit.dir, { recursive: true, force: true });
    }
}

function keep(result, figures) {
    result.rounds++;
    for (const [key, value] of Object.entries(figures)) (result.figures[key] ??= []).push(value);
}

async function measureOrSay(peer, wish, result) {
    const begin = now();
    process.stderr.write(`${peer.about.name} ...`);
    try {
        await measureRound(peer, wish, result);
        process.stderr.write(` ${(now() - begin).toFixed(0)} s\n`);
    } catch (error) {
        process.stderr.write(` failed: ${error.message}\n`);
        result.failure = error.message.split('\n')[0];
    }
}

// Round by round, so that what disturbs the machine for a while disturbs all.
async function measureAll(peers, wish) {
    const results = peers.map(({ about }) =>
        ({ about, versions: [], rounds: 0, spentMs: 0, figures: {}, failure: null }));
    for (let round = 0; round < wish.scale.rounds; round++) {
        for (const [i, peer] of peers.entries()) {
            const result = results[i];
            if (!result.failure && result.spentMs < wish.scale.spentMs)
                await measureOrSay(peer, wish, result);
        }
    }
    return results;
}

// ---- the command line ----

function printPlace(scale) {
    const load = loadavg()[0];
    const place = { cpu: cpus()[0].model, cores: cpus().length, node: process.version, load,
        quick: scale === QUICK };
    console.log(`${place.cpu}, ${place.cores} cores, Node ${place.node}; jobs of 400 bytes; `
        + `best of ${scale.rounds}${place.quick ? '; QUICK: too short to compare' : ''}`);
    if (load > BUSY_LOAD)
        console.log(`DISTURBED: others keep the machine busy (load ${load.toFixed(1)}); `
            + 'compare within this run only');
    return place;
}

function die(why) {
    console.error(`peers: ${why}`);
    process.exit(2);
}

function choose(peers, names) {
    const unknown = names.find((name) => !peers.some(({ about }) => about.name === name));
    const known = peers.map(({ about }) => about.name).join(', ');
    if (unknown) die(`there is no peer ${unknown}: ${known} are`);
    return names.length === 0 ? peers : peers.filter(({ about }) =>
        about.name === 'drover' || names.includes(about.name));
}

const wish = readArguments(process.argv.slice(2));
if (statfsSync(wish.dir).type === TMPFS)
    die(`${wish.dir} is in memory: flushes cost nothing there; set BENCH_DIR to a disk`);
const peers = [];
for (const file of FILES) peers.push({ file, ...await import(`./${file}`) });
const place = printPlace(wish.scale);
const results = await measureAll(choose(peers, wish.names), wish);
process.exit(report(results, { json: wish.json, place }) ? 0 : 1);
