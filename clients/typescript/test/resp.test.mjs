import assert from 'node:assert/strict';
import { test } from 'node:test';
import { encode, ErrorReply, NotResp, Parser } from '../dist/esm/resp.js';

function parsed(...chunks) {
  const parser = new Parser(), replies = [];
  for (const chunk of chunks) parser.feed(Buffer.from(chunk), (reply) => replies.push(reply));
  return replies;
}

const ALL = '*7\r\n:0\r\n:-1\r\n:9223372036854775807\r\n$-1\r\n$6\r\na\r\nb€\r\n*0\r\n+OK\r\n-ERR no\r\n*-1\r\n'.replace('$6', '$7');
const REPLIES = [[0, -1, Number.MAX_SAFE_INTEGER, null, 'a\r\nb€', [], 'OK'], new ErrorReply('ERR no'), null];

test('replies, cut at every byte and byte by byte', () => {
  const bytes = Buffer.from(ALL);
  assert.deepEqual(parsed(bytes), REPLIES);
  for (let at = 0; at <= bytes.length; ++at) assert.deepEqual(parsed(bytes.subarray(0, at), bytes.subarray(at)), REPLIES, at);
  assert.deepEqual(parsed(...Array.from(bytes, (byte) => [byte])), REPLIES);
});

test('what a server says by RESP3', () => {
  assert.deepEqual(parsed('%2\r\n$1\r\na\r\n:1\r\n+b\r\n%1\r\n_\r\n*0\r\n', '=7\r\ntxt:a\nb\r\n_\r\n'), [['a', 1, 'b', [null, []]], 'a\nb', null]);
  const parser = new Parser(), said = [];
  for (const byte of ':1\r\n>2\r\n+a\r\n-ERR no\r\n:2\r\n') parser.feed(Buffer.from(byte), (...each) => said.push(each));
  assert.deepEqual(said, [[1, false], [['a', new ErrorReply('ERR no')], true], [2, false]]);
});

test('what is neither RESP2 nor of that', () => {
  for (const text of ['HTTP/1.1 200 OK\r\n', '*1\r\n>1\r\n:1\r\n', '~1\r\n', ':x\r\n', ':\r\n', ':1\rx', '$3\r\nabcd\r\n', '$-2\r\n', '$99999999\r\n', '*-2\r\n',
    '*99999999\r\n', '+a\rb', ':1111111111111111111111\r\n', '*1\r\n'.repeat(9)])
    assert.throws(() => parsed(text), NotResp, text);
  assert.throws(() => parsed('+', Buffer.alloc(2 << 20, 65)), NotResp);
});

test('a command counts bytes', () => {
  assert.equal(encode(['A', '€', '']), '*3\r\n$1\r\nA\r\n$3\r\n€\r\n$0\r\n\r\n');
});
