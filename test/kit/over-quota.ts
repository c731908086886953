/** What a deployment's gateway answers beyond a quota: its own throttle, or the concurrency of the account's functions. */

/** It made the answer itself if there is no `error` in it; a 500 or 503 of the service has one. */
export const isOverQuota = (status: number, body: unknown): boolean =>
  [429, 500, 503].includes(status) && !(body instanceof Object && 'error' in body);

/** The service, or the gateway, could not answer in time. */
export const isUnavailable = (status: number): boolean => status === 503;

/** Sends again, after a pause that grows, what was refused: eight times in 13 seconds, which then have to do. */
export const untilTaken = async <T>(send: () => Promise<T>, isRefused: (answer: T) => boolean): Promise<T> => {
  for (let pause = 100; ; pause *= 2) {
    const answer = await send();
    if (pause > 6_400 || !isRefused(answer)) return answer;
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
};
