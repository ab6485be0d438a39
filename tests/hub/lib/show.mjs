// show.mjs - people, repositories, issues and pull requests as GitHub's REST API shows them.
//
// Shown is what GitHub's description of the API requires (tests/hub/contract checks it), and what
// clients use beside it.
import { iso, nodeId } from './world.mjs';

export class Show {
    constructor(world, { url, apiUrl }) {
        Object.assign(this, { world, url, api: apiUrl });
    }

    user(user) {
        if (!user) return null;
        const own = `${this.api}/users/${encodeURIComponent(user.login)}`;
        return {
            login: user.login, id: user.id, node_id: nodeId('U', user.id),
            avatar_url: `${this.url}/avatars/${user.id}`, gravatar_id: '', url: own,
            html_url: `${this.url}/${encodeURIComponent(user.login)}`,
            followers_url: `${own}/followers`,
            following_url: `${own}/following{/other_user}`, gists_url: `${own}/gists{/gist_id}`,
            starred_url: `${own}/starred{/owner}{/repo}`,
            subscriptions_url: `${own}/subscriptions`, organizations_url: `${own}/orgs`,
            repos_url: `${own}/repos`, events_url: `${own}/events{/privacy}`,
            received_events_url: `${own}/received_events`, type: user.type, site_admin: false,
        };
    }

    fullUser(user) {
        const now = iso(user.created);
        return { ...this.user(user), name: user.name, company: null, blog: null, location: null,
            email: null, hireable: null, bio: null, public_repos: 0, public_gists: 0,
            followers: 0, following: 0, created_at: now, updated_at: now };
    }

    // As webhooks have it.
    organization(org) {
        const own = `${this.api}/orgs/${org.login}`;
        return { login: org.login, id: org.id, node_id: nodeId('O', org.id), url: own,
            repos_url: `${own}/repos`, events_url: `${own}/events`, hooks_url: `${own}/hooks`,
            issues_url: `${own}/issues`, members_url: `${own}/members{/member}`,
            public_members_url: `${own}/public_members{/member}`,
            avatar_url: `${this.url}/avatars/${org.id}`, description: null };
    }

    team(team, org) {
        const own = `${this.api}/organizations/${org.id}/team/${team.id}`;
        return { id: team.id, node_id: nodeId('T', team.id), url: own, name: team.slug,
            slug: team.slug, description: null, permission: 'push', privacy: 'closed',
            members_url: `${own}/members{/member}`, repositories_url: `${own}/repos`,
            html_url: `${this.url}/orgs/${org.login}/teams/${team.slug}`, type: 'organization',
            parent: null };
    }

    repoUrl(repo) {
        return `${this.api}/repos/${repo.fullName}`;
    }

    web(repo) {
        return `${this.url}/${repo.fullName}`;
    }

    #repoUrls(repo) {
        const own = this.repoUrl(repo);
        return {
            url: own, archive_url: `${own}/{archive_format}{/ref}`,
            assignees_url: `${own}/assignees{/user}`, blobs_url: `${own}/git/blobs{/sha}`,
            branches_url: `${own}/branches{/branch}`,
            collaborators_url: `${own}/collaborators{/collaborator}`,
            comments_url: `${own}/comments{/number}`, commits_url: `${own}/commits{/sha}`,
            compare_url: `${own}/compare/{base}...{head}`,
            contents_url: `${own}/contents/{+path}`, contributors_url: `${own}/contributors`,
            deployments_url: `${own}/deployments`, downloads_url: `${own}/downloads`,
            events_url: `${own}/events`, forks_url: `${own}/forks`,
            git_commits_url: `${own}/git/commits{/sha}`, git_refs_url: `${own}/git/refs{/sha}`,
            git_tags_url: `${own}/git/tags{/sha}`, hooks_url: `${own}/hooks`,
            issue_comment_url: `${own}/issues/comments{/number}`,
            issue_events_url: `${own}/issues/events{/number}`, issues_url: `${own}/issues{/number}`,
            keys_url: `${own}/keys{/key_id}`, labels_url: `${own}/labels{/name}`,
            languages_url: `${own}/languages`, merges_url: `${own}/merges`,
            milestones_url: `${own}/milestones{/number}`,
            notifications_url: `${own}/notifications{?since,all,participating}`,
            pulls_url: `${own}/pulls{/number}`, releases_url: `${own}/releases{/id}`,
            stargazers_url: `${own}/stargazers`, statuses_url: `${own}/statuses/{sha}`,
            subscribers_url: `${own}/subscribers`, subscription_url: `${own}/subscription`,
            tags_url: `${own}/tags`, teams_url: `${own}/teams`, trees_url: `${own}/git/trees{/sha}`,
        };
    }

    // As it stands in other things.
    minimal(repo) {
        return { id: repo.id, node_id: nodeId('R', repo.id), name: repo.name,
            full_name: repo.fullName, private: repo.private, owner: this.user(repo.owner),
            html_url: this.web(repo), description: null, fork: false, ...this.#repoUrls(repo) };
    }

    repository(repo, actor) {
        const level = actor ? repo.permissionOf(actor.user) : null;
        const open = repo.issues.filter((issue) => issue.state === 'open').length;
        const at = (...levels) => levels.includes(level);
        return {
            ...this.minimal(repo),
            git_url: `git://${this.web(repo).replace(/^https?:\/\//, '')}.git`,
            ssh_url: `git@hub.example:${repo.fullName}.git`, clone_url: `${this.web(repo)}.git`,
            svn_url: this.web(repo), mirror_url: null, homepage: null, language: null, forks: 0,
            forks_count: 0, stargazers_count: 0, watchers_count: 0, watchers: 0, size: 1,
            default_branch: repo.defaultBranch, open_issues_count: open, open_issues: open,
            is_template: false, topics: [], has_issues: true, has_projects: true, has_wiki: false,
            has_pages: false, has_downloads: true, has_discussions: false, archived: false,
            disabled: false, visibility: repo.private ? 'private' : 'public', license: null,
            pushed_at: iso(repo.pushed), created_at: iso(repo.created),
            updated_at: iso(repo.updated), allow_forking: true, web_commit_signoff_required: false,
            ...(level && { permissions: { admin: at('admin'), maintain: at('admin'),
                push: at('admin', 'write'), triage: at('admin', 'write'), pull: !at('none') } }),
        };
    }

    fullRepository(repo, actor) {
        return {
            ...this.repository(repo, actor), subscribers_count: 0, network_count: 0,
            allow_squash_merge: repo.mergeMethods.has('squash'),
            allow_merge_commit: repo.mergeMethods.has('merge'),
            allow_rebase_merge: repo.mergeMethods.has('rebase'),
            allow_auto_merge: repo.autoMergeAllowed,
            delete_branch_on_merge: repo.deleteBranchOnMerge,
            ...(repo.owner.type === 'Organization' && { organization: this.user(repo.owner) }),
        };
    }

    // ---- issues ----

    label(repo, label) {
        return { id: label.id, node_id: nodeId('LA', label.id),
            url: `${this.repoUrl(repo)}/labels/${encodeURIComponent(label.name)}`,
            name: label.name, description: label.description ?? '', color: label.color,
            default: false };
    }

    reactions(url) {
        return { url, total_count: 0, '+1': 0, '-1': 0, laugh: 0, hooray: 0, confused: 0, heart: 0,
            rocket: 0, eyes: 0 };
    }

    issue(issue) {
        const { repo } = issue;
        const own = `${this.repoUrl(repo)}/issues/${issue.number}`;
        const page = `${this.web(repo)}/${issue.isPull ? 'pull' : 'issues'}/${issue.number}`;
        return {
            url: own, repository_url: this.repoUrl(repo), labels_url: `${own}/labels{/name}`,
            comments_url: `${own}/comments`, events_url: `${own}/events`,
            timeline_url: `${own}/timeline`, html_url: page, id: issue.id,
            node_id: issue.isPull ? nodeId('PR', issue.pullId) : nodeId('I', issue.id),
            number: issue.number, title: issue.title, user: this.user(issue.user),
            labels: issue.labels.map((label) => this.label(repo, label)), state: issue.state,
            locked: issue.locked, assignee: this.user(issue.assignees[0]),
            assignees: issue.assignees.map((each) => this.user(each)), milestone: null,
            comments: issue.comments.length, created_at: iso(issue.created),
            updated_at: iso(issue.updated), closed_at: iso(issue.closed),
            author_association: issue.association, active_lock_reason: null,
            ...(issue.isPull ? { draft: issue.draft, pull_request: this.#pullLinks(issue) }
                : this.#ofIssuesOnly(issue)),
            body: issue.body, reactions: this.reactions(`${own}/reactions`),
            performed_via_github_app: this.app(issue.app), state_reason: issue.stateReason,
            closed_by: this.user(issue.closedBy),
        };
    }

    #ofIssuesOnly(issue) {
        const open = [...issue.blockedBy].filter(({ state }) => state === 'open').length;
        const { blocking } = issue;
        return {
            sub_issues_summary: { total: 0, completed: 0, percent_completed: 0 },
            issue_dependencies_summary: { blocked_by: open, total_blocked_by: issue.blockedBy.size,
                blocking: blocking.filter(({ state }) => state === 'open').length,
                total_blocking: blocking.length },
        };
    }

    #pullLinks(pull) {
        const page = `${this.web(pull.repo)}/pull/${pull.number}`;
        return { url: this.pullUrl(pull), html_url: page, diff_url: `${page}.diff`,
            patch_url: `${page}.patch`, merged_at: iso(pull.mergedAt) };
    }

    comment(comment) {
        const { issue } = comment;
        const own = `${this.repoUrl(issue.repo)}/issues/comments/${comment.id}`;
        const page = `${this.web(issue.repo)}/${issue.isPull ? 'pull' : 'issues'}/${issue.number}`;
        return {
            url: own, html_url: `${page}#issuecomment-${comment.id}`,
            issue_url: `${this.repoUrl(issue.repo)}/issues/${issue.number}`, id: comment.id,
            node_id: nodeId('IC', comment.id), user: this.user(comment.user),
            created_at: iso(comment.created), updated_at: iso(comment.updated),
            author_association: issue.repo.associationOf(comment.user), body: comment.body,
            reactions: this.reactions(`${own}/reactions`),
            performed_via_github_app: this.app(comment.app),
        };
    }

    issueEvent(event, issue) {
        const own = `${this.repoUrl(issue.repo)}/issues/events/${event.id}`;
        return { id: event.id, node_id: nodeId('E', event.id), url: own,
            actor: this.user(event.actor), event: event.event, commit_id: null, commit_url: null,
            created_at: iso(event.created), performed_via_github_app: null,
            ...(event.assignee && { assignee: this.user(event.assignee),
                assigner: this.user(event.actor) }),
            ...(event.label && { label: { name: event.label.name, color: event.label.color } }) };
    }

    // ---- pull requests ----

    pullUrl(pull) {
        return `${this.repoUrl(pull.repo)}/pulls/${pull.number}`;
    }

    #end(pull, ref, sha) {
        return { label: `${pull.repo.owner.login}:${ref}`, ref, sha,
            user: this.user(pull.repo.owner), repo: this.repository(pull.repo) };
    }

    // As in lists and webhooks.
    pull(pull) {
        const own = this.pullUrl(pull);
        const page = `${this.web(pull.repo)}/pull/${pull.number}`;
        const issue = `${this.repoUrl(pull.repo)}/issues/${pull.number}`;
        const statuses = `${this.repoUrl(pull.repo)}/statuses/${pull.headSha}`;
        const href = (url) => ({ href: url });
        return {
            url: own, id: pull.pullId, node_id: nodeId('PR', pull.pullId), html_url: page,
            diff_url: `${page}.diff`, patch_url: `${page}.patch`, issue_url: issue,
            number: pull.number, state: pull.state, locked: pull.locked, title: pull.title,
            user: this.user(pull.user), body: pull.body, created_at: iso(pull.created),
            updated_at: iso(pull.updated), closed_at: iso(pull.closed),
            merged_at: iso(pull.mergedAt), merge_commit_sha: pull.mergeCommit,
            assignee: this.user(pull.assignees[0]),
            assignees: pull.assignees.map((each) => this.user(each)),
            requested_reviewers: pull.requested.map((each) => this.user(each)),
            requested_teams: pull.requestedTeams.map((each) => this.team(each, pull.repo.owner)),
            labels: pull.labels.map((label) => this.label(pull.repo, label)), milestone: null,
            draft: pull.draft, commits_url: `${own}/commits`,
            review_comments_url: `${own}/comments`,
            review_comment_url: `${this.repoUrl(pull.repo)}/pulls/comments{/number}`,
            comments_url: `${issue}/comments`, statuses_url: statuses,
            head: this.#end(pull, pull.headRef, pull.headSha),
            base: this.#end(pull, pull.baseRef, pull.baseSha),
            _links: { self: href(own), html: href(page), issue: href(issue),
                comments: href(`${issue}/comments`), review_comments: href(`${own}/comments`),
                review_comment: href(`${this.repoUrl(pull.repo)}/pulls/comments{/number}`),
                commits: href(`${own}/commits`), statuses: href(statuses) },
            author_association: pull.association, active_lock_reason: null,
            auto_merge: pull.autoMerge && { enabled_by: this.user(pull.autoMerge.by),
                merge_method: pull.autoMerge.method, commit_title: '', commit_message: '' },
        };
    }

    // As one that was asked for.  told: in a webhook, before anything was worked out.
    fullPull(pull, { told = false } = {}) {
        const settled = pull.state === 'open' && !told && pull.settled();
        const known = settled ? pull.mergeState : null;
        const files = pull.repo.bare.files(pull.baseSha, pull.headSha);
        const sum = (key) => files.reduce((total, file) => total + file[key], 0);
        return {
            ...this.pull(pull), merged: pull.merged,
            mergeable: settled ? known !== 'dirty' : null,
            rebaseable: settled ? known !== 'dirty' : null,
            mergeable_state: settled ? known : 'unknown', merged_by: this.user(pull.mergedBy),
            comments: pull.comments.length,
            review_comments: pull.threads.flatMap(({ comments }) => comments).length,
            maintainer_can_modify: pull.maintainerCanModify,
            commits: pull.repo.bare.count(`${pull.baseSha}..${pull.headSha}`),
            additions: sum('additions'), deletions: sum('deletions'), changed_files: files.length,
        };
    }

    minimalPull(pull) {
        const repo = { id: pull.repo.id, url: this.repoUrl(pull.repo), name: pull.repo.name };
        return { id: pull.pullId, number: pull.number, url: this.pullUrl(pull),
            head: { ref: pull.headRef, sha: pull.headSha, repo },
            base: { ref: pull.baseRef, sha: pull.baseSha, repo } };
    }

    review(review) {
        const { pull } = review;
        const page = `${this.web(pull.repo)}/pull/${pull.number}#pullrequestreview-${review.id}`;
        return {
            id: review.id, node_id: nodeId('PRR', review.id), user: this.user(review.user),
            body: review.body, state: review.state, html_url: page,
            pull_request_url: this.pullUrl(pull), author_association:
                pull.repo.associationOf(review.user),
            _links: { html: { href: page }, pull_request: { href: this.pullUrl(pull) } },
            ...(review.submitted && { submitted_at: iso(review.submitted) }),
            commit_id: review.commit,
        };
    }

    reviewComment(comment) {
        const { pull, thread } = comment;
        const own = `${this.repoUrl(pull.repo)}/pulls/comments/${comment.id}`;
        const page = `${this.web(pull.repo)}/pull/${pull.number}#discussion_r${comment.id}`;
        return {
            url: own, pull_request_review_id: comment.review.id, id: comment.id,
            node_id: nodeId('PRRC', comment.id), diff_hunk: '@@ -1,1 +1,1 @@', path: thread.path,
            commit_id: thread.outdated ? thread.commit : pull.headSha,
            original_commit_id: thread.commit, user: this.user(comment.user), body: comment.body,
            created_at: iso(comment.created), updated_at: iso(comment.updated), html_url: page,
            pull_request_url: this.pullUrl(pull),
            author_association: pull.repo.associationOf(comment.user),
            _links: { self: { href: own }, html: { href: page },
                pull_request: { href: this.pullUrl(pull) } },
            reactions: this.reactions(`${own}/reactions`),
            ...(comment.replyTo && { in_reply_to_id: comment.replyTo.id }),
            ...(thread.line === null ? { subject_type: 'file' } : {
                subject_type: 'line', side: thread.side, start_line: null, start_side: null,
                original_start_line: null, original_line: thread.line, original_position: 1,
                ...(!thread.outdated && { line: thread.line, position: 1 }),
            }),
        };
    }

    // ---- Apps ----

    app(app) {
        if (!app) return null;
        return { id: app.id, slug: app.slug, client_id: app.clientId,
            node_id: nodeId('A', app.id), owner: this.user(app.owner), name: app.slug,
            description: '', external_url: `${this.url}/apps/${app.slug}`,
            html_url: `${this.url}/apps/${app.slug}`, created_at: iso(app.created),
            updated_at: iso(app.created), permissions: app.permissions,
            events: app.events.includes('*') ? ['push', 'pull_request', 'issues'] : app.events };
    }

    installation(installation) {
        const own = `${this.api}/app/installations/${installation.id}`;
        const { app, account } = installation;
        const since = iso(account.created);
        return { id: installation.id, app_id: app.id, account: { ...this.user(account),
            name: account.login, slug: account.login, created_at: since, updated_at: since },
            client_id: app.clientId, app_slug: app.slug, access_tokens_url: `${own}/access_tokens`,
            repository_selection: installation.repos === null ? 'all' : 'selected',
            repositories_url: `${this.api}/installation/repositories`,
            html_url: `${this.url}/settings/installations/${installation.id}`,
            target_id: account.id, target_type: account.type, permissions:
                installation.permissions, events: [], created_at: iso(installation.created),
            updated_at: iso(installation.created), single_file_name: null,
            suspended_by: null, suspended_at: iso(installation.suspended) };
    }
}
