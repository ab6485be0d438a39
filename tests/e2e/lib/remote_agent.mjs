// remote_agent.mjs - a remote agent in the test's own process: sessions behind one HTTP address.
//
// What a session does is the test's to say: by the repository it is for, a function that is called
// when it is started.  It gives the answer to the start, and may keep hold of the session to change
// what polls and stops are answered with.
import { openService } from './service.mjs';
import { until } from './wait.mjs';

export const ACCEPTED = { status: 'accepted' };

export class RemoteAgent {
    constructor() {
        this.sessions = new Map();
        this.behaviours = new Map();
        this.calls = [];
        this.swallowed = new Map(); // By repository: starts that never arrive, and how many so far.
    }

    async open() {
        this.service = await openService((call) => this.#serve(call));
        this.url = `${this.service.url}/invoke`;
        return this;
    }

    close() {
        this.service.close();
    }

    // config.agent of a repository; begins(session, agent) is what its sessions do.
    config(repository, begins, more = {}) {
        this.behaviours.set(repository, begins);
        return { compute: 'remote',
            remote: { url: this.url, pollMs: 30, callMs: 15_000, lostPolls: 3, ...more } };
    }

    // The sessions of one repository, in the order in which they were started.
    of(repository) {
        return [...this.sessions.values()].filter(({ task }) => task.repository === repository);
    }

    untilStarted(repository) {
        return until(`a session for ${repository}`, () => this.of(repository)[0]);
    }

    async #serve({ headers, text }) {
        const call = JSON.parse(text);
        if (call.type === 'task' && this.swallowed.has(call.repository)) {
            this.swallowed.set(call.repository, this.swallowed.get(call.repository) + 1);
            return null;
        }
        this.calls.push({ ...call, authorization: headers.authorization });
        const { code = 200, ...body } = await this.#answer(call);
        return { status: code, body };
    }

    async #answer(call) {
        if (call.type === 'task') return this.#begin(call);
        const session = this.sessions.get(call.sessionId);
        if (!session) return { code: 404 };
        if (call.type === 'stop') {
            session.stops++;
            return session.onStop?.() ?? { status: 'stopped' };
        }
        session.polls++;
        return session.answer;
    }

    async #begin(task) {
        const begins = this.behaviours.get(task.repository);
        let session = this.sessions.get(task.sessionId);
        if (!session) {
            session = { id: task.sessionId, task, starts: 0, polls: 0, stops: 0,
                answer: { status: 'running' } };
            this.sessions.set(task.sessionId, session);
        }
        session.starts++;
        const answer = await begins(session, this);
        if (answer && answer.code >= 400) this.sessions.delete(task.sessionId);
        return answer ?? ACCEPTED;
    }
}
