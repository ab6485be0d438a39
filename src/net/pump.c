#include "net/pump.h"
#include <errno.h>
#include <sys/socket.h>

/* false: this end has failed. */
static bool flow_read(struct pump_flow *flow, int from)
{
    ssize_t got = recv(from, flow->bytes, sizeof flow->bytes, 0);
    if (got < 0)
        return errno == EAGAIN || errno == EINTR;
    flow->at = 0;
    flow->len = (size_t)got;
    flow->ended = got == 0;
    if (got > 0 && flow->sieve != NULL)
        return flow->sieve(flow->sieve_ctx, (struct str){flow->bytes, (size_t)got}, &flow->len);
    return true;
}

static bool flow_write(struct pump_flow *flow, int to)
{
    if (flow->len > 0) {
        ssize_t put = send(to, flow->bytes + flow->at, flow->len, MSG_NOSIGNAL);
        if (put < 0)
            return errno == EAGAIN || errno == EINTR;
        flow->at += (size_t)put;
        flow->len -= (size_t)put;
    }
    if (flow->len == 0 && flow->ended && !flow->passed_on) {
        flow->passed_on = true;
        return shutdown(to, SHUT_WR) == 0;
    }
    return true;
}

void pump_want(const struct pump *pump, struct pollfd looks[2])
{
    for (int end = 0; end < 2; end++) {
        const struct pump_flow *from = &pump->flows[end], *to = &pump->flows[1 - end];
        short events = 0;
        if (from->len == 0 && !from->ended)
            events |= POLLIN;
        if (to->len > 0)
            events |= POLLOUT;
        /* poll would report the hangup of an end without wanted events again and again. */
        looks[end] = (struct pollfd){.fd = events ? pump->ends[end] : -1, .events = events};
    }
}

bool pump_serve(struct pump *pump, const struct pollfd seen[2])
{
    for (int end = 0; end < 2; end++) {
        struct pump_flow *flow = &pump->flows[end];
        bool readable = (seen[end].revents & (POLLIN | POLLHUP | POLLERR)) != 0;
        if (readable && flow->len == 0 && !flow->ended && !flow_read(flow, pump->ends[end]))
            return false;
        if (!flow_write(flow, pump->ends[1 - end]))
            return false;
    }
    bool broken = (seen[0].revents | seen[1].revents) & POLLERR;
    return !broken && !(pump->flows[0].passed_on && pump->flows[1].passed_on);
}
