/**
 * Computes a CloudWatch metric math expression. Supports only the syntax that the alarms use: numbers, ids, `+`, `*`,
 * `/`, `>`, FILL(id, number) and IF(condition, then, else).
 * https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/using-metric-math.html
 */

/** Returns the value of the metric or expression with this id, or undefined if that has no data. */
type LookUp = (id: string) => number | undefined;

/**
 * Computes an expression. AWS documents that arithmetic counts missing data as 0. Here, the result is undefined
 * instead, so that an alarm that needs the 0 must say FILL.
 * @throws Error if the expression contains anything that the alarms do not use
 */
export const evaluateMath = (expression: string, lookUp: LookUp): number | undefined =>
  new Evaluation(expression, lookUp).result();

const token = /\s*([A-Z]+\(|[a-z]\w*|\d+(?:\.\d+)?|[+*/>,)])/y;

class Evaluation {
  readonly #expression: string;
  readonly #lookUp: LookUp;
  readonly #tokens: string[];

  constructor(expression: string, lookUp: LookUp) {
    this.#expression = expression;
    this.#lookUp = lookUp;
    this.#tokens = [...expression.matchAll(new RegExp(token, 'gy'))].map(([, text = '']) => text);
    if (this.#tokens.join('') !== expression.replaceAll(/\s/g, '')) this.#refuse();
  }

  result(): number | undefined {
    const value = this.#comparison();
    if (this.#tokens.length > 0) this.#refuse();
    return value;
  }

  #comparison(): number | undefined {
    const left = this.#sum();
    return this.#skip('>') ? combine(left, this.#sum(), (a, b) => Number(a > b)) : left;
  }

  #sum(): number | undefined {
    let value = this.#product();
    while (this.#skip('+')) value = combine(value, this.#product(), (a, b) => a + b);
    return value;
  }

  #product(): number | undefined {
    let value = this.#factor();
    for (;;) {
      if (this.#skip('*')) value = combine(value, this.#factor(), (a, b) => a * b);
      // CloudWatch drops a data point whose calculation would divide by zero.
      else if (this.#skip('/')) value = combine(value, this.#factor(), (a, b) => (b === 0 ? undefined : a / b));
      else return value;
    }
  }

  #factor(): number | undefined {
    const next = this.#tokens.shift() ?? '';
    if (/^\d/.test(next)) return Number(next);
    if (/^[a-z]/.test(next)) return this.#lookUp(next);
    if (next === 'FILL(') {
      const [value, filler] = this.#arguments(2);
      return value ?? filler;
    }
    if (next === 'IF(') {
      const [isTrue, then = 0, otherwise] = this.#arguments(3);
      if (isTrue === undefined) return undefined;
      return isTrue === 0 ? otherwise : then;
    }
    return this.#refuse();
  }

  #arguments(count: number): (number | undefined)[] {
    return Array.from({ length: count }, (_, index) => {
      const value = this.#comparison();
      if (!this.#skip(index === count - 1 ? ')' : ',')) this.#refuse();
      return value;
    });
  }

  #skip(text: string): boolean {
    if (this.#tokens[0] !== text) return false;
    this.#tokens.shift();
    return true;
  }

  #refuse(): never {
    throw new Error(`The metric math ${this.#expression} cannot be evaluated here.`);
  }
}

const combine = (
  left: number | undefined,
  right: number | undefined,
  by: (left: number, right: number) => number | undefined,
): number | undefined => (left === undefined || right === undefined ? undefined : by(left, right));
