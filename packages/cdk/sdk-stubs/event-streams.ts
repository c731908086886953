/** Stub for @smithy/core/event-streams: no function sends or receives an event stream. */
export const eventStreamSerdeProvider = () => undefined;

export const resolveEventStreamSerdeConfig = <Config>(config: Config): Config => config;
