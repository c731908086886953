/** What DynamoDB refuses in expressions, and how it applies an update, where dynalite does otherwise. */

/** A condition as dynalite parses it: an operator or a function with its operands. */
type Condition = { type?: string; args?: Condition[] };

/** An action of an UpdateExpression as dynalite parses it. dynalite first replaces each `val` of a SET by its value. */
type Action = { path: (string | number)[]; val?: unknown };

const conditions = {
  ConditionExpression: '_condition',
  KeyConditionExpression: '_keyCondition',
  FilterExpression: '_filter',
} as const;

const names = ['UpdateExpression', 'ProjectionExpression', ...Object.keys(conditions)] as const;

/** A request, to which dynalite adds what it has parsed. */
export type Request = { [name: string]: unknown } & { Select?: string; _updates?: { sections: Action[] } } & {
  [parsed in (typeof conditions)[keyof typeof conditions]]?: { expression: Condition };
};

/**
 * Why DynamoDB refuses a request, apart from what its parsed expressions say.
 * https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html#limits-expression-parameters
 * https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_Query.html#DDB-Query-request-Select
 */
export const refusalOf = (request: Request): string | undefined => {
  for (const name of names) {
    const size = Buffer.byteLength(String(request[name] ?? ''));
    if (size > 4_096)
      return `Invalid ${name}: Expression size has exceeded the maximum allowed size; expression size: ${size}`;
  }
  const { Select, IndexName } = request;
  const requested = ['ProjectionExpression', 'AttributesToGet'].find((name) => request[name] !== undefined);
  if (Select === 'SPECIFIC_ATTRIBUTES')
    return requested
      ? undefined
      : `Must specify the AttributesToGet or ProjectionExpression when choosing to get ${Select}`;
  if (Select !== undefined && requested) return `Cannot specify the ${requested} when choosing to get ${Select}`;
  return Select === 'ALL_PROJECTED_ATTRIBUTES' && IndexName === undefined
    ? `${Select} can be used only when Querying using an IndexName`
    : undefined;
};

/** Why DynamoDB refuses a request because of its parsed expressions. */
export const refusalOfParsed = (request: Request): string | undefined => {
  for (const [name, parsed] of Object.entries(conditions)) {
    const operands = operandsOfIn(request[parsed]?.expression ?? {});
    if (operands > 100)
      return `Invalid ${name}: The IN operator is provided with too many operands; number of operands: ${operands}`;
  }
  const index = request._updates?.sections
    .flatMap(({ path }) => path)
    .find((piece) => isIndex(piece) && piece > 2 ** 32 - 2);
  return index === undefined
    ? undefined
    : `Invalid UpdateExpression: List index is not within the allowable range; index: [${index}]`;
};

/** The number of values of the longest list after IN. */
const operandsOfIn = ({ type, args = [] }: Condition): number =>
  type === 'in' ? args.length - 1 : Math.max(0, ...args.map(operandsOfIn));

/**
 * Orders the actions so that dynalite, which applies one after the other, does what DynamoDB does: each action means the
 * item before the update.
 * https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Expressions.UpdateExpressions.html
 */
export const independent = (actions: Action[]): Action[] =>
  actions
    // An element that is removed moves only those after it, so the last one comes first.
    .toSorted((one, other) => (orderOf(one) < orderOf(other) ? 1 : -1))
    .map((action, position) => withOwnValue(appending(action, actions.length - position)));

/** A text that sorts as the path does. */
const orderOf = ({ path }: Action): string =>
  path.map((piece) => (isIndex(piece) ? `${piece}`.padStart(10, '0') : piece)).join('\n');

/**
 * Limits the index at which a SET appends an element: dynalite fills the list up to it. No list is longer than an item
 * has bytes. `rank` keeps the elements in order.
 */
const appending = (action: Action, rank: number): Action => {
  const last = action.path.at(-1);
  return isIndex(last) ? { ...action, path: action.path.with(-1, Math.min(last, 409_600 + rank)) } : action;
};

/** dynalite assigns to `val` what it has read. Keeps a copy, because another action may change that part of the item. */
const withOwnValue = (action: Action): Action => {
  let { val } = action;
  return {
    ...action,
    get val() {
      return val;
    },
    set val(read) {
      val = structuredClone(read);
    },
  };
};

const isIndex = (piece: string | number | undefined): piece is number => typeof piece === 'number';
