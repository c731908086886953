/** The bare handler, plus one log line for each request, like the one of our function. */
import { handler as bare } from './bare.lambda.ts';

export const handler = async (event: { body: string; requestContext: { requestId: string } }) => {
  const startedAt = performance.now();
  const response = await bare(event);
  const store = { milliseconds: Math.round(performance.now() - startedAt), attempts: 1 };
  console.info({ outcome: 'created', store, gatewayRequestId: event.requestContext.requestId });
  return response;
};
