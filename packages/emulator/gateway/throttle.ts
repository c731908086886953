import type { RouteSpec, Throttle } from '../served-stack.ts';

/** Returns the time in milliseconds since some fixed moment. */
export type Clock = () => number;

/**
 * Allows `burst` requests at once and `rate` requests a second, with the token bucket algorithm, as API Gateway does.
 * https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-throttling.html
 */
export class TokenBucket {
  readonly #throttle: Throttle;
  readonly #clock: Clock;
  #tokens: number;
  #filledAt: number;

  constructor(throttle: Throttle, clock: Clock) {
    this.#throttle = throttle;
    this.#clock = clock;
    this.#tokens = throttle.burst;
    this.#filledAt = clock();
  }

  /** Takes a token out of the bucket for one request. @returns whether the bucket had a token left */
  take(): boolean {
    const now = this.#clock();
    const { rate, burst } = this.#throttle;
    this.#tokens = Math.min(burst, this.#tokens + ((now - this.#filledAt) * rate) / 1000);
    this.#filledAt = now;
    if (this.#tokens < 1) return false;
    this.#tokens -= 1;
    return true;
  }
}

export const bucketsOf = (routes: RouteSpec[], clock: Clock): Map<RouteSpec, TokenBucket> =>
  new Map(
    routes.flatMap((route) => (route.throttle ? [[route, new TokenBucket(route.throttle, clock)] as const] : [])),
  );
