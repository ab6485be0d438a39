// disk.mjs - a disk as a list of operations, and what is left of it when the power goes.
//
// Names (of files in directories) and contents are apart: either may be there without the other.
// What was there before the first operation is on the disk for good.  Two models say what the rest
// may come to after the operation at which the power goes.
//
//   posix   What no sync covers is there or not, each operation for itself and in any order.
//           A write may be there to any sector.  fsync of a file covers its contents and not its
//           name; fsync of a directory covers the names in it; syncfs covers everything.  A rename
//           is whole or not at all, and belongs to the directory that it leads to.
//   ext4    As with data=ordered, delayed allocation and auto_da_alloc.  Names and lengths go to
//           the disk in order, so there is one point up to which all of them are there; every sync
//           that finds something changed moves it.  What makes a file longer is there up to some
//           page, and only before that point: a new file may be empty.  A file that was renamed
//           over another one is whole.  What overwrites is there or not, to any sector.
//
// Of each model there are three states: least (nothing that need not be there), names (all names
// and lengths that may be there, and no contents), and chance.  Another one, all, loses nothing.
import { chmodSync, chownSync, mkdirSync, readFileSync, readdirSync, readlinkSync, lchownSync,
    lstatSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const SECTOR = 512;
const PAGE = 4096;
const ROOT = process.getuid() === 0;
const OLD = Date.now() / 1000 - 3600; // When all files were written.
export const MODELS = ['posix', 'ext4'];
export const VARIANTS = ['least', 'names', 'chance'];

class Node {
    constructor(mode) {
        this.mode = mode;
        this.uid = 0;
        this.gid = 0;
        this.size = 0;
        this.before = Buffer.alloc(0); // What it had before the first operation.
        this.changes = []; // Of its contents.
    }

    // As it is after the last operation.
    content() {
        return contentOf(this.before, this.changes);
    }
}

function contentOf(before, changes) {
    let size = before.length;
    let room = Math.max(size, 0, ...changes.map((op) => (op.bytes ? op.from + op.bytes.length
        : op.size)));
    const bytes = Buffer.alloc(room);
    before.copy(bytes);
    for (const op of changes) {
        if (!op.bytes) {
            bytes.fill(0, op.size, Math.max(size, op.size));
            size = op.size;
            continue;
        }
        op.bytes.copy(bytes, op.from);
        size = Math.max(size, op.from + op.bytes.length);
    }
    return bytes.subarray(0, size);
}

export class Disk {
    constructor() {
        this.ops = [];
        this.at = 0; // Where in the log the operation stands that comes next.
        this.root = this.dir(0o755);
    }

    static read(path, skip) {
        const disk = new Disk();
        fill(disk, disk.root, path, skip);
        return disk;
    }

    dir(mode) {
        const node = new Node(mode);
        node.names = new Map();
        node.namesBefore = new Map();
        return node;
    }
    file(mode) { return new Node(mode); }
    link(target) { return Object.assign(new Node(0o777), { target }); }

    #add(op) {
        op.at = this.at;
        this.ops.push(op);
        return op;
    }

    // sets: [directory, name, node or null] together; over: in the place of another file.
    name(sets, over = false) {
        for (const [dir, name, node] of sets) {
            if (node) dir.names.set(name, node);
            else dir.names.delete(name);
        }
        this.#add({ sets, over });
    }
    write(node, from, bytes) {
        const longer = from + bytes.length > node.size;
        node.size = Math.max(node.size, from + bytes.length);
        node.changes.push(this.#add({ node, from, bytes, longer }));
    }
    truncate(node, size) {
        if (size === node.size) return;
        node.size = size;
        node.changes.push(this.#add({ node, size }));
    }
    // node null: everything.  began: how many operations it covers.  data: fdatasync.
    sync(node, began, data) {
        this.#add({ sync: true, node, began, data });
    }

    // How many operations a place in the log has before it.
    countAt(place) {
        let low = 0;
        for (let high = this.ops.length; low < high;) {
            const middle = (low + high) >> 1;
            if (this.ops[middle].at <= place) low = middle + 1;
            else high = middle;
        }
        return low;
    }

    // The disk after `count` operations and a loss of power: a tree for writeOut.  roll: dice.
    lose(count, model, variant, roll) {
        const loss = new (model === 'posix' ? PosixLoss : Ext4Loss)(this, count, variant, roll);
        const names = new Map(); // directory: its entries
        const entries = (dir) => names.get(dir)
            ?? names.set(dir, new Map(dir.namesBefore)).get(dir);
        for (let i = 0; i < count; i++) {
            const op = this.ops[i];
            if (!op.sets || !loss.keepsName(op, i)) continue;
            for (const [dir, name, node] of op.sets) {
                if (node) entries(dir).set(name, node);
                else entries(dir).delete(name);
            }
        }
        const indexes = new Map();
        for (let i = 0; i < count; i++) {
            const { node, sync } = this.ops[i];
            if (node && !sync) (indexes.get(node) ?? indexes.set(node, []).get(node)).push(i);
        }
        const build = (node) => {
            if (node.names) return { node, below: [...entries(node)].map(([name, each]) =>
                [name, build(each)]) };
            if (node.target !== undefined) return { node };
            const kept = loss.contents(node, indexes.get(node) ?? []);
            return { node, bytes: contentOf(node.before, kept) };
        };
        return build(this.root);
    }
}

function fill(disk, dir, path, skip = new Set()) {
    for (const name of readdirSync(path)) {
        if (skip.has(name)) continue;
        const below = join(path, name);
        const { mode, uid, gid } = lstatSync(below);
        const kind = mode & 0o170000;
        if (kind === 0o140000) continue; // A socket.
        let node;
        if (kind === 0o040000) fill(disk, (node = disk.dir(mode & 0o7777)), below);
        else if (kind === 0o120000) node = disk.link(readlinkSync(below));
        else {
            node = disk.file(mode & 0o7777);
            node.before = readFileSync(below);
            node.size = node.before.length;
        }
        Object.assign(node, { uid, gid });
        dir.names.set(name, node);
        dir.namesBefore.set(name, node);
    }
}

// Writes the tree into a directory that is there.  change: what becomes of each file's bytes.
// All files are old: a machine needs a while to start again.
export function writeOut({ below }, path, change = (bytes) => bytes) {
    for (const [name, each] of below) {
        const where = join(path, name);
        const { node } = each;
        if (node.target !== undefined) symlinkSync(node.target, where);
        else if (each.below) {
            mkdirSync(where);
            writeOut(each, where, change);
            chmodSync(where, node.mode);
        } else {
            writeFileSync(where, change(each.bytes));
            chmodSync(where, node.mode);
            utimesSync(where, OLD, OLD);
        }
        if (ROOT && (node.uid || node.gid))
            (node.target === undefined ? chownSync : lchownSync)(where, node.uid, node.gid);
    }
}

// What the syncs among the first operations cover.
class Loss {
    constructor(disk, count, variant, roll) {
        this.variant = variant;
        this.roll = roll;
        this.likely = [0.1, 0.5, 0.9][Math.floor(roll() * 3)];
        this.all = 0; // Operations that a sync of everything covers.
        this.of = new Map(); // node: the same of a sync of this one
        for (let i = 0; i < count; i++) {
            const { sync, node, began } = disk.ops[i];
            if (sync && node) this.of.set(node, began);
            else if (sync) this.all = began;
        }
    }

    covers(node, index) {
        return this.variant === 'all' || index < Math.max(this.all, this.of.get(node) ?? 0);
    }

    // A write that is there to some sector or page, or null: not at all.
    tear(op, unit) {
        const whole = Math.floor(op.bytes.length / unit);
        const kept = Math.floor(this.roll() * (whole + 1)) * unit;
        return kept > 0 ? { ...op, bytes: op.bytes.subarray(0, kept) } : null;
    }

    happens() {
        return this.variant === 'chance' && this.roll() < this.likely;
    }
}

class PosixLoss extends Loss {
    keepsName({ sets }, index) {
        return this.covers(sets.at(-1)[0], index) || this.variant === 'names' || this.happens();
    }

    contents(node, indexes) {
        const kept = [];
        for (const [i, index] of indexes.entries()) {
            const op = node.changes[i];
            if (this.covers(node, index) || this.happens()) kept.push(op);
            else if (op.bytes && this.happens()) kept.push(this.tear(op, SECTOR));
        }
        return kept.filter(Boolean);
    }
}

class Ext4Loss extends Loss {
    constructor(disk, count, variant, roll) {
        super(disk, count, variant, roll);
        const least = committed(disk, count);
        const [low, high] = { least: [least, least], chance: [least, count] }[variant]
            ?? [count, count];
        this.until = low + Math.floor(roll() * (high - low + 1));
        this.flushed = new Map(); // node: how many operations a rename over another covers
        for (let i = 0; i < this.until; i++) {
            const { sets, over } = disk.ops[i];
            if (over) this.flushed.set(sets.at(-1)[2], i);
        }
    }

    keepsName(op, index) {
        return index < this.until;
    }

    contents(node, indexes) {
        const kept = [];
        let whole = true; // Has nothing been lost yet that made the file longer?
        for (const [i, index] of indexes.entries()) {
            const op = node.changes[i];
            if (this.covers(node, index) || index < (this.flushed.get(node) ?? 0)) kept.push(op);
            else if (!op.bytes) {
                if (index < this.until) kept.push(op);
                whole = true;
            } else if (!op.longer) kept.push(this.happens() ? op : this.#torn(op, SECTOR));
            else if (!whole || index >= this.until) whole = false;
            else if (this.happens()) kept.push(op);
            else {
                whole = false;
                kept.push(this.#torn(op, PAGE));
            }
        }
        return kept.filter(Boolean);
    }

    #torn(op, unit) {
        return this.happens() ? this.tear(op, unit) : null;
    }
}

// How many operations the journal has committed for sure: a sync that finds the file changed
// commits everything that was done before it.
function committed(disk, count) {
    let until = 0;
    const changed = new Map(); // node: {names, data}, the last operation of each kind
    const note = (node, kind, index) => {
        const last = changed.get(node) ?? changed.set(node, { names: -1, data: -1 }).get(node);
        last[kind] = index;
    };
    for (let i = 0; i < count; i++) {
        const op = disk.ops[i];
        if (op.sets) for (const [dir, , node] of op.sets) {
            note(dir, 'names', i);
            if (node) note(node, 'names', i);
        } else if (!op.sync) note(op.node, op.bytes && !op.longer ? 'data' : 'names', i);
        if (!op.sync) continue;
        const { names = -1, data = -1 } = changed.get(op.node) ?? {};
        if (!op.node || names >= until || (!op.data && data >= until))
            until = Math.max(until, op.began);
    }
    return until;
}
