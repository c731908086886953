/** dynalite counts the characters of an item's text, but DynamoDB counts its bytes in UTF-8. This module corrects that. */
import database from 'dynalite/db/index.js';

const { itemSize } = database;

database.itemSize = (item, ...options) => itemSize(withOneCharacterPerByte(item), ...options);

const withOneCharacterPerByte = (item: unknown): unknown =>
  JSON.parse(Buffer.from(JSON.stringify(item)).toString('latin1'));
