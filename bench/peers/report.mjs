// report.mjs - what came out: the figures, how many times ahead drover is, and what each peer was.
import { writeFileSync } from 'node:fs';
import { LINES } from './measure.mjs';

const WHAT_WIDTH = 40;
const CELL_WIDTH = 12;

// Three digits that mean something; thousands stand apart.
function number(value) {
    if (value === undefined) return '';
    if (value >= 10000) return Math.round(value).toLocaleString('en-US');
    if (value >= 100) return value.toFixed(0);
    return value.toFixed(value >= 10 ? 1 : 2);
}

function bestOf(line, figures) {
    const values = figures[line.key] ?? figures[line.beside];
    if (!values) return undefined;
    return line.better === 'more' ? Math.max(...values) : Math.min(...values);
}

// How many times ahead the first is of the second.  A cost too small to see counts as the least
// that can be seen.
const LEAST = 0.01;
function timesAhead(line, mine, other) {
    return line.better === 'more' ? mine / other
        : Math.max(other, LEAST) / Math.max(mine, LEAST);
}

function row(first, cells) {
    console.log(`  ${first.padEnd(WHAT_WIDTH)}`
        + cells.map((cell) => cell.padStart(CELL_WIDTH)).join(''));
}

function printFigures(results) {
    console.log(`\n${'FIGURES, best of the rounds'.padEnd(WHAT_WIDTH + 2)}`
        + results.map(({ about }) => about.title.padStart(CELL_WIDTH)).join(''));
    for (const line of LINES)
        row(`${line.what}, ${line.unit}`,
            results.map(({ figures }) => number(bestOf(line, figures))));
}

function printRatios(mine, others) {
    console.log(`\n${`TIMES AHEAD: ${mine.about.title}`.padEnd(WHAT_WIDTH + 2)}`
        + others.map(({ about }) => about.title.padStart(CELL_WIDTH)).join(''));
    for (const line of LINES) {
        const value = bestOf(line, mine.figures);
        row(`${line.what}${line.aim ? ` (aim: ${line.aim})` : ''}`, others.map(({ figures }) => {
            const other = bestOf(line, figures);
            if (value === undefined || other === undefined) return '';
            return `${number(timesAhead(line, value, other))} x`;
        }));
    }
}

// Of drover on its default store against every peer, on every line that both have.
function judge(mine, others) {
    const aims = [];
    for (const line of LINES) {
        for (const { about, figures } of others) {
            const value = bestOf(line, mine.figures), other = bestOf(line, figures);
            if (value === undefined || other === undefined) continue;
            const times = timesAhead(line, value, other), aim = line.aim ?? 1;
            aims.push({ line: line.what, peer: about.title, times, aim, reached: times >= aim });
        }
    }
    return aims;
}

function printAims(aims) {
    const missed = aims.filter((aim) => !aim.reached);
    console.log(`\n${aims.length - missed.length} of ${aims.length} aims reached`);
    for (const { line, peer, times, aim } of missed)
        console.log(`  missed: ${line}: ${number(times)} x ${peer}, aim ${aim} x`);
}

function printPeers(results) {
    console.log('\nPEERS');
    for (const { about, versions, rounds, figures, failure } of results) {
        console.log(`  ${about.name}: ${versions.join(', ') || 'version unknown'}`);
        console.log(`    durable: ${about.durability}`);
        if (about.tuning) console.log(`    tuned:   ${about.tuning}`);
        if (rounds > 0)
            console.log(`    best of ${rounds}; a flush of 4 KB took `
                + `${figures.flushMs.map(number).join(', ')} ms before each`);
        if (failure) console.log(`    NOT MEASURED: ${failure}`);
    }
}

// Peers that met different disks cannot be compared.
const MOODS_MAX = 3;
function printMoods(results) {
    const all = results.flatMap(({ figures }) => figures.flushMs ?? []);
    const least = Math.min(...all), most = Math.max(...all);
    if (most > MOODS_MAX * least)
        console.log(`DISTURBED: a flush took between ${number(least)} and ${number(most)} ms: `
            + 'measure again on a quiet machine');
}

// results: [{about, versions, rounds, figures: {key: [value of each round]}, failure}]
export function report(results, { json, place }) {
    const [first, second] = results.filter(({ about }) => about.name.startsWith('drover'));
    const peers = results.filter(({ about }) => !about.name.startsWith('drover'));
    printPeers(results);
    printFigures(results);
    if (first) printRatios(first, peers);
    if (second) printRatios(second, peers);
    const aims = first ? judge(first, peers) : [];
    if (aims.length > 0) printAims(aims);
    printMoods(results);
    const missing = results.filter(({ failure }) => failure);
    for (const { about, failure } of missing)
        console.log(`not measured: ${about.name}: ${failure}`);
    writeFileSync(json, `${JSON.stringify({ place, peers: results, aims }, null, 2)}\n`);
    console.log(`figures in ${json}`);
    return missing.length === 0;
}
