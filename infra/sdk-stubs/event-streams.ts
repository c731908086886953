/** Stub for @smithy/core/event-streams: UpdateItem streams no events. */
export {};
