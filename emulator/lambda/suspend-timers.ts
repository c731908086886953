/**
 * In milliseconds: a running thread notes the time every `interval`; if it makes no note for longer than `pause`, a
 * debugger paused it.
 */
const limits = { interval: 50, pause: 100 };

/** Measures how long a debugger has paused this thread. Code that keeps the thread busy for so long counts, too. */
class Pauses {
  readonly #now = performance.now.bind(performance);
  #lastNote = this.#now();
  #total = 0;

  constructor() {
    // Call `unref`, because only the function's own timers may keep the thread alive.
    setInterval(() => this.total(), limits.interval).unref();
  }

  /** How many milliseconds all pauses so far took. */
  total(): number {
    const now = this.#now();
    const silence = now - this.#lastNote;
    this.#lastNote = now;
    if (silence > limits.pause) this.#total += silence;
    return this.#total;
  }

  /** The time of `performance.now()` without the pauses. */
  now(): number {
    const total = this.total();
    return this.#lastNote - total;
  }
}

/** The fields of Node's timers that `suspendTimers` uses. Only an interval has a number in `_repeat`. */
type Timer = NodeJS.Timeout & { _repeat: number | null };
type Callback = ((...values: unknown[]) => void) | null;

/**
 * Makes the time-outs of this thread outlast a debugger's pauses: a timer that was running during a pause starts again,
 * and `performance.now()` stands still. `Date` does not, because signatures and tokens need the true time.
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
  // Node.js does not document `_onTimeout`. It holds the callback of every timer, also of those that setTimeout does not
  // make: the timers of sockets, of AbortSignal.timeout() and of node:timers/promises.
  Object.defineProperty(Object.getPrototypeOf(setTimeout(() => {})), '_onTimeout', {
    get(this: Timer) {
      return callbacks.get(this);
    },
    set(this: Timer, callback: Callback) {
      callbacks.set(this, callback && restarting(this, callback));
    },
  });
};
