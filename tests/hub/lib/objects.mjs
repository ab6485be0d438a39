// objects.mjs - bare repositories, written and read as files: a child process for every object and
// every look at a ref was most of what the tests with a hub took.
//
// Objects are loose, as git writes them; a ref is read as git reads it, loose before packed.  Refs
// are moved by git alone, which has the locks.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, readdirSync, renameSync,
    writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { deflateSync } from 'node:zlib';

export const isId = (name) => /^[0-9a-f]{40}$/.test(name);

const OWN = { 'core.repositoryformatversion': '0', 'core.filemode': 'true', 'core.bare': 'true' };

// An empty repository; config: {'section.key': value}
export function makeBare(dir, config = {}) {
    for (const each of ['objects/info', 'objects/pack', 'refs/heads', 'refs/tags', 'hooks'])
        mkdirSync(join(dir, each), { recursive: true });
    writeFileSync(join(dir, 'HEAD'), 'ref: refs/heads/main\n');
    const lines = Object.entries({ ...OWN, ...config }).map(([name, value]) => {
        const [section, key] = name.split('.');
        return `[${section}]\n\t${key} = ${value}\n`;
    });
    writeFileSync(join(dir, 'config'), lines.join(''));
    return dir;
}

// Returns its id.  What is there already has the same bytes.
export function writeObject(dir, type, body) {
    const bytes = Buffer.concat([Buffer.from(`${type} ${body.length}\0`), body]);
    const id = createHash('sha1').update(bytes).digest('hex');
    const file = join(dir, 'objects', id.slice(0, 2), id.slice(2));
    if (existsSync(file)) return id;
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(`${file}.new`, deflateSync(bytes), { mode: 0o444 });
    renameSync(`${file}.new`, file);
    return id;
}

// The entries of a tree for {path: text, bytes, or null for none}.
export function writeBlobs(dir, files) {
    return Object.entries(files).filter(([, text]) => text !== null).map(([path, text]) => ({
        mode: path.endsWith('.sh') ? '100755' : '100644', path,
        id: writeObject(dir, 'blob', Buffer.from(text)),
    }));
}

// entries: [{mode, id, path}], files at any depth.
export function writeTree(dir, entries) {
    const own = [], below = new Map();
    for (const { mode, id, path } of entries) {
        const at = path.indexOf('/');
        const name = path.slice(0, at);
        if (at < 0) own.push({ mode, id, name: path });
        else below.set(name, [...below.get(name) ?? [], { mode, id, path: path.slice(at + 1) }]);
    }
    for (const [name, rest] of below)
        own.push({ mode: '40000', id: writeTree(dir, rest), name });
    const key = ({ mode, name }) => Buffer.from(mode === '40000' ? `${name}/` : name);
    own.sort((a, b) => Buffer.compare(key(a), key(b)));
    return writeObject(dir, 'tree', Buffer.concat(own.flatMap(({ mode, id, name }) =>
        [Buffer.from(`${mode} ${name}\0`), Buffer.from(id, 'hex')])));
}

// who: {name, email}
export function writeCommit(dir, { tree, parents = [], message, who }) {
    const by = `${who.name} <${who.email}> ${Math.floor(Date.now() / 1000)} +0000`;
    return writeObject(dir, 'commit', Buffer.from([`tree ${tree}`,
        ...parents.map((parent) => `parent ${parent}`), `author ${by}`, `committer ${by}`, '',
        message].join('\n')));
}

// The first commit on main of a repository that is new, and that none else has opened.
export function commitFirst(dir, files, who) {
    const tree = writeTree(dir, writeBlobs(dir, files));
    const id = writeCommit(dir, { tree, message: 'first\n', who });
    writeFileSync(join(dir, 'refs/heads/main'), `${id}\n`);
}

// Map of names to ids, by name.
export function readRefs(dir) {
    const found = new Map(packed(dir));
    const walk = (name) => {
        for (const entry of entriesOf(join(dir, name))) {
            const path = `${name}/${entry.name}`;
            if (entry.isDirectory()) walk(path);
            else found.set(path, readRef(dir, path));
        }
    };
    walk('refs');
    for (const [name, id] of found) if (!id) found.delete(name); // A lock, or gone meanwhile.
    return new Map([...found].sort(([a], [b]) => (a < b ? -1 : 1)));
}

// The id that a ref names, or null.
export function readRef(dir, name) {
    // Once more for a ref that is packed between two looks.
    const loose = () => {
        const id = textOf(join(dir, name))?.trim();
        return isId(id) ? id : null;
    };
    return loose() ?? packed(dir).find(([ref]) => ref === name)?.[1] ?? loose() ?? null;
}

function packed(dir) {
    return (textOf(join(dir, 'packed-refs')) ?? '').split('\n')
        .filter((line) => isId(line.slice(0, 40)))
        .map((line) => [line.slice(41), line.slice(0, 40)]);
}

function entriesOf(dir) {
    try {
        return readdirSync(dir, { withFileTypes: true });
    } catch (error) {
        if (['ENOENT', 'ENOTDIR'].includes(error.code)) return []; // Removed while we look.
        throw error;
    }
}

function textOf(file) {
    try {
        return readFileSync(file, 'utf8');
    } catch (error) {
        if (['ENOENT', 'ENOTDIR', 'EISDIR'].includes(error.code)) return undefined;
        throw error;
    }
}
