import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inspect } from 'node:util';
import { connect } from '../dist/esm/index.js';
import { placeOf } from '../dist/esm/url.js';
import { deadPort } from './support.mjs';

const hosts = (...each) => each.map(([host, port = 6390]) => ({ host, port }));

test('what a URL says', () => {
  for (const [url, place] of [
    ['weir://a', { kind: 'hosts', hosts: hosts(['a']), tls: false }],
    ['weirs://a/', { kind: 'hosts', hosts: hosts(['a']), tls: true }],
    ['weir://a:1,b,[::1]:65535', { kind: 'hosts', hosts: hosts(['a', 1], ['b'], ['::1', 65535]), tls: false }],
    ['weir://:p%40ss@a', { kind: 'hosts', hosts: hosts(['a']), tls: false, password: 'p@ss' }],
    ['weir://token@a', { kind: 'hosts', hosts: hosts(['a']), tls: false, password: 'token' }],
    ['weir://ann:a:b@a', { kind: 'hosts', hosts: hosts(['a']), tls: false, user: 'ann', password: 'a:b' }],
    ['unix:/run/a b', { kind: 'unix', path: '/run/a b' }],
    ['weir+unix:///run/w', { kind: 'unix', path: '/run/w' }],
    ['weir+local:', { kind: 'local' }],
  ]) assert.deepEqual(placeOf(url), place, url);
});

test('what is not a URL is told by its form, and never shows a password', () => {
  for (const url of ['', 'a', 'redis://a', 'weir:/a', 'weir://', 'weir://a,', 'weir://a b', 'weir://[a]', 'weir://a:0', 'weir://a:65536',
    'weir://a/0', 'weir://a?x=1', 'weir://a#x', 'weir://secret%@a', 'weir://user:secret@', 'weir://user:secret@a:x', 'weir://user:secret@/x',
    'rediss://user:secret@a', 'user:secret@a', 'unix:a', 'unix:', 'weir+unix://a', 'weir+local:x'])
    assert.throws(() => connect(url), (error) => error instanceof TypeError && !error.message.includes('secret'), url);
});

test('a client shows no password', async () => {
  const client = connect(`weir://:secret@127.0.0.1:${await deadPort()}`, { onError: 'throw', log: () => {} });
  await assert.rejects(client.ready(), (error) => error.code === 'UNAVAILABLE' && !inspect(error, { depth: 9 }).includes('secret'));
  assert.ok(!inspect(client, { depth: 9, showHidden: true }).includes('secret'));
  await client.close();
});
