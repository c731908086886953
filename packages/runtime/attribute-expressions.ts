/**
 * Expressions of DynamoDB about attributes: `isSame` holds for an item that has each of them with this value, and lacks
 * those that are undefined; `assignments` sets the others. Placeholders have numbers, because a field's name may have
 * characters that they must not have.
 */
export const attributeExpressions = <Value>(attributes: Readonly<Record<string, Value | undefined>>) => {
  const fields = Object.entries(attributes).map(([name, value], index) => ({ name, value, index }));
  const given = fields.flatMap(({ value, index }) => (value === undefined ? [] : [{ value, index }]));
  const isSame = fields.map(({ value, index }) =>
    value === undefined ? `attribute_not_exists(#f${index})` : `#f${index} = :v${index}`,
  );
  return {
    isSame: isSame.join(' AND '),
    assignments: given.map(({ index }) => `#f${index} = :v${index}`).join(', '),
    names: Object.fromEntries(fields.map(({ name, index }) => [`#f${index}`, name])),
    values: Object.fromEntries(given.map(({ value, index }) => [`:v${index}`, value])),
  };
};
