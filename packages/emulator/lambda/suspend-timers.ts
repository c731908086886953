/**
 * A running thread notes the time every `interval` milliseconds. If the last note is more than `pause` milliseconds
 * old, a debugger has paused the thread.
 */
const limits = { interval: 50, pause: 100 };

/**
 * Measures how long a debugger has paused this thread. Code that blocks the thread for more than `limits.pause`
 * milliseconds counts as a pause, too.
 */
class Pauses {
  readonly #now = performance.now.bind(performance);
  #lastNote = this.#now();
  #total = 0;

  constructor() {
    // Call `unref`, so that this timer does not keep the thread alive: only the function's own timers may do that.
    setInterval(() => this.total(), limits.interval).unref();
  }

  /**
   * The total length of all pauses so far, in milliseconds: those of a debugger, and those in which code blocked the
   * thread.
   */
  total(): number {
    const now = this.#now();
    const silence = now - this.#lastNote;
    this.#lastNote = now;
    if (silence > limits.pause) this.#total += silence;
    return this.#total;
  }

  /** What `performance.now()` would return if the thread had never been paused. */
  now(): number {
    const total = this.total();
    return this.#lastNote - total;
  }
}

/** The fields of Node's timers that `suspendTimers` uses. `_repeat` is a number only if the timer is an interval. */
type Timer = NodeJS.Timeout & { _repeat: number | null };
type Callback = ((...values: unknown[]) => void) | null;

/**
 * Keeps a debugger's pauses from using up time-outs: a timer that was running during a pause does not fire when it is
 * due, but starts again with its full duration. `performance.now()` leaves out pauses. `Date` does not, because
 * signatures and tokens need the true time.
 */
export const suspendTimers = (): void => {
  const pauses = new Pauses();
  performance.now = () => pauses.now();

  const callbacks = new WeakMap<Timer, Callback>();
  const restarting = (timer: Timer, callback: (...values: unknown[]) => void): Callback => {
    let total = pauses.total();
    return (...values) => {
      const isCurrent = pauses.total() === total || timer._repeat !== null;
      if (isCurrent) return callback.apply(timer, values);
      total = pauses.total();
      timer.refresh();
    };
  };
  // Each timer has its callback in `_onTimeout`, a field that Node.js does not document. Replacing this field also
  // covers the timers of sockets, of AbortSignal.timeout() and of node:timers/promises.
  Object.defineProperty(Object.getPrototypeOf(setTimeout(() => {})), '_onTimeout', {
    get(this: Timer) {
      return callbacks.get(this);
    },
    set(this: Timer, callback: Callback) {
      callbacks.set(this, callback && restarting(this, callback));
    },
  });
};
