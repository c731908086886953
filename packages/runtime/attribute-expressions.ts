/**
 * Expressions of DynamoDB about attributes: `isFreeOrSame` holds if no item has the key (`key` is its name), or if that
 * item has each of them with this value, and lacks those that are undefined; `assignments` sets the others. Placeholders
 * have numbers, because a field's name may have characters that they must not have.
 */
export const attributeExpressions = <Value>(key: string, attributes: Readonly<Record<string, Value | undefined>>) => {
  const fields = Object.entries(attributes).map(([name, value], index) => ({ name, value, index }));
  const given = fields.flatMap(({ value, index }) => (value === undefined ? [] : [{ value, index }]));
  const isSame = fields.map(({ value, index }) =>
    value === undefined ? `attribute_not_exists(#f${index})` : `#f${index} = :v${index}`,
  );
  return {
    isFreeOrSame: `attribute_not_exists(#key) OR (${isSame.join(' AND ')})`,
    assignments: given.map(({ index }) => `#f${index} = :v${index}`).join(', '),
    names: { '#key': key, ...Object.fromEntries(fields.map(({ name, index }) => [`#f${index}`, name])) },
    values: Object.fromEntries(given.map(({ value, index }) => [`:v${index}`, value])),
  };
};
