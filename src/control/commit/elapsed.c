#include "control/commit/elapsed.h"
#include "base/clock.h"

int64_t elapsed_ms(const struct context *ctx, int64_t since_us)
{
    return ctx->now_us > since_us ? (ctx->now_us - since_us) / US_PER_MS : 0;
}
