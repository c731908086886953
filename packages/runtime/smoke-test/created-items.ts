import { type AttributeValue, DeleteItemCommand, DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { attributeExpressions } from '../attribute-expressions.ts';

/** All attributes of an item. The item has none for a field that is undefined. */
export type Item = Readonly<Record<string, AttributeValue | undefined>>;

/** What one run of the smoke test has added to a table, so that the run can delete it. */
export class CreatedItems {
  readonly #table: string;
  /** The name of the table's partition key. */
  readonly #key: string;
  /** By their keys in JSON, the items that the run tried to add. Undefined if no log says that the run created it. */
  readonly #items = new Map<string, Item | undefined>();

  constructor(table: string, key: string) {
    this.#table = table;
    this.#key = key;
  }

  /** @param log what the function logged when it was asked to add the item; empty if nobody knows */
  note(item: Item, log: string): void {
    const key = JSON.stringify({ [this.#key]: item[this.#key] });
    // `repeated` and `stored` do not count: another request may have created the item.
    this.#items.set(key, log.includes('"outcome":"created"') ? item : this.#items.get(key));
  }

  /** Deletes the items that have not changed since, within four seconds. Logs a line for each, and never throws. */
  async delete(): Promise<void> {
    const client = new DynamoDBClient();
    const abortSignal = AbortSignal.timeout(4_000);
    const deletion = (item: Item) =>
      client.send(this.#deletionOf(item), { abortSignal }).then(
        // After another attempt, whose response was lost, the item is gone. Otherwise, it never was under this key.
        ({ Attributes, $metadata }) =>
          Attributes || $metadata.attempts !== 1 ? undefined : 'the table does not have it',
        ({ name }: Error) => name,
      );
    for (const [key, item] of this.#items) {
      const reason = item === undefined ? 'no log says "created"' : await deletion(item);
      if (reason === undefined) console.info({ outcome: 'deleted' });
      else console.warn({ outcome: 'not deleted', reason, key });
    }
  }

  #deletionOf(item: Item): DeleteItemCommand {
    const { isFreeOrSame, names, values } = attributeExpressions(this.#key, item);
    return new DeleteItemCommand({
      TableName: this.#table,
      Key: { [this.#key]: item[this.#key] as AttributeValue },
      ConditionExpression: isFreeOrSame,
      ExpressionAttributeNames: names,
      ExpressionAttributeValues: values,
      ReturnValues: 'ALL_OLD',
    });
  }
}
