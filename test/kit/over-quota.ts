/** Recognizes responses that API Gateway sends if its rate limit or the account's Lambda concurrency is used up. */

/**
 * Whether a response is a 429, 500 or 503 of the gateway. The service's own responses with these statuses have the
 * field `error`; the gateway's do not.
 */
export const isOverQuota = (status: number, body: unknown): boolean =>
  [429, 500, 503].includes(status) && !(body instanceof Object && 'error' in body);

/** Returns whether the status is 503, whatever the cause, such as a used-up quota or a service that is too slow. */
export const isUnavailable = (status: number): boolean => status === 503;

/** Sends a request until `isRefused` returns false: at most eight times in 13 seconds, with growing pauses. */
export const retryWhile = async <T>(send: () => Promise<T>, isRefused: (response: T) => boolean): Promise<T> => {
  for (let pause = 100; ; pause *= 2) {
    const response = await send();
    if (pause > 6_400 || !isRefused(response)) return response;
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
};
