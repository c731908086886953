/** Makes dynalite count an item's text in UTF-8 bytes, as DynamoDB does. dynalite itself counts characters. */
import database from 'dynalite/db/index.js';

const { itemSize } = database;

database.itemSize = (item, ...options) => itemSize(withOneCharacterPerByte(item), ...options);

const withOneCharacterPerByte = (item: unknown): unknown =>
  JSON.parse(Buffer.from(JSON.stringify(item)).toString('latin1'));
