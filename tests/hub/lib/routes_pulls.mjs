// routes_pulls.mjs - pull requests: opening, changing, reviewing, merging.
import { R, list, notFound, required, sorted } from './routes.mjs';
import { Refusal } from './world.mjs';

const seen = ['pull_requests', 'read'], does = ['pull_requests', 'write'];
const P = `${R}/pulls/{pull_number}`;
const VERDICTS = { APPROVE: 'APPROVED', REQUEST_CHANGES: 'CHANGES_REQUESTED',
    COMMENT: 'COMMENTED' };

const pullOf = ({ repo, params }) => notFound(repo.pull(params.pull_number));
const reviewOf = (ctx) => notFound(pullOf(ctx).reviews.find((review) =>
    review.id === Number(ctx.params.review_id)));
const commentsOf = (pull) => pull.threads.flatMap(({ comments }) => comments);
const byId = (items, id) => notFound(items.find((each) => each.id === Number(id)));

function listPulls({ repo, show, query }) {
    const state = query.get('state') ?? 'open';
    const head = query.get('head'), base = query.get('base');
    // Without an owner the filter is ignored: so GitHub does.
    const named = head?.includes(':') ? head : null;
    const found = repo.pulls.filter((pull) => (state === 'all' || pull.state === state)
        && (!named || named === `${repo.owner.login}:${pull.headRef}`)
        && (!base || pull.baseRef === base));
    return list(sorted(found, query, { created: (pull) => pull.number,
        updated: (pull) => pull.updated, popularity: (pull) => pull.comments.length },
    'created'), (pull) => show.pull(pull));
}

function createPull({ repo, show, actor, body }) {
    required(body, 'PullRequest', 'head', 'base');
    const pull = repo.openPull({ ...body, by: actor.user, app: actor.app,
        maintainerCanModify: body.maintainer_can_modify ?? false });
    return { status: 201, body: show.fullPull(pull), headers: { location: show.pullUrl(pull) } };
}

function updatePull(ctx) {
    const { repo, show, actor, body } = ctx;
    const pull = pullOf(ctx);
    pull.edit(body, actor.user);
    if (body.base && body.base !== pull.baseRef) {
        notFound(repo.head(body.base));
        const changes = { base: { ref: { from: pull.baseRef }, sha: { from: pull.baseSha } } };
        Object.assign(pull, { baseRef: body.base, baseSha: repo.head(body.base) });
        pull.changed('edited', actor.user, { changes });
    }
    if (body.state === 'closed') pull.close(actor.user);
    else if (body.state === 'open') pull.reopen(actor.user);
    return { body: show.fullPull(pull) };
}

function mergePull(ctx) {
    const { actor, body } = ctx;
    const pull = pullOf(ctx);
    const sha = pull.merge({ sha: body.sha, method: body.merge_method, title: body.commit_title,
        message: body.commit_message, by: actor.user, app: actor.app });
    return { body: { sha, merged: true, message: 'Pull Request successfully merged' } };
}

function updateBranch(ctx) {
    const { repo, actor, body } = ctx;
    const pull = pullOf(ctx);
    if (body.expected_head_sha && body.expected_head_sha !== pull.headSha)
        throw new Refusal(422, 'expected head sha didn’t match current head ref.');
    const base = repo.head(pull.baseRef);
    const tree = repo.bare.mergeTree(pull.headSha, base);
    if (tree === null) throw new Refusal(422, 'merge conflict between base and head');
    const sha = repo.bare.commitTree(tree, [pull.headSha, base],
        `Merge branch '${pull.baseRef}' into ${pull.headRef}`, { name: actor.user.login,
            email: `${actor.user.login}@example.org` });
    repo.bare.move(`refs/heads/${pull.headRef}`, sha, pull.headSha);
    repo.refsMoved(actor.user);
    return { status: 202, body: { message: 'Updating pull request branch.',
        url: ctx.show.pullUrl(pull) } };
}

// ---- reviews ----

function createReview(ctx) {
    const { actor, body, show } = ctx;
    const state = body.event ? VERDICTS[body.event] : 'PENDING';
    if (!state) throw new Refusal(422, 'Unprocessable Entity', { errors: ['Variable $event of type '
        + 'PullRequestReviewEvent was provided invalid value'] });
    if (state !== 'APPROVED' && state !== 'PENDING' && !body.body && !body.comments?.length)
        throw new Refusal(422, 'Unprocessable Entity', { errors: ['Body can’t be blank'] });
    const review = pullOf(ctx).review({ by: actor.user, app: actor.app, state,
        body: body.body ?? '', comments: body.comments ?? [], commit: body.commit_id });
    return { body: show.review(review) };
}

function submitReview(ctx) {
    const { body, show } = ctx;
    required(body, 'PullRequestReview', 'event');
    const review = reviewOf(ctx);
    if (review.state !== 'PENDING') throw new Refusal(422, 'Unprocessable Entity',
        { errors: ['Could not submit a review that was submitted'] });
    pullOf(ctx).submitReview(review, { state: VERDICTS[body.event], body: body.body });
    return { body: show.review(review) };
}

function createReviewComment(ctx) {
    const { actor, body, show } = ctx;
    const pull = pullOf(ctx);
    required(body, 'PullRequestReviewComment', 'body');
    if (body.in_reply_to) {
        const first = byId(commentsOf(pull), body.in_reply_to);
        return { status: 201, body: show.reviewComment(pull.reply(first.thread,
            { by: actor.user, body: body.body })) };
    }
    required(body, 'PullRequestReviewComment', 'commit_id', 'path');
    const thread = pull.thread({ by: actor.user, body: body.body, path: body.path,
        line: body.line ?? null, side: body.side, commit: body.commit_id });
    return { status: 201, body: show.reviewComment(thread.comments[0]) };
}

function replyTo(ctx) {
    const { actor, body, show } = ctx;
    required(body, 'PullRequestReviewComment', 'body');
    const pull = pullOf(ctx);
    const first = byId(commentsOf(pull), ctx.params.comment_id);
    if (first.replyTo) throw new Refusal(404, 'Not Found'); // Only the first can be replied to.
    return { status: 201, body: show.reviewComment(pull.reply(first.thread,
        { by: actor.user, body: body.body })) };
}

const requested = ({ show, repo }, pull) => ({
    users: pull.requested.map((user) => show.user(user)),
    teams: pull.requestedTeams.map((team) => show.team(team, repo.owner)) });

const reviewCommentOf = ({ repo, params }) => byId(repo.pulls.flatMap(commentsOf),
    params.comment_id);

export const pullRoutes = [
    ['GET', `${R}/pulls`, seen, listPulls],
    ['POST', `${R}/pulls`, does, createPull],
    ['GET', `${R}/pulls/comments`, seen, ({ repo, show, query }) => list(sorted(
        repo.pulls.flatMap(commentsOf), query, { created: (each) => each.id,
            updated: (each) => each.updated }, 'created'), (each) => show.reviewComment(each))],
    ['GET', `${R}/pulls/comments/{comment_id}`, seen, (ctx) => ({
        body: ctx.show.reviewComment(reviewCommentOf(ctx)) })],
    ['PATCH', `${R}/pulls/comments/{comment_id}`, does, (ctx) => {
        const comment = reviewCommentOf(ctx);
        comment.pull.editReviewComment(comment, ctx.body.body, ctx.actor.user);
        return { body: ctx.show.reviewComment(comment) };
    }],
    ['GET', P, seen, (ctx) => ({ body: ctx.show.fullPull(pullOf(ctx)) })],
    ['PATCH', P, does, updatePull],
    ['GET', `${P}/merge`, seen, (ctx) => {
        if (!pullOf(ctx).merged) throw new Refusal(404, 'Not Found');
        return { status: 204 };
    }],
    ['PUT', `${P}/merge`, ['contents', 'write'], mergePull],
    ['PUT', `${P}/update-branch`, does, updateBranch],
    ['GET', `${P}/files`, seen, (ctx) => {
        const { repo, headSha, baseSha } = pullOf(ctx);
        return list(repo.bare.files(baseSha, headSha), (file) => ctx.git.file(repo, headSha, file));
    }],
    ['GET', `${P}/commits`, seen, (ctx) => {
        const { repo, headSha, baseSha } = pullOf(ctx);
        return list(repo.bare.commits(`${baseSha}..${headSha}`), (sha) => ctx.git.commit(repo,
            sha));
    }],
    ['GET', `${P}/requested_reviewers`, seen, (ctx) => ({ body: requested(ctx, pullOf(ctx)) })],
    ['POST', `${P}/requested_reviewers`, does, (ctx) => {
        const pull = pullOf(ctx);
        pull.requestReview(ctx.body.reviewers ?? [], ctx.body.team_reviewers ?? [],
            ctx.actor.user);
        return { status: 201, body: ctx.show.pull(pull) };
    }],
    ['DELETE', `${P}/requested_reviewers`, does, (ctx) => {
        const pull = pullOf(ctx);
        pull.removeRequests(ctx.body.reviewers ?? [], ctx.body.team_reviewers ?? [],
            ctx.actor.user);
        return { body: ctx.show.pull(pull) };
    }],
    ['GET', `${P}/reviews`, seen, (ctx) => list(pullOf(ctx).reviews.filter((review) =>
        review.state !== 'PENDING' || review.user === ctx.actor.user),
    (review) => ctx.show.review(review))],
    ['POST', `${P}/reviews`, does, createReview],
    ['GET', `${P}/reviews/{review_id}`, seen, (ctx) => ({ body: ctx.show.review(reviewOf(ctx)) })],
    ['PUT', `${P}/reviews/{review_id}`, does, (ctx) => {
        reviewOf(ctx).body = ctx.body.body;
        return { body: ctx.show.review(reviewOf(ctx)) };
    }],
    ['POST', `${P}/reviews/{review_id}/events`, does, submitReview],
    ['PUT', `${P}/reviews/{review_id}/dismissals`, does, (ctx) => {
        required(ctx.body, 'PullRequestReview', 'message');
        pullOf(ctx).dismissReview(reviewOf(ctx), ctx.body.message, ctx.actor.user);
        return { body: ctx.show.review(reviewOf(ctx)) };
    }],
    ['GET', `${P}/comments`, seen, (ctx) => list(commentsOf(pullOf(ctx)), (each) =>
        ctx.show.reviewComment(each))],
    ['POST', `${P}/comments`, does, createReviewComment],
    ['POST', `${P}/comments/{comment_id}/replies`, does, replyTo],
];
