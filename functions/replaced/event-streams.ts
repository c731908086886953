/** For @smithy/core/event-streams: PutItem has none. */
export {};
