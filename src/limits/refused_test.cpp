// What is wrong with limits files, each with exactly what is told of it.
#include <gtest/gtest.h>

#include <set>

#include "limits/reading_test.hpp"

namespace weir::inline v0_1::limits {
namespace {

using namespace std::string_literals;

struct Refused {
  int rule;  // of docs/limits.md, "What is refused"
  std::string file;
  std::string told;
};

// clang-format off
const std::vector<Refused>& rows() {
  static const std::vector<Refused> kRows = {
    {1, R"(version: 1
limits: [
)",
     R"(limits.yaml:2:1: not YAML: did not find expected node content while parsing a flow node that begins on line 2
)"},
    {1, "version: 1\nlimits:\n\tuser: { rate: 1/s }\n",
     R"(limits.yaml:3:1: not YAML: a tab where YAML wants spaces
)"},
    {1, R"(version: 1
limits:
  user: { rate: 1/s
)",
     R"(limits.yaml:3:1: not YAML: did not find expected ',' or '}' while parsing a flow mapping that begins on line 3
)"},
    {1, R"(version: 1
limits:
  user: { rate: 1/s, allow: { tenant: @partners } }
)",
     R"(limits.yaml:3:39: not YAML: a text that begins with @ must be in quotes
)"},
    {1, R"(version: 1
limits:
  user: { rate: 1/s, allow: { path: * } }
)",
     R"(limits.yaml:3:38: not YAML: a text that begins with * must be in quotes
)"},
    {1, R"(version: 1
limits:
  user: { rate: 1/s }
 bad: 1
)",
     R"(limits.yaml:4:2: not YAML: did not find expected key while parsing a block mapping that begins on line 1
)"},
    {1, "version: 1\n# caf\351\n",
     R"(limits.yaml:2:6: the byte \xe9, which is not UTF-8
)"},
    {1, "\377\376v\000e\000"s,
     R"(limits.yaml:1:1: this is UTF-16; only UTF-8 is read
)"},
    {1, "v\000e\000"s,
     R"(limits.yaml:1:2: a byte of 0, as UTF-16 and binary files have them; only UTF-8 is read
)"},
    {1, "version: 1\n# a \033[31m\n",
     R"(limits.yaml:2:5: the control character \x1b
)"},
    {1, "version: 1\n# \342\200\256\n",
     R"(limits.yaml:2:3: the control character \xe2\x80\xae
)"},
    {1, "version: 1\r# one line or two?\n",
     R"(limits.yaml:1:11: a carriage return without a line feed
)"},
    {2, R"(version: &v 1
)",
     R"(limits.yaml:1:10: version: the anchor '&v'; write things out
)"},
    {2, R"(version: 1
limits:
  a: { rate: 1/s, allow: &x { ip: 10.0.0.1 } }
  b: { rate: 2/s, allow: *x }
)",
     R"(limits.yaml:3:26: limits.a.allow: the anchor '&x'; write things out
limits.yaml:4:26: limits.b.allow: the alias '*x'; write it out, or quote a pattern: "*"
)"},
    {2, R"(version: !!int 1
)",
     R"(limits.yaml:1:10: version: the tag 'tag:yaml.org,2002:int'; none is needed
)"},
    {2, R"(version: 1
limits:
  a: { <<: { rate: 1/s } }
)",
     R"(limits.yaml:3:3: limits.a: has neither a rate nor deny or allow
limits.yaml:3:8: limits.a: the merge key '<<'; write things out
)"},
    {2, R"(version: 1
---
version: 1
)",
     R"(limits.yaml:2:1: a second document; a file has one
)"},
    {2, R"(%YAML 1.1
---
version: 1
)",
     R"(limits.yaml:1:1: a directive (%); none is allowed
)"},
    {2, R"(version: 1
? [a, b]
: 1
)",
     R"(limits.yaml:2:3: a key that is a list or a map; a key is a text
)"},
    {1, R"(version: 1
: 1
)",
     R"(limits.yaml:2:1: not YAML: did not find expected key while parsing a block mapping that begins on line 1
)"},
    {3, R"(version: 1
limits:
  a:
    rate: 1/s
    rate: 2/s
)",
     R"(limits.yaml:5:5: limits.a.rate: a second time; it is on line 4 already
)"},
    {3, R"(version: 1
limits:
  a: { rate: 1/s }
  a: { rate: 2/s }
)",
     R"(limits.yaml:4:3: limits.a: a second time; it is on line 3 already
)"},
    {3, R"(version: 1
limits:
  a: { rate: 1/s }
  b: { rate: 2/s, id: a }
)",
     R"(limits.yaml:4:3: limits.b.id: 'a' is the id of 'a' on line 3 too; two limits would have one state
)"},
    {3, R"(version: 1
limits:
  a: { rate: 1/s, id: x }
  b: { rate: 2/s, id: x }
)",
     R"(limits.yaml:4:3: limits.b.id: 'x' is the id of 'a' on line 3 too; two limits would have one state
)"},
    {4, R"(version: 1
limits:
  user:
    by: [user]
    raet: 20/s
    rate: 20/s
)",
     R"(limits.yaml:5:5: limits.user.raet: unknown; did you mean rate?
)"},
    {4, R"(version: 1
limit: {}
)",
     R"(limits.yaml:2:1: limit: unknown; did you mean limits?
)"},
    {4, R"(limits: limits.yaml
tests: [{ name: a user bursts 40 }]
)",
     R"(limits.yaml:2:1: tests: this is a file of tests, which weir test runs
)"},
    {4, R"(apiVersion: v1
kind: ConfigMap
data: { limits.yaml: "version: 1" }
)",
     R"(limits.yaml:1:1: apiVersion: this is a manifest of Kubernetes; a limits file is what its data holds
)"},
    {4, R"(version: 1
limits: [a]
)",
     R"(limits.yaml:2:9: limits: a list is not a map
)"},
    {4, R"(version: 1
limits:
  a: 10/s
)",
     R"(limits.yaml:3:6: limits.a: '10/s' is not a map
)"},
    {4, R"(version: 1
limits:
  a: { rate: { x: 1 } }
)",
     R"(limits.yaml:3:14: limits.a.rate: a map is not a text or a list of texts
)"},
    {4, R"(version: 1
limits:
  a: { rate: 1/s, required: yes }
)",
     R"(limits.yaml:3:29: limits.a.required: 'yes' is neither true nor false
)"},
    {4, R"(version: 1
limits:
  a:
    rate:
)",
     R"(limits.yaml:4:5: limits.a.rate: has no value; write a text or a list of texts
)"},
    {4, R"(version: 1
limits:
  a: { rate: 1/s, cost: -1 }
)",
     R"(limits.yaml:3:25: limits.a.cost: '-1' is not a whole number from 0 to 9223372036854775807
)"},
    {4, R"(version: 1
limits:
  a: { rate: 1/s, cost: {} }
)",
     R"(limits.yaml:3:19: limits.a.cost: missing from; a cost is a number, [{ when, cost }] or { from: ATTRIBUTE }
)"},
    {4, R"(version: 1
limits:
  a: { rate: 1/s, cost: [] }
)",
     R"(limits.yaml:3:25: limits.a.cost: the list is empty; write a number, or [{ when, cost }]
)"},
    {4, R"(version: 1
limits:
  a: { rate: 1/s, cost: [{ when: { path: /x } }] }
)",
     R"(limits.yaml:3:26: limits.a.cost[0]: missing cost
)"},
    {4, R"(version: 1
limits:
  a: { rate: 1/s, group_ip: { v4: 33 }, by: [ip] }
)",
     R"(limits.yaml:3:35: limits.a.group_ip.v4: '33' is not a whole number from 1 to 32
)"},
    {4, R"(version: 1
limits:
  a: { rate: 1/s, shadow: maybe }
)",
     R"(limits.yaml:3:27: limits.a.shadow: 'maybe' is none of: until DATE, true, false
)"},
    {4, R"(version: 1
limits:
  a: { rate: 1/s, shadow: until tomorrow }
)",
     R"(limits.yaml:3:27: limits.a.shadow: 'tomorrow' is not a date or a time of RFC 3339; write 2026-12-01, which is its midnight in UTC, or 2026-12-01T12:00:00Z
)"},
    {4, R"(version: 1
limits:
  a: { rate: 1/s, on_store_error: local 200% }
)",
     R"(limits.yaml:3:35: limits.a.on_store_error: '200%' is not a share from 0% to 100%, such as 20% or 12.5%
)"},
    {4, R"(version: 1
limits:
  a: { rate: 1/s, on_store_error: local 0% }
)",
     R"(limits.yaml:3:35: limits.a.on_store_error: 'local 0%' hands out nothing; write deny
)"},
    {4, R"(version: 1
limits:
  a: { rate: 1/s, on_store_error: open }
)",
     R"(limits.yaml:3:35: limits.a.on_store_error: 'open' is none of: local, local N%, allow, deny
)"},
    {4, R"(version: 1
limits:
  a: { rate: 1/s, when_full: evict }
)",
     R"(limits.yaml:3:30: limits.a.when_full: 'evict' is none of: deny, allow
)"},
    {4, R"(version: 1
limits:
  a: { rate: 1/s, max_wait: 5 }
)",
     R"(limits.yaml:3:29: limits.a.max_wait: '5' is not a time such as 250ms, 10s, 1.5h or 1d
)"},
    {4, R"(version: 1
limits:
  a: { rate: 1/s, max_wait: -1s }
)",
     R"(limits.yaml:3:29: limits.a.max_wait: '-1s' is not a time such as 250ms, 10s, 1.5h or 1d
)"},
    {4, R"(version: 1
limits:
  a: { rate: 9/s, hold: { estimate: 0, ttl: 0s, at_most: 0% } }
)",
     R"(limits.yaml:3:37: limits.a.hold.estimate: '0' is not a whole number from 1 to 9223372036854775807
limits.yaml:3:45: limits.a.hold.ttl: '0s' leaves no time to settle in
limits.yaml:3:58: limits.a.hold.at_most: '0%' allows no hold
)"},
    {4, R"(version: 1
limits:
  a: { by: [b], in_flight: 5, hold: { ttl: 25h } }
)",
     R"(limits.yaml:3:44: limits.a.hold.ttl: '25h' is above the maximum (1d)
)"},
    {4, R"(version: 1
limits:
  a: { rate: 9/s, hold: {} }
)",
     R"(limits.yaml:3:19: limits.a.hold: missing ttl: how long a hold may be open
)"},
    {4, R"(version: 1
limits:
  a: { rate: 9/s, overrides: [{ until: 2026-02-30, rate: 8/s }] }
)",
     R"(limits.yaml:3:40: limits.a.overrides[0].until: '2026-02-30' is not in the calendar; write 2026-12-01, which is its midnight in UTC, or 2026-12-01T12:00:00Z
)"},
    {4, R"(version: 1
limits:
  a: { rate: 9/s, overrides: [{ until: 2026-12-01T10:00:00, rate: 8/s }] }
)",
     R"(limits.yaml:3:40: limits.a.overrides[0].until: '2026-12-01T10:00:00' is not a date or a time of RFC 3339; write 2026-12-01, which is its midnight in UTC, or 2026-12-01T12:00:00Z
)"},
    {4, R"(version: 1
limits:
  a: { rate: 9/s, overrides: [{ until: 2300-01-01, rate: 8/s }] }
)",
     R"(limits.yaml:3:40: limits.a.overrides[0].until: '2300-01-01' is not from 1970 to 2261; write 2026-12-01, which is its midnight in UTC, or 2026-12-01T12:00:00Z
)"},
    {4, R"(version: 1
limits:
  a: { rate: 9/s, allow: { } }
)",
     R"(limits.yaml:3:26: limits.a.allow: the map is empty; write attribute: value
)"},
    {4, R"(version: 1
limits:
  a: { rate: 9/s, allow: { user: } }
)",
     R"(limits.yaml:3:28: limits.a.allow.user: has no value; write "" for an empty text
)"},
    {4, R"(version: 1
routes: []
)",
     R"(limits.yaml:2:9: routes: the list is empty; without routes every request meets all limits, with limits: [] none
)"},
    {4, R"(version: 1
routes: [{ when: { path: / } }]
)",
     R"(limits.yaml:2:10: routes[0]: missing limits; write limits: [] for none
)"},
    {4, R"(version: 1
answers: { status: 200, headers: [draft-03, x-ratelimit, x-ratelimit], body: x }
)",
     R"(limits.yaml:2:20: answers.status: '200' is not a whole number from 400 to 599
limits.yaml:2:35: answers.headers[0]: 'draft-03' is unknown; known: retry-after, ratelimit-11, draft-06, x-ratelimit, x-ratelimit-epoch, off
limits.yaml:2:58: answers.headers[2]: 'x-ratelimit' a second time
limits.yaml:2:72: answers.body: unknown; known: status, headers
)"},
    {5, R"(limits: {}
)",
     R"(limits.yaml:1:1: version: missing; write version: 1
)"},
    {5, R"(version: 2
)",
     R"(limits.yaml:1:1: version: '2' is not a version; write version: 1
)"},
    {5, R"()",
     R"(limits.yaml:1:1: version: missing; write version: 1
)"},
    {5, R"(# nothing
)",
     R"(limits.yaml:1:1: version: missing; write version: 1
)"},
    {4, R"(10/s
)",
     R"(limits.yaml:1:1: a limits file is a map that begins with version: 1
)"},
    {6, R"(version: 1
limits:
  a: { rate: 10 each second }
)",
     R"(limits.yaml:3:14: limits.a.rate: limit '10 each second': unexpected 'each'; the form is COUNT/PERIOD [burst N] [algorithm=NAME] [align=clock], as in 10/s burst 50 or 1000/h algorithm=fixed_window
)"},
    {6, R"(version: 1
limits:
  a: { rate: 10/fortnight }
)",
     R"(limits.yaml:3:14: limits.a.rate: quota '10/fortnight': the period is not a time such as s, 10s, 250ms, min, h or 1.5d; the form is COUNT/PERIOD [burst N], as in 100/min or 5/10s burst 20
)"},
    {6, R"(version: 1
limits:
  a: { rate: 10/s algorithm=leaky }
)",
     R"(limits.yaml:3:14: limits.a.rate: limit '10/s algorithm=leaky': unknown algorithm 'leaky'; known: gcra, token_bucket, leaky_bucket, fixed_window, sliding_window_log, sliding_window_counter
)"},
    {6, R"(version: 1
limits:
  a: { rate: [10/s, 20/1s] }
)",
     R"(limits.yaml:3:21: limits.a.rate[1]: '20/1s' has the period of '10/s'; the windows of a limit differ in their periods
)"},
    {6, R"(version: 1
limits:
  a: { rate: [] }
)",
     R"(limits.yaml:3:14: limits.a.rate: the list is empty; write a rate such as 10/s burst 20
)"},
    {6, R"(version: 1
limits:
  a: { rate: unlimited }
)",
     R"(limits.yaml:3:14: limits.a.rate: 'unlimited' is for overrides; a limit without a rate has deny or allow
)"},
    {6, R"(version: 1
limits:
  a: { by: [user] }
)",
     R"(limits.yaml:3:3: limits.a: has neither a rate nor deny or allow
)"},
    {6, R"(version: 1
limits:
  a: { deny: { ip: 10.0.0.1 }, cost: 2 }
)",
     R"(limits.yaml:3:32: limits.a.cost: the limit has no rate
)"},
    {6, R"(version: 1
limits:
  a: { rate: 9/s, overrides: [{ rate: [] }, { rate: unlimited/0s }, { rate: [unlimited, 5/s] }] }
)",
     R"(limits.yaml:3:39: limits.a.overrides[0].rate: the list is empty; write a rate, or unlimited
limits.yaml:3:53: limits.a.overrides[1].rate: 'unlimited/0s' names no period; write unlimited/day, or unlimited for all windows
limits.yaml:3:89: limits.a.overrides[2].rate[1]: '5/s' is a second rate for one window of the limit
)"},
    {7, R"(version: 1
limits:
  a: { rate: 10/s burst 0 }
)",
     R"(limits.yaml:3:14: limits.a.rate: quota '10/s burst 0': burst: 0 is below the minimum (1)
)"},
    {8, R"(version: 1
classes: [critical, bulk]
)",
     R"(limits.yaml:2:1: classes: 'default' is not among them; it is the class of requests that name none
)"},
    {8, R"(version: 1
classes: [default, default]
)",
     R"(limits.yaml:2:20: classes[1]: 'default' a second time
)"},
    {8, R"(version: 1
classes: [a, b, c, d, e, f, default]
)",
     R"(limits.yaml:2:1: classes: 7 classes; at most 6
)"},
    {8, R"(version: 1
classes: []
)",
     R"(limits.yaml:2:1: classes: 'default' is not among them; it is the class of requests that name none
)"},
    {8, R"(version: 1
classes: [default, bulk]
ceiling: bluk
)",
     R"(limits.yaml:3:10: ceiling: no class is called 'bluk'; did you mean bulk?
)"},
    {8, R"(version: 1
classes: [default, bulk]
limits:
  a: { rate: 9/s, leave: { bluk: 10% } }
)",
     R"(limits.yaml:4:28: limits.a.leave.bluk: no class is called 'bluk'; did you mean bulk?
)"},
    {8, R"(version: 1
limits:
  a: { rate: 9/s, leave: { bulk: 10% } }
)",
     R"(limits.yaml:3:19: limits.a.leave: the file has no classes
)"},
    {8, R"(version: 1
routes: [{ class: bulk, limits: [] }]
)",
     R"(limits.yaml:2:19: routes[0].class: the file has no classes
)"},
    {8, R"(version: 1
classes: [a, default, bulk]
limits:
  a: { rate: 9/s, leave: { default: 20%, bulk: 10% } }
)",
     R"(limits.yaml:4:48: limits.a.leave.bulk: '10%' is less than the 20% of default, which is more important
)"},
    {8, R"(version: 1
classes: [a, default, bulk]
limits:
  a: { rate: 9/s, leave: { a: 0%, default: 100% } }
)",
     R"(limits.yaml:4:28: limits.a.leave.a: the most important class leaves nothing free
limits.yaml:4:44: limits.a.leave.default: '100%' would let the class pass nothing; below 100% is allowed
)"},
    {8, R"(version: 1
classes: [default, bulk]
limits:
  a: { rate: 9/s, leave: { bulk: a fifth } }
)",
     R"(limits.yaml:4:34: limits.a.leave.bulk: 'a fifth' is not a share from 0% to 100%, such as 20% or 12.5%
)"},
    {8, R"(version: 1
classes: [default, bulk]
limits:
  a: { rate: 9/s, leave: { bulk: 60% }, reserve: 40% }
)",
     R"(limits.yaml:4:50: limits.a.reserve: the reserve of 40% and the greatest leave of 60% are 100% or more together; the least important class could pass nothing
)"},
    {8, R"(version: 1
classes: [default, bulk]
limits:
  a: { rate: 9/s, leave: { bulk: 60% }, reserve: 20%, overrides: [{ reserve: 50% }] }
)",
     R"(limits.yaml:4:78: limits.a.overrides[0].reserve: the reserve of 50% and the greatest leave of 60% are 100% or more together; the least important class could pass nothing
)"},
    {8, R"(version: 1
limits:
  a: { rate: 9/s, reserve: 100% }
)",
     R"(limits.yaml:3:28: limits.a.reserve: '100%' would leave nothing to requests outside a guarantee; below 100% is allowed
)"},
    {9, R"(version: 1
lists: { partners: [acme] }
limits:
  a: { rate: 9/s, allow: { tenant: "@partner" } }
)",
     R"(limits.yaml:4:36: limits.a.allow.tenant: no list is called 'partner'; did you mean partners?
)"},
    {9, R"(version: 1
lists: { partners: [] }
)",
     R"(limits.yaml:2:20: lists.partners: the list is empty; a list in a file may be
)"},
    {9, R"(version: 1
lists: { bad: { file: missing.txt } }
)",
     R"(limits.yaml:2:23: lists.bad.file: cannot read 'missing.txt': No such file or directory
)"},
    {9, R"(version: 1
lists: { bad: { } }
)",
     R"(limits.yaml:2:10: lists.bad: missing file; a list is [entries] or { file: NAME }
)"},
    {9, R"(version: 1
lists: { a: [x], b: ["@a"] }
)",
     R"(limits.yaml:2:22: lists.b[0]: '@a': a list holds no other lists; name both where they are used
)"},
    {9, R"(version: 1
lists: { a: ["x*", "x*"] }
)",
     R"(limits.yaml:2:20: lists.a[1]: the pattern 'x*' a second time
)"},
    {9, R"(version: 1
lists: { none: { file: empty.txt } }
)",
     R"(limits.yaml:2:24: warning: lists.none.file: 'empty.txt' has no entries, so it matches nothing
)"},
    {9, R"(version: 1
lists: { bad: { file: wrong.txt } }
)",
     R"(wrong.txt:1:1: lists.bad: '10.0.0.1/8' has bits set beyond its prefix; did you mean 10.0.0.0/8?
wrong.txt:3:3: lists.bad: '10.0.0.0/99' has a prefix that is too long; at most /32 for IPv4, /128 for IPv6
wrong.txt:5:1: lists.bad: the pattern 'bot*' a second time
)"},
    {9, R"(version: 1
lists: { bad: { file: latin1.txt } }
)",
     R"(latin1.txt:1:1: lists.bad: 'caf\xe9' is not text in UTF-8
)"},
    {9, R"(version: 1
limits:
  a: { rate: 9/s, allow: { tenant: [] } }
)",
     R"(limits.yaml:3:36: limits.a.allow.tenant: the list is empty, so nothing would match
)"},
    {10, R"(version: 1
limits:
  a: { rate: 9/s, allow: { ip: 10.0.0.1/8 } }
)",
     R"(limits.yaml:3:32: limits.a.allow.ip: '10.0.0.1/8' has bits set beyond its prefix; did you mean 10.0.0.0/8?
)"},
    {10, R"(version: 1
lists: { nets: [10.0.0.0/33, "2001:db8::1/32"] }
)",
     R"(limits.yaml:2:17: lists.nets[0]: '10.0.0.0/33' has a prefix that is too long; at most /32 for IPv4, /128 for IPv6
limits.yaml:2:30: lists.nets[1]: '2001:db8::1/32' has bits set beyond its prefix; did you mean 2001:db8::/32?
)"},
    {11, R"(version: 1
limits:
  a: { by: [User, "x y", user, user], rate: 9/s }
)",
     R"(limits.yaml:3:13: limits.a.by[0]: 'User' is not a name; it begins with a-z and has at most 64 of a-z, 0-9, _, . and -
limits.yaml:3:19: limits.a.by[1]: 'x y' is not a name; it begins with a-z and has at most 64 of a-z, 0-9, _, . and -
limits.yaml:3:32: limits.a.by[3]: 'user' a second time
)"},
    {11, R"(version: 1
limits:
  Users: { rate: 9/s }
)",
     R"(limits.yaml:3:3: limits.Users: 'Users' is not a name; it begins with a-z and has at most 64 of a-z, 0-9, _ and -
)"},
    {11, R"(version: 1
lists: { 1st: [x] }
)",
     R"(limits.yaml:2:10: lists.1st: '1st' is not a name; it begins with a-z and has at most 64 of a-z, 0-9, _ and -
)"},
    {11, R"(version: 1
limits:
  a: { rate: 9/s, allow: { X-Key: a } }
)",
     R"(limits.yaml:3:28: limits.a.allow.X-Key: 'X-Key' is not a name; it begins with a-z and has at most 64 of a-z, 0-9, _, . and -
)"},
    {11, R"(version: 1
limits:
  a: { rate: 9/s, id: "" }
)",
     R"(limits.yaml:3:23: limits.a.id: '' is not a name; it begins with a-z and has at most 64 of a-z, 0-9, _ and -
)"},
    {11, R"(version: 1
limits:
  a: { rate: 9/s, cost: { from: Tokens } }
hash_tag: 1
)",
     R"(limits.yaml:3:33: limits.a.cost.from: 'Tokens' is not a name; it begins with a-z and has at most 64 of a-z, 0-9, _, . and -
limits.yaml:4:11: hash_tag: '1' is not a name; it begins with a-z and has at most 64 of a-z, 0-9, _, . and -
)"},
    {11, R"(version: 1
hash_tag: tenant
limits:
  a: { by: [user], rate: 9/s }
)",
     R"(limits.yaml:2:11: warning: hash_tag: no limit has 'tenant' in its by
)"},
    {11, R"(version: 1
limits:
  a: { rate: 9/s, group_ip: { v4: 24 } }
)",
     R"(limits.yaml:3:19: limits.a.group_ip: the limit has no by, so there is nothing to group
)"},
    {12, R"(version: 1
limits:
  user: { rate: 9/s }
routes:
  - limits: [usr]
  - { when: { path: / }, limits: [user, user] }
)",
     R"(limits.yaml:5:14: routes[0].limits[0]: no limit is called 'usr'; did you mean user?
limits.yaml:6:5: routes[1]: cannot be reached: the route on line 5 has no when
limits.yaml:6:41: routes[1].limits[1]: 'user' a second time
)"},
    {13, R"(version: 1
limits:
  a: { rate: 9/s }
routes:
  - { limits: [a] }
  - { when: { path: /x }, limits: [] }
)",
     R"(limits.yaml:6:5: routes[1]: cannot be reached: the route on line 5 has no when
)"},
    {13, R"(version: 1
limits:
  a: { rate: 9/s }
routes:
  - { when: { path: [/x, /y], host: h }, limits: [a] }
  - { when: { host: h, path: [/y, /x] }, limits: [] }
)",
     R"(limits.yaml:6:5: routes[1]: cannot be reached: the route on line 5 has the same when
)"},
    {13, R"(version: 1
limits:
  a: { rate: 9/s, cost: [{ cost: 1 }, { when: { path: /x }, cost: 2 }] }
)",
     R"(limits.yaml:3:39: limits.a.cost[1]: cannot be reached: the cost on line 3 has no when
)"},
    {14, R"(version: 1
limits:
  a: { rate: 9/s }
  b: { rate: 8/s }
routes: [{ limits: [a] }]
)",
     R"(limits.yaml:4:3: warning: limits.b: no route uses it
)"},
    {15, R"(version: 1
limits:
  a: { rate: 9/s, within: al }
  all: { rate: 90/s }
)",
     R"(limits.yaml:3:27: limits.a.within: no limit is called 'al'; did you mean a?
)"},
    {15, R"(version: 1
limits:
  a: { rate: 9/s, within: b }
  b: { rate: 9/s, within: c }
  c: { rate: 9/s, within: b }
)",
     R"(limits.yaml:4:27: limits.b.within: leads in a circle: b -> c -> b
)"},
    {15, R"(version: 1
limits:
  a: { rate: 9/s, within: a }
)",
     R"(limits.yaml:3:27: limits.a.within: leads in a circle: a -> a
)"},
    {15, R"(version: 1
limits:
  tenant: { by: [tenant], rate: 90/s }
  user: { by: [user], rate: 9/s, within: tenant }
)",
     R"(limits.yaml:4:42: limits.user.within: 'tenant' counts by tenant, which is not in the by of 'user'
)"},
    {16, R"(version: 1
limits:
  all: { rate: 100/s, reserve: 20% }
  t: { by: [t], within: all, rate: 90/s, guarantee: 10/s }
)",
     R"(limits.yaml:4:53: limits.t.guarantee: nobody can count its keys: t may be anything; give it in an override whose when names them as texts
)"},
    {16, R"(version: 1
limits:
  all: { rate: 100/s, reserve: 20% }
  t: { by: [t], within: all, rate: 90/s, overrides: [{ when: { t: "a*" }, guarantee: 10/s }] }
)",
     R"(limits.yaml:4:86: limits.t.overrides[0].guarantee: nobody can count its keys: 'a*' may be any number of values of t; give it in an override whose when names them as texts
)"},
    {16, R"(version: 1
limits:
  all: { rate: 100/s, reserve: 50% }
  t: { by: [t], within: all, rate: 90/s, overrides: [{ when: { t: [a, b, c] }, guarantee: 40/s burst 10 }] }
)",
     R"(limits.yaml:3:16: limits.all.rate: the guarantees within it add up to 120/s, more than '100/s'
)"},
    {16, R"(version: 1
limits:
  all: { rate: 100/s, reserve: 25% }
  t: { by: [t], within: all, rate: 90/s, overrides: [{ when: { t: [a, b, c] }, guarantee: 10/s }] }
)",
     R"(limits.yaml:3:32: limits.all.reserve: 25% of the burst of '100/s' is 25; the bursts of the guarantees within it add up to 30
)"},
    {16, R"(version: 1
limits:
  all: { rate: 100/s }
  t: { by: [t], within: all, rate: 90/s, overrides: [{ when: { t: a }, guarantee: 10/s }] }
)",
     R"(limits.yaml:3:16: limits.all.rate: guarantees are within it, so it must have a reserve of at least 10 units of its burst
)"},
    {16, R"(version: 1
limits:
  t: { by: [t], rate: 90/s, guarantee: 10/s }
)",
     R"(limits.yaml:3:40: limits.t.guarantee: the limit has no within, so nobody guarantees it
)"},
    {16, R"(version: 1
limits:
  all: { rate: [100/s, 1000/h], reserve: 50%, overrides: [{ rate: 10/s burst 30 }] }
  t: { by: [t], within: all, rate: 90/s, overrides: [{ when: { t: a }, guarantee: 20/s burst 10 }] }
)",
     R"(limits.yaml:3:24: limits.all.rate: the guarantees within it add up to 72000/h, more than '1000/h'
limits.yaml:3:67: limits.all.overrides[0].rate: the guarantees within it add up to 20/s, more than '10/s burst 30'
)"},
    {17, R"(version: 1
limits:
  a: { rate: [10/s, 100/min], overrides: [{ rate: 1000/h }, { rate: unlimited/day }] }
)",
     R"(limits.yaml:3:51: limits.a.overrides[0].rate: '1000/h' is for a window that the limit does not have; its periods: s, min
limits.yaml:3:69: limits.a.overrides[1].rate: 'unlimited/day' is for a window that the limit does not have; its periods: s, min
)"},
    {17, R"(version: 1
limits:
  a: { rate: 10/s algorithm=fixed_window, overrides: [{ rate: 20/s }] }
)",
     R"(limits.yaml:3:63: limits.a.overrides[0].rate: '20/s' counts by gcra; the limit's window counts by fixed_window
)"},
    {17, R"(version: 1
limits:
  a: { deny: { ip: 10.0.0.1 }, overrides: [{ rate: 20/s }] }
)",
     R"(limits.yaml:3:46: limits.a.overrides[0].rate: the limit has no rate
)"},
    {18, R"(version: 1
limits:
  a: { by: [t], rate: 10/s, overrides: [{ when: { t: x }, rate: 10/s }, { when: { t: y }, reason: later }] }
)",
     R"(limits.yaml:3:41: warning: limits.a.overrides[0]: changes nothing
limits.yaml:3:73: warning: limits.a.overrides[1]: changes nothing
)"},
    {18, R"(version: 1
limits:
  a: { by: [t], rate: 10/s, overrides: [{ when: { t: x }, rate: 20/s }, { when: { t: x }, rate: 30/s }] }
)",
     R"(limits.yaml:3:41: warning: limits.a.overrides[0]: never counts: the override on line 3 matches whatever this one does, and the last that matches wins
)"},
    {18, R"(version: 1
limits:
  a: { by: [user], rate: 10/s, overrides: [{ when: { plan: pro }, rate: 20/s }] }
)",
     R"(limits.yaml:3:54: note: limits.a.overrides[0].when.plan: not in by: a key keeps one debt under whichever numbers its requests have
)"},
    {19, R"(version: 1
limits:
  a: { by: [t], rate: 10/s, overrides: [{ when: { t: x }, until: 2026-11-20, rate: 20/s }] }
)",
     R"(limits.yaml:3:66: warning: limits.a.overrides[0].until: 2026-11-20 is in the past: it is now 2026-11-21T00:00:00Z
)"},
    {19, R"(version: 1
limits:
  a: { rate: 10/s, shadow: until 2026-11-20T23:59:59+00:00 }
)",
     R"(limits.yaml:3:28: warning: limits.a.shadow: 2026-11-20T23:59:59+00:00 is in the past: it is now 2026-11-21T00:00:00Z
)"},
    {20, R"(version: 1
limits:
  a: { rate: [10/s burst 10, 1000/min burst 2000] }
)",
     R"(limits.yaml:3:30: limits.a.rate: '1000/min burst 2000' can never bind: '10/s' denies first, always
)"},
    {20, R"(version: 1
limits:
  a: { rate: [10/s, 600/min burst 10] }
)",
     R"(limits.yaml:3:21: limits.a.rate: '600/min burst 10' can never bind: '10/s' denies first, always
)"},
    {21, R"(version: 1
limits:
  a: { rate: 10/s burst 5, cost: 6 }
)",
     R"(limits.yaml:3:34: limits.a.cost: 6 is above the burst of '10/s burst 5' on line 3, so it could never pass; at most 5
)"},
    {21, R"(version: 1
limits:
  a: { by: [t], rate: 10/s burst 50, cost: [{ when: { path: /x }, cost: 20 }, { cost: 1 }], overrides: [{ when: { t: x }, rate: 5/s burst 10 }] }
)",
     R"(limits.yaml:3:73: limits.a.cost: 20 is above the burst of '5/s burst 10' on line 3, so it could never pass; at most 10
)"},
    {22, R"(version: 1
limits:
  a: { rate: 10/s burst 100, hold: { estimate: 60, ttl: 10s, at_most: 50% } }
)",
     R"(limits.yaml:3:30: limits.a.hold: at_most is 50% of the burst of '10/s burst 100', which is 50; the estimate, 60, must fit into it
)"},
    {22, R"(version: 1
limits:
  a: { rate: 10/s burst 100, reserve: 10%, hold: { estimate: 60, ttl: 10s, at_most: 90% } }
  b: { by: [user], within: a, rate: 10/s burst 100, hold: { estimate: 60, ttl: 10s, at_most: 90% } }
)",
     R"(limits.yaml:3:85: limits.a.hold.at_most: holds of others could fill it, and refuse what the reserve on line 3 keeps for guarantees; leave it out, and the limit has no at_most
)"},
    {22, R"(version: 1
limits:
  a:
    by: [t]
    rate: 10/s burst 100
    hold: { estimate: 60, ttl: 10s, at_most: 100% }
    overrides: [{ when: { t: x }, reserve: 10% }]
)",
     R"(limits.yaml:6:46: limits.a.hold.at_most: holds of others could fill it, and refuse what the reserve on line 7 keeps for guarantees; leave it out, and the limit has no at_most
)"},
    {22, R"(version: 1
limits:
  a: { rate: [10/s burst 100, 1000/h], hold: { estimate: 60, ttl: 10001ms } }
)",
     R"(limits.yaml:3:67: note: limits.a.hold.ttl: what is settled later than 10s gets nothing back: by then the burst of '10/s burst 100' has drained
)"},
    {22, R"(version: 1
limits:
  a: { in_flight: 5 }
)",
     R"(limits.yaml:3:8: limits.a.in_flight: needs a hold, which takes the slot and ends by itself: write hold: { ttl: 60s }
)"},
    {6, R"(version: 1
limits:
  a: { in_flight: 5, hold: { ttl: 9s }, reserve: 10% }
  b: { in_flight: 5, hold: { ttl: 9s }, guarantee: 5/s }
  c: { in_flight: 5, hold: { ttl: 9s }, penalty: 5min, refunds: true }
)",
     R"(limits.yaml:3:41: limits.a.reserve: is of rates, and the limit has in_flight alone
limits.yaml:4:41: limits.b.guarantee: is of rates, and the limit has in_flight alone
limits.yaml:4:52: limits.b.guarantee: the limit has no within, so nobody guarantees it
limits.yaml:5:41: limits.c.penalty: is of rates, and the limit has in_flight alone
limits.yaml:5:50: note: limits.c.penalty: the limit has no by: one denial makes everybody wait
limits.yaml:5:56: limits.c.refunds: is of rates, and the limit has in_flight alone
)"},
    {4, R"(version: 1
limits:
  a: { in_flight: 0, hold: { ttl: 9s } }
)",
     R"(limits.yaml:3:19: limits.a.in_flight: to refuse everybody: deny, in the limits file; to limit nobody: leave the limit out
)"},
    {17, R"(version: 1
limits:
  a: { by: [t], rate: 5/s, hold: { ttl: 1s }, overrides: [{ when: { t: x }, in_flight: 5 }] }
)",
     R"(limits.yaml:3:77: limits.a.overrides[0].in_flight: the limit has no in_flight
)"},
    {8, R"(version: 1
classes: [default, bulk]
limits:
  a: { by: [t], in_flight: 3, hold: { ttl: 1s }, leave: { bulk: 60% }, overrides: [{ when: { t: x }, in_flight: 2 }] }
)",
     R"(limits.yaml:4:50: limits.a.leave: 60% of 'in_flight=2' on line 4, in whole slots rounded up, leaves the least important class none
)"},
    {23, R"(version: 1
limits:
  a: { by: [user], rate: 10/s burst 5, max_wait: 1s }
  b: { by: [ip], rate: 10/s algorithm=sliding_window_counter }
)",
     R"(limits.yaml:3:50: warning: limits.a.max_wait: no request can wait: it meets 'b' too, which counts by sliding_window_counter
)"},
    {25, R"(version: 1
limits:
  a: { rate: 10/s, shadow: true }
)",
     R"(limits.yaml:3:28: warning: limits.a.shadow: has no end; write until 2026-12-01
)"},
    {26, R"(version: 1
limits:
  a: { rate: [100/s, 150/2s, 210/3s, 260/4s, 300/5s, 330/6s, 350/7s, 360/8s, 361/9s] }
)",
     R"(limits.yaml:3:14: limits.a.rate: 9 windows; a limit has at most 8
)"},
    {26, R"(version: 1
a: [[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]
)",
     R"(limits.yaml:2:19: a[0][0][0][0][0][0][0][0][0][0][0][0][0][0][0]: maps and lists in each other, more than 16 deep
)"},
    {27, R"(version: 1
classes: [default, bulk]
limits:
  b: { rate: 100/s burst 400, reserve: 50% }
  a: { rate: 10/s algorithm=fixed_window, leave: { bulk: 10% }, reserve: 10%, guarantee: 5/s, within: b, max_wait: 1s, hold: { estimate: 1, ttl: 1s } }
)",
     R"(limits.yaml:5:43: limits.a.leave: only gcra can do this; '10/s algorithm=fixed_window' counts by fixed_window
limits.yaml:5:65: limits.a.reserve: only gcra can do this; '10/s algorithm=fixed_window' counts by fixed_window
limits.yaml:5:79: limits.a.guarantee: only gcra can do this; '10/s algorithm=fixed_window' counts by fixed_window
limits.yaml:5:95: limits.a.within: only gcra can do this; '10/s algorithm=fixed_window' counts by fixed_window
limits.yaml:5:106: limits.a.max_wait: only gcra can do this; '10/s algorithm=fixed_window' counts by fixed_window
)"},
    {27, R"(version: 1
limits:
  a: { rate: 10/s algorithm=fixed_window, hold: { ttl: 1s } }
  b: { rate: 10/s algorithm=sliding_window_counter, hold: { ttl: 1s } }
)",
     R"(limits.yaml:4:53: limits.b.hold: gcra and fixed windows can do this; '10/s algorithm=sliding_window_counter' counts by sliding_window_counter
)"},
    {27, R"(version: 1
limits:
  b: { rate: 100/s algorithm=sliding_window_log }
  a: { rate: 10/s, within: b }
)",
     R"(limits.yaml:4:28: limits.a.within: only gcra can do this; 'b' counts by sliding_window_log
)"},
    {27, R"(version: 1
limits:
  b: { rate: 100/s, reserve: 50% }
  a: { rate: 10/s, within: b, guarantee: 5/s algorithm=fixed_window }
)",
     R"(limits.yaml:4:42: limits.a.guarantee: a guarantee counts by gcra, not by fixed_window
)"},
    {29, R"(version: 1
limits:
  a: { rate: 1/ms burst 2, on_store_error: local 25%, overrides: [{ when: { t: x }, rate: 1/ms burst 1 }], by: [t] }
  b: { rate: 1/ms burst 3, on_store_error: local 30% }
  c: { rate: 1/ms burst 4, on_store_error: local 25% }
)",
     R"(limits.yaml:3:44: warning: limits.a.on_store_error: 25% of the burst of '1/ms' is less than one unit, and each server hands out one: 4 servers together exceed the burst by 3
)"},
    {4, R"(version: 1
limits:
  a: { rate: 10/s, lease: {} }
  b: { rate: 10/s, lease: { units: 1, for: 0s } }
)",
     R"(limits.yaml:3:20: limits.a.lease: missing units: how many a server takes at a time
limits.yaml:4:36: limits.b.lease.units: '1' is not a whole number from 2 to 9223372036854775807
limits.yaml:4:44: limits.b.lease.for: '0s' leaves no time to spend it in
)"},
    {27, R"(version: 1
limits:
  a: { rate: 10/s algorithm=fixed_window, lease: { units: 5 } }
)",
     R"(limits.yaml:3:43: limits.a.lease: only gcra can do this; '10/s algorithm=fixed_window' counts by fixed_window
)"},
    {30, R"(version: 1
limits:
  a: { rate: 10/s burst 20, lease: { units: 20 } }
  b: { rate: 10/s, lease: { units: 5 } }
  c: { rate: 10/s }
  d: { rate: 10/s, lease: { units: 5 } }
routes:
  - { when: { path: /a }, limits: [a, d] }
  - { when: { path: /b }, limits: [b, c] }
  - { limits: [d, c] }
)",
     R"(limits.yaml:3:29: warning: limits.a.lease: 20 units are the whole burst of '10/s burst 20': one server may take all that others could have
limits.yaml:4:20: warning: limits.b.lease: no request can spend it: each meets 'c' too, or another limit that has no lease
)"},
    {4, R"(version: 1
answers: { headers: [ratelimit-11, draft-06, x-ratelimit, x-ratelimit-epoch] }
)",
     R"(limits.yaml:2:36: answers.headers[1]: 'draft-06' and 'ratelimit-11' exclude each other; write one of them
limits.yaml:2:59: answers.headers[3]: 'x-ratelimit-epoch' and 'x-ratelimit' exclude each other; write one of them
)"},
    {4, R"(version: 1
answers: { headers: [retry-after, off, x-ratelimit] }
)",
     R"(limits.yaml:2:40: answers.headers[2]: 'x-ratelimit' and 'off' exclude each other; write one of them
)"},
    {4, R"(version: 1
limits:
  a: { rate: 1/s, show: maybe }
)",
     R"(limits.yaml:3:25: limits.a.show: 'maybe' is neither true nor false
)"},
    {4, R"(version: 1
gateways: [nginx]
)",
     R"(limits.yaml:2:11: gateways: a list is not a map
)"},
    {4, R"(version: 1
gateways:
  none:
  empty: {}
  typo: { form: path }
  unknown: { from: nginx }
  list: { from: [path] }
  right: { from: path }
)",
     R"(limits.yaml:3:3: gateways.none: has no value; write a map
limits.yaml:4:3: gateways.empty: missing from: one of x-forwarded, x-original, path
limits.yaml:5:11: gateways.typo.form: unknown; did you mean from?
limits.yaml:6:20: gateways.unknown.from: 'nginx' is none of: x-forwarded, x-original, path
limits.yaml:7:17: gateways.list.from: a list is not a text
)"},
    {4, R"(version: 1
gateways:
  a: { from: path, trusted: [proxy, "@nets", "10.*", 10.0.0.1] }
  b: { from: path, attributes: { user: x-user, plan: [header.a], team: header.x-team } }
  c: { from: path, address: x-real-ip }
  d: { from: path, deny_status: 200, on_missing: allow, odd_paths: no }
  e: { from: path, token: secret }
  f: { from: path, token: {} }
  g: { from: path, token: { header: header.x-token, env: TOKEN, value: x } }
)",
     R"(limits.yaml:3:30: gateways.a.trusted[0]: 'proxy' is neither an address nor a CIDR
limits.yaml:3:37: gateways.a.trusted[1]: '@nets' is neither an address nor a CIDR
limits.yaml:3:46: gateways.a.trusted[2]: '10.*' is neither an address nor a CIDR
limits.yaml:4:40: gateways.b.attributes.user: 'x-user' does not begin with 'header.'; write header.NAME
limits.yaml:4:54: gateways.b.attributes.plan: a list is not a text
limits.yaml:5:29: gateways.c.address: 'x-real-ip' does not begin with 'header.'; write header.NAME
limits.yaml:6:33: gateways.d.deny_status: '200' is not a whole number from 400 to 599
limits.yaml:6:50: gateways.d.on_missing: 'allow' is none of: skip, deny
limits.yaml:6:68: gateways.d.odd_paths: 'no' is none of: deny, keep
limits.yaml:7:27: gateways.e.token: 'secret' is not a map
limits.yaml:8:20: gateways.f.token: missing header: the one in which the gateway sends its token
limits.yaml:8:20: gateways.f.token: missing env: the environment variable that has the token
limits.yaml:9:37: gateways.g.token.header: 'header.x-token' is a name already; write it without 'header.'
limits.yaml:9:65: gateways.g.token.value: unknown; known: header, env
)"},
    {10, R"(version: 1
gateways:
  a: { from: path, trusted: [10.0.0.1/8, 10.0.0.0/33, "::1/128"] }
)",
     R"(limits.yaml:3:30: gateways.a.trusted[0]: '10.0.0.1/8' has bits set beyond its prefix; did you mean 10.0.0.0/8?
limits.yaml:3:42: gateways.a.trusted[1]: '10.0.0.0/33' has a prefix that is too long; at most /32 for IPv4, /128 for IPv6
)"},
    {11, R"(version: 1
gateways:
  Nginx: { from: path }
  a: { from: path, attributes: { User: header.x-user, user: "header.x user", b: header. } }
  b: { from: path, token: { header: "x:token", env: 1TOKEN } }
)",
     R"(limits.yaml:3:3: gateways.Nginx: 'Nginx' is not a name; it begins with a-z and has at most 64 of a-z, 0-9, _ and -
limits.yaml:4:34: gateways.a.attributes.User: 'User' is not a name; it begins with a-z and has at most 64 of a-z, 0-9, _, . and -
limits.yaml:4:61: gateways.a.attributes.user: 'x user' is not the name of a header; at most 64 of A-Z, a-z, 0-9 and !#$%&'*+-.^_`|~
limits.yaml:4:81: gateways.a.attributes.b: '' is not the name of a header; at most 64 of A-Z, a-z, 0-9 and !#$%&'*+-.^_`|~
limits.yaml:5:37: gateways.b.token.header: 'x:token' is not the name of a header; at most 64 of A-Z, a-z, 0-9 and !#$%&'*+-.^_`|~
limits.yaml:5:53: gateways.b.token.env: '1TOKEN' is not the name of an environment variable
)"},
    {28, R"(version: 1
gateways:
  a: { from: path, attributes: { ip: header.x-ip, raw_path: header.x-path, user: header.Authorization, cost: header.X-Weir-Cost } }
  b: { from: path, address: header.authorization, token: { header: Authorization, env: TOKEN } }
)",
     R"(limits.yaml:3:34: gateways.a.attributes.ip: comes from the gateway, by `from`, and cannot be mapped
limits.yaml:3:51: gateways.a.attributes.raw_path: comes from the gateway, by `from`, and cannot be mapped
limits.yaml:3:82: gateways.a.attributes.user: 'Authorization' is a header that the gate never reads
limits.yaml:3:110: gateways.a.attributes.cost: 'X-Weir-Cost' is a header that the gate never reads
limits.yaml:4:29: gateways.b.address: 'authorization' is a header that the gate never reads
limits.yaml:4:68: gateways.b.token.header: 'Authorization' is a header that the gate never reads
)"},
    {28, R"(version: 1
gateways:
  a: { from: x-original, trusted: 10.0.0.0/8 }
  b: { from: x-forwarded, trusted: [0.0.0.0/0, "::/0"] }
)",
     R"(limits.yaml:3:26: warning: gateways.a.trusted: is not used with x-original, where one header has one address
limits.yaml:4:37: warning: gateways.b.trusted[0]: '0.0.0.0/0' trusts every address, so clients choose their own
limits.yaml:4:48: warning: gateways.b.trusted[1]: '::/0' trusts every address, so clients choose their own
)"},
    {28, R"(version: 1
limits:
  job: { by: [user], in_flight: 2, hold: { ttl: 1min } }
  all: { rate: 1/s burst 9, in_flight: 9, hold: { ttl: 9s } }
  own: { by: [worker], in_flight: 2, hold: { ttl: 1min } }
routes:
  - { when: { plan: big }, limits: [all] }
  - { when: { path: /job }, limits: [job, own] }
  - { when: { path: /jobs }, limits: [job] }
  - { limits: [own] }
gateways:
  a: { from: path, attributes: { user: header.x-user } }
  b: { from: path, attributes: { plan: header.x-plan }, hold: false }
  c: { from: path, attributes: { user: header.x-user, plan: header.x-plan }, hold: true }
  d: { from: path }
)",
     R"(limits.yaml:12:3: warning: gateways.a: a request that meets 'job' is an error, as that has in_flight; write hold: true
limits.yaml:13:3: warning: gateways.b: a request that meets 'all' is an error, as that has in_flight; write hold: true
)"},
    {4, R"(version: 1
gateways:
  a: { from: path, hold: yes }
)",
     R"(limits.yaml:3:26: gateways.a.hold: 'yes' is neither true nor false
)"},
    {31, R"(version: 1
attributes: [tenant, user, plan, tokens, Bad, user]
hash_tag: tennant
limits:
  user: { by: [usr], rate: 1/s, deny: { plann: x }, cost: { from: token } }
  ip: { by: [ip, tenant], rate: 1/s burst 9, cost: [{ when: { pth: /x }, cost: 2 }], overrides: [{ when: { planet: x }, rate: 2/s }] }
routes:
  - { when: { metod: GET, x-batch: "1" }, limits: [user] }
  - { limits: [ip] }
gateways:
  nginx: { from: x-original, attributes: { x-batch: header.x-batch } }
)",
     R"(limits.yaml:2:42: attributes[4]: 'Bad' is not a name; it begins with a-z and has at most 64 of a-z, 0-9, _, . and -
limits.yaml:2:47: attributes[5]: 'user' a second time
limits.yaml:3:11: hash_tag: 'tennant' is not one of `attributes`; did you mean tenant?
limits.yaml:3:11: warning: hash_tag: no limit has 'tennant' in its by
limits.yaml:5:16: limits.user.by[0]: 'usr' is not one of `attributes`; did you mean user?
limits.yaml:5:41: limits.user.deny.plann: 'plann' is not one of `attributes`; did you mean plan?
limits.yaml:5:67: limits.user.cost.from: 'token' is not one of `attributes`; did you mean tokens?
limits.yaml:6:63: limits.ip.cost[0].when.pth: 'pth' is not one of `attributes`; did you mean path?
limits.yaml:6:108: limits.ip.overrides[0].when.planet: 'planet' is not one of `attributes`; did you mean plan?
limits.yaml:6:108: note: limits.ip.overrides[0].when.planet: not in by: a key keeps one debt under whichever numbers its requests have
limits.yaml:8:15: routes[0].when.metod: 'metod' is not one of `attributes`; did you mean method?
)"},
    {9, R"(version: 1
limits:
  a: { by: [user], rate: 1/s, deny: { path: ["/a*", /b, "/a*"] } }
)",
     R"(limits.yaml:3:57: limits.a.deny.path[2]: the pattern '/a*' a second time
)"},
  };
  return kRows;
}
// clang-format on

TEST(Refused, is_told_with_its_line_what_was_written_and_what_is_allowed) {
  for (const Refused& row : rows()) {
    const ReadResult reading = read(row.file, test_options());
    EXPECT_EQ(shown(reading.findings), row.told) << row.file;
    EXPECT_EQ(reading.file == nullptr, has_errors(reading.findings)) << row.file;
    const bool of_rule =
        std::any_of(reading.findings.begin(), reading.findings.end(),
                    [&](const Finding& finding) { return number_of(finding.rule) == row.rule; });
    EXPECT_TRUE(of_rule) << row.rule << ": " << row.file;
  }
}

// 24 is a warning of `weir serve`, which knows whether there is a store.
TEST(Refused, every_rule_has_an_example) {
  std::set<int> rules = {24};
  for (const Refused& row : rows()) rules.insert(row.rule);
  // Those of lint, which is told how the file is served: deployment_test.cpp.
  for (const int rule : {32, 33}) rules.insert(rule);
  EXPECT_EQ(rules.size(), 33U);
}

std::string only(const ReadResult& reading) {
  return reading.findings.size() == 1 ? to_text(reading.findings[0]) : shown(reading.findings);
}

TEST(Refused, what_is_past_is_an_error_where_lint_asks) {
  ReadOptions options = test_options();
  options.past = Severity::error;
  const std::string file = "version: 1\nlimits:\n  a: { rate: 10/s, shadow: until 2026-11-21 }\n";
  EXPECT_EQ(only(read(file, options)),
            "limits.yaml:3:28: limits.a.shadow: 2026-11-21 is in the past: it is now 2026-11-21T00:00:00Z");
  options.now = kTestNow - std::chrono::nanoseconds{1};
  EXPECT_EQ(only(read(file, options)), "");
}

TEST(Refused, more_than_the_bounds) {
  std::string many = "version: 1\nlimits:\n";
  for (int i = 0; i < 1025; ++i) many += "  l" + std::to_string(i) + ": { rate: 1/s }\n";
  EXPECT_EQ(only(read(many + "routes: [{ limits: [l7] }]\n", test_options())),
            "limits.yaml:2:1: limits: 1025 limits; at most 1024");
  const std::string long_file = "version: 1\n# " + std::string(1 << 20, 'x') + "\n";
  EXPECT_EQ(only(read(long_file, test_options())),
            "limits.yaml: more than 1048576 bytes (1 MiB) are not read");
  EXPECT_EQ(only(read("version: 1\nlists: { a: [" + std::string(4097, 'x') + "] }\n", test_options())),
            "limits.yaml:2:14: lists.a[0]: a text of 4097 bytes; at most 4096 are read");
  std::string checks = "version: 1\nlimits:\n";
  for (int i = 0; i < 17; ++i)
    checks += "  l" + std::to_string(i) + ": { rate: " + std::to_string(i + 1) + "/s }\n";
  EXPECT_EQ(
      only(read(checks, test_options())),
      "limits.yaml: limits: 17 checks for one request (a window is one, a guarantee another); at most 16");
  std::string names = "l0";
  for (int i = 1; i < 17; ++i) names += ", l" + std::to_string(i);
  EXPECT_EQ(only(read(checks + "routes: [{ limits: [" + names + "] }]\n", test_options())),
            "limits.yaml:20:10: routes[0]: 17 checks for one request (a window is one, a guarantee another); "
            "at most 16");
}

TEST(Refused, everything_is_told_at_once_in_the_order_of_the_lines) {
  const ReadResult reading =
      read("version: 2\nlimits:\n  a: { rate: x }\n  b: { by: [B], rate: 1/s }\nroutes: [{ limits: [c] }]\n",
           test_options());
  EXPECT_EQ(shown(reading.findings),
            "limits.yaml:1:1: version: '2' is not a version; write version: 1\n"
            "limits.yaml:3:3: warning: limits.a: no route uses it\n"
            "limits.yaml:3:14: limits.a.rate: quota 'x': missing '/' between count and period; the form is "
            "COUNT/PERIOD [burst N], as in 100/min or 5/10s burst 20\n"
            "limits.yaml:4:3: warning: limits.b: no route uses it\n"
            "limits.yaml:4:13: limits.b.by[0]: 'B' is not a name; it begins with a-z and has at most 64 of "
            "a-z, 0-9, "
            "_, . and -\n"
            "limits.yaml:5:21: routes[0].limits[0]: no limit is called 'c'; known: a, b\n");
}

TEST(Refused, of_very_much_that_is_wrong_the_first_thousand) {
  std::string file = "version: 1\n";
  for (int i = 0; i < 100'000; ++i) file += "k" + std::to_string(i) + ": 1\n";
  const ReadResult reading = read(file, test_options());
  ASSERT_EQ(reading.findings.size(), 1000U);
  EXPECT_TRUE(has_errors(reading.findings));
}

TEST(Refused, an_unknown_class_beside_a_single_one) {
  EXPECT_EQ(
      only(read("version: 1\nclasses: default\nroutes: [{ class: bulk, limits: [] }]\n", test_options())),
      "limits.yaml:3:19: routes[0].class: no class is called 'bulk'; known: default");
}

TEST(Refused, any_number_of_warnings_is_not_an_error) {
  std::string file = "version: 1\nlimits:\n  a:\n    rate: 9/s\n    overrides:\n";
  for (int i = 0; i < 3000; ++i)
    file +=
        "      - { when: { plan: p" + std::to_string(i) + " }, rate: " + std::to_string(10 + i) + "/s }\n";
  const ReadResult reading = read(file, test_options());
  EXPECT_NE(reading.file, nullptr);
  ASSERT_EQ(reading.findings.size(), 1001U);
  EXPECT_EQ(to_text(reading.findings.back()), "limits.yaml: note: 2000 more findings are left out");
}

// Of numbers that come from different overrides: those that one request can have together.
TEST(Refused, costs_that_can_meet_a_smaller_burst) {
  const auto told = [](const std::string& overrides) {
    const ReadResult reading =
        read("version: 1\nlimits:\n  a: { by: [t], rate: 9/s burst 10, overrides: [" + overrides + "] }\n",
             test_options());
    return shown(reading.findings);
  };
  const std::string big = "{ when: { t: x }, rate: 9/s burst 50, cost: 20 }";
  EXPECT_EQ(told(big), "");
  EXPECT_EQ(told(big + ", { when: { t: [x, y] }, rate: 9/s burst 20 }"), "");
  EXPECT_EQ(told(big + ", { when: { t: [x, y] }, rate: 9/s burst 19 }"),
            "limits.yaml:3:93: limits.a.overrides[0].cost: 20 is above the burst of '9/s burst 19' on line "
            "3, so it could "
            "never pass; at most 19\n");
  EXPECT_EQ(told("{ when: { t: x }, rate: 9/s burst 50 }, { when: { t: x }, cost: 11 }"),
            "limits.yaml:3:113: limits.a.overrides[1].cost: 11 is above the burst of '9/s burst 10' on line "
            "3, so it could "
            "never pass; at most 10\n");
  EXPECT_EQ(told("{ when: { t: x }, rate: unlimited, cost: 99 }"), "");
}

}  // namespace
}  // namespace weir::limits
