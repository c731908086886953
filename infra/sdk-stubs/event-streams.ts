/** Stub for @smithy/core/event-streams: PutItem streams no events. */
export {};
