/** Recognizes API Gateway's own responses after its throttle or the account's Lambda concurrency is used up. */

/** Returns whether the gateway made the response: unlike a 500 or 503 of the service, it has no `error`. */
export const isOverQuota = (status: number, body: unknown): boolean =>
  [429, 500, 503].includes(status) && !(body instanceof Object && 'error' in body);

/** Returns whether the service, or the gateway, could not respond in time. */
export const isUnavailable = (status: number): boolean => status === 503;

/** Sends up to eight times in 13 seconds, with growing pauses, until the response is not a refusal. */
export const retryWhile = async <T>(send: () => Promise<T>, isRefused: (response: T) => boolean): Promise<T> => {
  for (let pause = 100; ; pause *= 2) {
    const response = await send();
    if (pause > 6_400 || !isRefused(response)) return response;
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
};
