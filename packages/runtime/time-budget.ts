/** The time of a request, in milliseconds. Other files compute what they need from it, and need no import to do so. */

/** Lambda ends an operation's function after this time, and the client gets the gateway's 500. */
export const functionTimeout = 5_000;

/** An unfinished request gets a 503 after this time: schemas/decisions.md promises a response within 2.5 s. */
export const responseTime = 2_300;

/** How often a call to the store is tried. */
export const storeAttempts = 3;

/** How long an attempt waits for the response headers: 100 times the usual. 200 ms are left for pauses and all else. */
export const storeAttemptTime = (responseTime - 200) / storeAttempts;
