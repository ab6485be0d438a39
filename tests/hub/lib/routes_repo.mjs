// routes_repo.mjs - repositories, people, branches, refs, commits, contents.
import { ZERO } from './git.mjs';
import { R, list, notFound, required } from './routes.mjs';
import { Refusal } from './world.mjs';

const read = ['contents', 'read'], write = ['contents', 'write'], seen = ['metadata', 'read'];

// A branch, tag, ref or hash; 422 or 404 as GitHub has it.
export function shaOf(repo, name) {
    const sha = repo.bare.rev(`refs/heads/${name}`) ?? repo.bare.rev(name);
    if (sha) return sha;
    throw new Refusal(422, `No commit found for SHA: ${name}`);
}

function refParts(repo, text) {
    const ref = `refs/${text.replace(/^refs\//, '')}`;
    return { ref, sha: repo.bare.refs().get(ref) };
}

function createRef({ repo, git, actor, body }) {
    required(body, 'Reference', 'ref', 'sha');
    if (!/^refs\/[^/]+\/./.test(body.ref)) throw new Refusal(422, 'Reference name must start with '
        + "'refs/' and contain at least two slashes.");
    if (!repo.bare.rev(body.sha)) throw new Refusal(422, 'Object does not exist');
    if (!repo.bare.move(body.ref, body.sha, ZERO))
        throw new Refusal(422, 'Reference already exists');
    repo.refsMoved(actor.user);
    return { status: 201, body: git.ref(repo, body.ref, body.sha),
        headers: { location: git.ref(repo, body.ref, body.sha).url } };
}

function updateRef({ repo, git, actor, params, body }) {
    required(body, 'Reference', 'sha');
    const { ref, sha } = refParts(repo, params.ref);
    if (!sha) throw new Refusal(422, 'Reference does not exist');
    if (!repo.bare.rev(body.sha)) throw new Refusal(422, 'Object does not exist');
    if (!body.force && !repo.bare.isAncestor(sha, body.sha))
        throw new Refusal(422, 'Update is not a fast forward');
    if (repo.protection.get(ref.slice(11))?.push === false)
        throw new Refusal(422, 'Cannot update this protected ref.');
    if (!repo.bare.move(ref, body.sha, sha)) throw new Refusal(409, 'Reference cannot be updated');
    repo.refsMoved(actor.user);
    return { body: git.ref(repo, ref, body.sha) };
}

function deleteRef({ repo, actor, params }) {
    const { ref, sha } = refParts(repo, params.ref);
    if (!sha) throw new Refusal(422, 'Reference does not exist');
    repo.bare.move(ref, null, sha);
    repo.refsMoved(actor.user);
    return { status: 204 };
}

function compare({ repo, show, git, params }) {
    const [from, to] = params.basehead.split('...');
    const [base, head] = [from, to ?? ''].map((name) => notFound(repo.bare.rev(
        `refs/heads/${name}`) ?? repo.bare.rev(name)));
    const fork = notFound(repo.bare.mergeBase(base, head));
    const [ahead, behind] = [repo.bare.count(`${base}..${head}`),
        repo.bare.count(`${head}..${base}`)];
    const page = `${show.web(repo)}/compare/${params.basehead}`;
    return { body: {
        url: `${show.repoUrl(repo)}/compare/${params.basehead}`, html_url: page,
        permalink_url: page, diff_url: `${page}.diff`, patch_url: `${page}.patch`,
        base_commit: git.commit(repo, base), merge_base_commit: git.commit(repo, fork),
        status: ahead && behind ? 'diverged' : ahead ? 'ahead' : behind ? 'behind' : 'identical',
        ahead_by: ahead, behind_by: behind, total_commits: ahead,
        commits: repo.bare.commits(`${base}..${head}`).map((sha) => git.commit(repo, sha)),
        files: repo.bare.files(base, head).map((file) => git.file(repo, head, file)),
    } };
}

function contents({ repo, show, params, query }) {
    const rev = query.get('ref') ?? repo.defaultBranch;
    const text = notFound(repo.file(rev, params.path));
    const sha = repo.bare.run(['rev-parse', `${rev}:${params.path}`]);
    const own = `${show.repoUrl(repo)}/contents/${params.path}?ref=${rev}`;
    const page = `${show.web(repo)}/blob/${rev}/${params.path}`;
    const blob = `${show.repoUrl(repo)}/git/blobs/${sha}`;
    return { body: { type: 'file', encoding: 'base64', size: Buffer.byteLength(text),
        name: params.path.split('/').at(-1), path: params.path,
        content: Buffer.from(text).toString('base64'), sha, url: own, git_url: blob,
        html_url: page, download_url: page, _links: { self: own, git: blob, html: page } } };
}

// Merges a branch into another, as a person would with the button.
function mergeBranches({ repo, git, actor, body }) {
    required(body, 'Merge', 'base', 'head');
    const base = notFound(repo.head(body.base), 'Base does not exist');
    const head = notFound(repo.bare.rev(`refs/heads/${body.head}`) ?? repo.bare.rev(body.head),
        'Head does not exist');
    if (repo.bare.isAncestor(head, base)) return { status: 204 };
    const tree = repo.bare.mergeTree(base, head);
    if (tree === null) throw new Refusal(409, 'Merge conflict');
    const sha = repo.bare.commitTree(tree, [base, head],
        body.commit_message ?? `Merge ${body.head} into ${body.base}`, { name: actor.user.login,
            email: `${actor.user.login}@example.org` });
    repo.bare.move(`refs/heads/${body.base}`, sha, base);
    repo.refsMoved(actor.user);
    return { status: 201, body: git.commit(repo, sha, { files: true }) };
}

function permission({ repo, show, world, params }) {
    const user = notFound(world.users.get(params.username.toLowerCase()));
    const level = repo.permissionOf(user);
    const at = (...levels) => levels.includes(level);
    return { body: { permission: level, role_name: level, user: { ...show.user(user),
        role_name: level, permissions: { admin: at('admin'), maintain: at('admin'),
            push: at('admin', 'write'), triage: at('admin', 'write'), pull: !at('none') } } } };
}

function rules({ repo, params }) {
    const own = repo.protection.get(params.branch);
    const from = { ruleset_source_type: 'Repository', ruleset_source: repo.fullName,
        ruleset_id: 1 };
    const all = [];
    if (own?.checks.length) all.push({ type: 'required_status_checks', ...from, parameters: {
        strict_required_status_checks_policy: own.strict,
        required_status_checks: own.checks.map((context) => ({ context })) } });
    if (own?.approvals) all.push({ type: 'pull_request', ...from, parameters: {
        required_approving_review_count: own.approvals, require_code_owner_review: false,
        dismiss_stale_reviews_on_push: own.dismissStale, require_last_push_approval: false,
        required_review_thread_resolution: false } });
    if (own?.queue) all.push({ type: 'merge_queue', ...from });
    return list(all, (rule) => rule);
}

function teamMembership({ world, params }) {
    const org = notFound(world.users.get(params.org.toLowerCase()));
    const team = notFound(org.teams.get(params.team_slug));
    if (!team.members.has(params.username)) throw new Refusal(404, 'Not Found');
    return { body: { url: `${world.show.api}/organizations/${org.id}/team/${team.id}/memberships/${
        params.username}`, role: 'member', state: 'active' } };
}

export const repoRoutes = [
    ['GET', '/rate_limit', null, ({ world, actor }) => {
        const show = (name) => {
            const { limit, used, reset } = world.bucket(actor, name);
            return { limit, used, remaining: Math.max(limit - used, 0),
                reset: Math.floor(reset / 1000) };
        };
        return { body: { resources: { core: show('core'), graphql: show('graphql'),
            search: show('search') }, rate: show('core') } };
    }],
    ['GET', '/user', 'user', ({ show, actor }) => {
        if (actor.kind !== 'pat') throw new Refusal(403, 'Resource not accessible by integration');
        return { body: show.fullUser(actor.user) };
    }],
    ['GET', '/users/{username}', null, ({ show, world, params }) => ({
        body: show.fullUser(notFound(world.users.get(params.username.toLowerCase()))) })],
    ['GET', '/orgs/{org}/teams/{team_slug}/memberships/{username}', 'user', teamMembership],
    ['GET', '/orgs/{org}/members/{username}', 'user', ({ world, params }) => {
        const org = notFound(world.users.get(params.org.toLowerCase()));
        if (!org.members.has(params.username)) throw new Refusal(404, 'Not Found');
        return { status: 204 };
    }],
    ['GET', R, seen, ({ show, repo, actor }) => ({ body: show.fullRepository(repo, actor) })],
    ['GET', `${R}/collaborators/{username}/permission`, seen, permission],
    ['GET', `${R}/collaborators/{username}`, seen, ({ repo, world, params }) => {
        if (repo.permissionOf(notFound(world.users.get(params.username.toLowerCase()))) === 'none')
            throw new Refusal(404, 'Not Found');
        return { status: 204 };
    }],
    ['GET', `${R}/branches`, read, ({ repo, git }) => list(repo.branches(), (branch) =>
        git.shortBranch(repo, branch))],
    ['GET', `${R}/branches/{branch}/protection/required_status_checks`, ['administration', 'read'],
        ({ repo, show, params }) => {
            const own = repo.protection.get(params.branch);
            if (!own?.checks.length) throw new Refusal(404, 'Branch not protected');
            const url = `${show.repoUrl(repo)}/branches/${params.branch}/protection/`
                + 'required_status_checks';
            return { body: { url, strict: own.strict, contexts: own.checks,
                contexts_url: `${url}/contexts`,
                checks: own.checks.map((context) => ({ context, app_id: null })) } };
        }],
    ['GET', `${R}/branches/{+branch}`, read, ({ repo, git, params }) => ({ body: git.branch(repo,
        params.branch, notFound(repo.head(params.branch), 'Branch not found')) })],
    ['GET', `${R}/rules/branches/{branch}`, seen, rules],
    ['POST', `${R}/git/refs`, write, createRef],
    ['PATCH', `${R}/git/refs/{+ref}`, write, updateRef],
    ['DELETE', `${R}/git/refs/{+ref}`, write, deleteRef],
    ['GET', `${R}/git/ref/{+ref}`, read, ({ repo, git, params }) => {
        const { ref, sha } = refParts(repo, params.ref);
        return { body: git.ref(repo, ref, notFound(sha)) };
    }],
    ['GET', `${R}/git/matching-refs/{+ref}`, read, ({ repo, git, params }) => list(
        [...repo.bare.refs()].filter(([ref]) => ref.startsWith(`refs/${params.ref}`)),
        ([ref, sha]) => git.ref(repo, ref, sha))],
    ['GET', `${R}/git/commits/{commit_sha}`, read, ({ repo, git, params }) => ({
        body: git.gitCommit(repo, notFound(repo.bare.rev(params.commit_sha))) })],
    ['GET', `${R}/commits`, read, ({ repo, git, query }) => {
        const rev = query.get('sha') ?? repo.defaultBranch;
        const all = repo.bare.run(['rev-list', '--max-count=1000', notFound(repo.bare.rev(rev))]);
        return list(all.split('\n'), (sha) => git.commit(repo, sha));
    }],
    ['GET', `${R}/commits/{commit_sha}/pulls`, ['pull_requests', 'read'],
        ({ repo, show, params }) => list(repo.pulls.filter((pull) => pull.mergeCommit
            === params.commit_sha || (repo.bare.isAncestor(params.commit_sha, pull.headSha)
            && !repo.bare.isAncestor(params.commit_sha, pull.baseSha))),
        (pull) => show.pull(pull))],
    ['GET', `${R}/compare/{basehead}`, read, compare],
    ['GET', `${R}/contents/{+path}`, read, contents],
    ['POST', `${R}/merges`, write, mergeBranches],
];

// After the more particular ones: a name may hold slashes.
export const commitRoute = [['GET', `${R}/commits/{+ref}`, read, ({ repo, git, params }) => ({
    body: git.commit(repo, shaOf(repo, params.ref), { files: true }) })]];
