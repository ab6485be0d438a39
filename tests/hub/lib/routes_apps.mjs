// routes_apps.mjs - Apps and their tokens; webhooks of repositories and of Apps, and deliveries.
import { R, list, notFound, required } from './routes.mjs';
import { Refusal, iso } from './world.mjs';

const seen = ['repository_hooks', 'read'], does = ['repository_hooks', 'write'];
const H = `${R}/hooks/{hook_id}`;

const byId = (items, id) => notFound(items.find((each) => each.id === Number(id)));
const hookOf = ({ repo, params }) => byId(repo.hooks, params.hook_id);
const installed = ({ actor, params }) => byId(actor.app.installations, params.installation_id);

function createToken(ctx) {
    const { world, show, body } = ctx;
    const made = world.installationToken(installed(ctx), body);
    const scoped = body.repositories || body.repository_ids;
    return { status: 201, body: {
        token: made.token, expires_at: iso(made.expires), permissions: made.permissions,
        repository_selection: made.repos === null ? 'all' : 'selected',
        ...(scoped && { repositories: made.repos.map((id) => show.repository(
            world.repos.find((repo) => repo.id === id))) }),
    } };
}

function installationOf({ world, show, actor, params }) {
    const repo = notFound(world.find(`${params.owner_name}/${params.repo_name}`));
    return { body: show.installation(notFound(world.installationOf(actor.app, repo))) };
}

function createHook({ repo, git, body }) {
    required(body, 'Hook', 'config');
    if (!body.config.url) throw new Refusal(422, 'Validation Failed', { errors: [{
        resource: 'Hook', code: 'custom', message: 'url is missing a scheme' }] });
    if (repo.hooks.some((hook) => hook.url === body.config.url))
        throw new Refusal(422, 'Validation Failed', { errors: [{ resource: 'Hook',
            code: 'custom', message: 'Hook already exists on this repository' }] });
    const hook = repo.hook({ url: body.config.url, secret: body.config.secret,
        events: body.events ?? ['push'], active: body.active ?? true,
        contentType: body.config.content_type ?? 'form' });
    return { status: 201, body: git.hook(hook) };
}

function updateHook(ctx) {
    const hook = hookOf(ctx);
    const { body } = ctx;
    Object.assign(hook, { events: body.events ?? hook.events, active: body.active ?? hook.active,
        url: body.config?.url ?? hook.url, secret: body.config?.secret ?? hook.secret,
        updated: ctx.world.now() });
    return { body: ctx.git.hook(hook) };
}

// The newest first; a cursor leads on.
const deliveries = (ctx, hook) => list([...hook.deliveries].reverse(),
    (each) => ctx.git.delivery(each), { cursor: ({ item }) => `v1_${item.id}` });

const deliveryOf = (ctx, hook) => byId(hook.deliveries, ctx.params.delivery_id);
const redeliver = (ctx, hook) => {
    ctx.hub.webhooks.redeliver(deliveryOf(ctx, hook));
    return { status: 202, body: {} };
};
const appHook = ({ actor }) => notFound(actor.app.hook);

export const appRoutes = [
    ['GET', '/app', 'app', ({ show, actor }) => ({ body: { ...show.app(actor.app),
        installations_count: actor.app.installations.length } })],
    ['GET', '/app/installations', 'app', ({ show, actor }) => list(actor.app.installations,
        (each) => show.installation(each))],
    ['GET', '/app/installations/{installation_id}', 'app', (ctx) => ({
        body: ctx.show.installation(installed(ctx)) })],
    ['POST', '/app/installations/{installation_id}/access_tokens', 'app', createToken],
    ['GET', '/repos/{owner_name}/{repo_name}/installation', 'app', installationOf],
    ['GET', '/orgs/{org}/installation', 'app', ({ show, actor, params }) => ({
        body: show.installation(notFound(actor.app.installations.find(({ account }) =>
            account.login.toLowerCase() === params.org.toLowerCase()))) })],
    ['GET', '/installation/repositories', 'user', ({ world, show, actor }) => {
        if (actor.kind !== 'installation') throw new Refusal(403,
            'You must authenticate with an installation access token in order to list '
            + 'repositories for an installation.');
        const all = world.repos.filter((repo) => repo.may(actor, 'metadata', 'read'));
        return list(all, (repo) => show.repository(repo, actor), { wrap: (repositories, total) => ({
            total_count: total, repositories, repository_selection: actor.repos === null
                ? 'all' : 'selected' }) });
    }],
    ['DELETE', '/installation/token', 'user', ({ world, actor }) => {
        world.revoke(actor.token);
        return { status: 204 };
    }],
    ['GET', '/app/hook/config', 'app', (ctx) => ({ body: ctx.git.hookConfig(appHook(ctx)) })],
    ['GET', '/app/hook/deliveries', 'app', (ctx) => deliveries(ctx, appHook(ctx))],
    ['GET', '/app/hook/deliveries/{delivery_id}', 'app', (ctx) => ({
        body: ctx.git.fullDelivery(deliveryOf(ctx, appHook(ctx))) })],
    ['POST', '/app/hook/deliveries/{delivery_id}/attempts', 'app', (ctx) => redeliver(ctx,
        appHook(ctx))],
    ['GET', `${R}/hooks`, seen, ({ repo, git }) => list(repo.hooks, (hook) => git.hook(hook))],
    ['POST', `${R}/hooks`, does, createHook],
    ['GET', H, seen, (ctx) => ({ body: ctx.git.hook(hookOf(ctx)) })],
    ['PATCH', H, does, updateHook],
    ['DELETE', H, does, (ctx) => {
        ctx.repo.hooks.splice(ctx.repo.hooks.indexOf(hookOf(ctx)), 1);
        return { status: 204 };
    }],
    ['POST', `${H}/pings`, does, (ctx) => {
        ctx.world.ping(hookOf(ctx), ctx.repo);
        return { status: 204 };
    }],
    ['GET', `${H}/deliveries`, seen, (ctx) => deliveries(ctx, hookOf(ctx))],
    ['GET', `${H}/deliveries/{delivery_id}`, seen, (ctx) => ({
        body: ctx.git.fullDelivery(deliveryOf(ctx, hookOf(ctx))) })],
    ['POST', `${H}/deliveries/{delivery_id}/attempts`, does, (ctx) => redeliver(ctx,
        hookOf(ctx))],
];
