// Reads fields as an independent reader of RFC 9651 does: takes [[kind, text], ...] in JSON, where a kind is list, item
// or dictionary, and prints what each was, or {"wrong": why}. What JSON cannot tell apart is {"token": ...} and so on.
import { readFileSync } from 'node:fs';
import { DisplayString, Token, parseDictionary, parseItem, parseList } from 'structured-headers';

const bare = (value) => {
  if (value instanceof DisplayString) return { display: value.toString() };
  if (value instanceof Token) return { token: value.toString() };
  if (value instanceof ArrayBuffer || ArrayBuffer.isView(value)) return { bytes: Buffer.from(value).toString('base64') };
  return value;
};
const item = ([value, parameters]) =>
  [Array.isArray(value) ? value.map(item) : bare(value), Object.fromEntries([...parameters].map(([k, v]) => [k, bare(v)]))];
const readers = {
  list: (text) => parseList(text).map(item),
  item: (text) => item(parseItem(text)),
  dictionary: (text) => Object.fromEntries([...parseDictionary(text)].map(([k, v]) => [k, item(v)])),
};

const answers = JSON.parse(readFileSync(0)).map(([kind, text]) => {
  try {
    return readers[kind](text);
  } catch (error) {
    return { wrong: error.message };
  }
});
console.log(JSON.stringify(answers));
