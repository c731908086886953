/** Stub for @smithy/core/event-streams: no function sends or receives a stream of events. */
export const eventStreamSerdeProvider = () => undefined;

export const resolveEventStreamSerdeConfig = <Config>(config: Config): Config => config;
