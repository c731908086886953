/** Node.js's inspector, to which debuggers of the functions attach: https://nodejs.org/api/inspector.html */
import inspector, { type NodeWorker, Session } from 'node:inspector/promises';

/**
 * Lets debuggers attach to this process on 127.0.0.1; port 0 means any free port.
 * @returns the address, written as HOST:PORT/UUID. Whoever knows it can run any code as this user.
 * @throws Error with a message for the user if the port cannot be used
 */
export const openInspector = (port: number): string => {
  // Do not open the inspector a second time: a debugger that starts this process, such as VS Code's, has already opened
  // it.
  if (inspector.url() === undefined) inspector.open(port, '127.0.0.1');
  const url = inspector.url();
  if (url !== undefined) return url.replace('ws://', '');
  // The inspector did not open. Node.js prints the reason, such as "address already in use", but throws nothing.
  throw new Error(`The debugger's port ${port} cannot be used. Choose another one; 0 means any free port.`);
};

/** Detaches the debuggers, and resumes the threads that they have paused, because a paused thread cannot be stopped. */
export const closeInspector = async (): Promise<void> => {
  // Close the inspector first; otherwise, the process would not exit until the user detaches the debugger.
  inspector.close();
  const session = new Session();
  session.connect();
  const resumed: Promise<void>[] = [];
  session.on('NodeWorker.attachedToWorker', ({ params }) => resumed.push(resume(session, params.sessionId)));
  await session.post('NodeWorker.enable', { waitForDebuggerOnStart: false });
  await Promise.all(resumed);
};

/** Resumes a worker thread if a debugger has paused it, and again whenever it stops at another breakpoint. */
const resume = async (session: Session, sessionId: NodeWorker.SessionID): Promise<void> => {
  const send = (id: number, method: string) =>
    session.post('NodeWorker.sendMessageToWorker', { sessionId, message: JSON.stringify({ id, method }) });
  const answered = new Promise<void>((resolve) => {
    session.on('NodeWorker.receivedMessageFromWorker', ({ params }) => {
      if (params.sessionId !== sessionId) return;
      const { id, method } = JSON.parse(params.message) as { id?: number; method?: string };
      if (method === 'Debugger.paused') void send(3, 'Debugger.resume');
      if (id === 2) resolve();
    });
  });
  await send(1, 'Debugger.enable');
  await send(2, 'Debugger.resume');
  await answered;
};
