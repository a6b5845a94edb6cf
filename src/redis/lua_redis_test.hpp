// For tests: a Redis without a server. It runs the scripts that are loaded into it, in Debian's Lua 5.1,
// which is the language that Redis has, or in 5.4, Dragonfly's, whichever the program is built with; and
// knows of the commands what those scripts and the client ask.
//
// As in Redis: a script sees neither globals nor variables that it did not declare, numbers are cut to whole
// ones on their way out, false is nil, and an array ends at its first nil. Keys expire by the clock that is
// handed in with each command. Other than in Redis, a script that fails half way is not looked for: its
// writes stay, and the error is the answer.
//
// One thread. Not for: latency, failures and connections (shared_world_test.hpp).
#pragma once

#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <iterator>
#include <limits>
#include <lua.hpp>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "redis/lua_version_test.hpp"
#include "redis/script.hpp"
#include "redis/wire_test.hpp"

namespace weir::inline v0_1::redis {

// An answer, as Redis or a script makes it.
struct LuaReply {
  enum class Kind : std::uint8_t { nil, number, score, text, status, error, list };
  Kind kind = Kind::nil;
  std::int64_t number = 0;
  std::string text{};
  std::vector<LuaReply> list{};

  static LuaReply of(std::int64_t number) { return {Kind::number, number}; }
  static LuaReply of(std::string text) { return {Kind::text, 0, std::move(text)}; }
  static LuaReply ok() { return {Kind::status, 0, "OK"}; }
  static LuaReply error(std::string text) { return {Kind::error, 0, std::move(text)}; }

  std::string wire() const {
    switch (kind) {
      case Kind::nil:
        return "$-1\r\n";
      case Kind::number:
        return ":" + std::to_string(number) + "\r\n";
      case Kind::score:
      case Kind::text:
        return bulk(text);
      case Kind::status:
        return "+" + text + "\r\n";
      case Kind::error:
        return "-" + text + "\r\n";
      case Kind::list:
        break;
    }
    std::string all = "*" + std::to_string(list.size()) + "\r\n";
    for (const LuaReply& each : list) all += each.wire();
    return all;
  }
};

class LuaRedis {
 public:
  using nanoseconds = std::chrono::nanoseconds;
  // By score, then by member.
  struct SortedSet {
    std::set<std::pair<double, std::string>> members;
    std::map<std::string, double> scores;
  };
  using List = std::deque<std::string>;
  using Hash = std::map<std::string, std::string>;
  struct Value {
    std::variant<std::string, List, SortedSet, Hash> data;
    std::optional<std::int64_t> expires_ms{};
  };
  using Keys = std::map<std::string, Value, std::less<>>;

  LuaRedis() : lua_(luaL_newstate(), &lua_close) {
    lua_State* const lua = lua_.get();
    luaL_openlibs(lua);
    lua_newtable(lua);
    for (const auto& [name, function] : {std::pair{"call", &call}, {"pcall", &pcall}}) {
      lua_pushlightuserdata(lua, this);
      lua_pushcclosure(lua, function, 1);
      lua_setfield(lua, -2, name);
    }
    lua_setglobal(lua, "redis");
    lua_newtable(lua);
    for (const auto& [name, function] : {std::pair{"pack", &pack}, {"unpack", &unpack}}) {
      lua_pushcfunction(lua, function);
      lua_setfield(lua, -2, name);
    }
    lua_setglobal(lua, "struct");
    constexpr const char* kSandbox = R"(
      redis.error_reply = function(text) return {err = text} end
      redis.status_reply = function(text) return {ok = text} end
      setmetatable(_G, {
        __newindex = function(_, name) error('a script must not make the global variable ' .. name, 2) end,
        __index = function(_, name) error('there is no global variable ' .. name, 2) end}))";
    if (luaL_dostring(lua, kSandbox) != 0) throw std::logic_error(lua_tostring(lua, -1));
  }
  LuaRedis(const LuaRedis&) = delete;
  LuaRedis& operator=(const LuaRedis&) = delete;

  // What a Redis whose clock says `now` answers.
  LuaReply answer(const Strings& words, nanoseconds now) {
    now_ = now;
    const auto command = commands().find(words[0]);
    if (command == commands().end()) return LuaReply::error("ERR unknown command '" + words[0] + "'");
    try {
      return (this->*command->second)(words);
    } catch (const WrongType&) {
      return LuaReply::error("WRONGTYPE Operation against a key holding the wrong kind of value");
    }
  }
  static bool knows(const std::string& name) { return commands().contains(name); }
  void flush_scripts() { scripts_.clear(); }
  // All that is kept, as a replica has it, and what a promoted one has from then on.
  const Keys& keys() const { return keys_; }
  void keep(Keys keys) { keys_ = std::move(keys); }
  // From now on that is the script of this name, whatever is loaded.
  void load_as(const std::string& sha, const std::string& script) {
    if (luaL_loadbuffer(lua_.get(), script.data(), script.size(), "@script") != 0)
      throw std::logic_error(failed().text);
    scripts_[sha] = luaL_ref(lua_.get(), LUA_REGISTRYINDEX);
  }

 private:
  struct WrongType {};
  using Command = LuaReply (LuaRedis::*)(const Strings&);

  static const std::map<std::string, Command, std::less<>>& commands() {
    static const std::map<std::string, Command, std::less<>> kCommands = {
        {"DEL", &LuaRedis::del},
        {"EVAL", &LuaRedis::eval},
        {"EVALSHA", &LuaRedis::evalsha},
        {"GET", &LuaRedis::get},
        {"HDEL", &LuaRedis::hdel},
        {"HGET", &LuaRedis::hget},
        {"HGETALL", &LuaRedis::hgetall},
        {"HINCRBY", &LuaRedis::hincrby},
        {"HSCAN", &LuaRedis::hscan},
        {"HSET", &LuaRedis::hset},
        {"LINDEX", &LuaRedis::lindex},
        {"LRANGE", &LuaRedis::lrange},
        {"LSET", &LuaRedis::lset},
        {"LTRIM", &LuaRedis::ltrim},
        {"PEXPIRE", &LuaRedis::pexpire},
        {"PEXPIREAT", &LuaRedis::pexpireat},
        {"PING", &LuaRedis::ping},
        {"PTTL", &LuaRedis::pttl},
        {"RPUSH", &LuaRedis::rpush},
        {"SCRIPT", &LuaRedis::script},
        {"SET", &LuaRedis::set},
        {"TIME", &LuaRedis::time},
        {"ZADD", &LuaRedis::zadd},
        {"ZCOUNT", &LuaRedis::zcount},
        {"ZRANGE", &LuaRedis::zrange},
        {"ZRANGEBYSCORE", &LuaRedis::zrangebyscore},
        {"ZREM", &LuaRedis::zrem},
        {"ZREMRANGEBYSCORE", &LuaRedis::zremrangebyscore},
        {"ZREVRANGEBYSCORE", &LuaRedis::zrevrangebyscore},
        {"ZSCORE", &LuaRedis::zscore}};
    return kCommands;
  }

  // ------------------------------------------------------------------------------------------- keys

  Value* find(const std::string& key) {
    const auto found = keys_.find(key);
    if (found == keys_.end()) return nullptr;
    const auto now_ms = now_.count() / 1'000'000;
    if (found->second.expires_ms.value_or(std::numeric_limits<std::int64_t>::max()) > now_ms)
      return &found->second;
    keys_.erase(found);
    return nullptr;
  }
  template <class Data>
  Data* find_as(const std::string& key) {
    Value* const value = find(key);
    if (value == nullptr) return nullptr;
    if (!std::holds_alternative<Data>(value->data)) throw WrongType();
    return &std::get<Data>(value->data);
  }
  template <class Data>
  Data& make_as(const std::string& key) {
    if (find(key) == nullptr) keys_[key] = {Data{}};
    return *find_as<Data>(key);
  }

  LuaReply time(const Strings&) {
    const std::int64_t us = now_.count() / 1000;
    LuaReply reply{LuaReply::Kind::list};
    reply.list.push_back(LuaReply::of(std::to_string(us / 1'000'000)));
    reply.list.push_back(LuaReply::of(std::to_string(us % 1'000'000)));
    return reply;
  }
  LuaReply ping(const Strings&) { return {LuaReply::Kind::status, 0, "PONG"}; }
  LuaReply get(const Strings& words) {
    const auto* text = find_as<std::string>(words.at(1));
    return text != nullptr ? LuaReply::of(*text) : LuaReply{};
  }
  // SET key text [PXAT ms]
  LuaReply set(const Strings& words) {
    Value value{words.at(2)};
    if (words.size() > 3) {
      if (words.at(3) != "PXAT") return LuaReply::error("ERR syntax error");
      value.expires_ms = std::stoll(words.at(4));
    }
    keys_[words.at(1)] = std::move(value);
    return LuaReply::ok();
  }
  LuaReply del(const Strings& words) {
    std::int64_t gone = 0;
    for (std::size_t i = 1; i < words.size(); ++i) {
      if (find(words[i]) != nullptr) gone += static_cast<std::int64_t>(keys_.erase(words[i]));
    }
    return LuaReply::of(gone);
  }
  LuaReply pexpire(const Strings& words) {
    return pexpireat(
        {words.at(0), words.at(1), std::to_string(now_.count() / 1'000'000 + std::stoll(words.at(2)))});
  }
  LuaReply pexpireat(const Strings& words) {
    Value* const value = find(words.at(1));
    if (value != nullptr) value->expires_ms = std::stoll(words.at(2));
    return LuaReply::of(value != nullptr ? 1 : 0);
  }

  LuaReply pttl(const Strings& words) {
    const Value* const value = find(words.at(1));
    if (value == nullptr) return LuaReply::of(-2);
    return LuaReply::of(value->expires_ms ? *value->expires_ms - now_.count() / 1'000'000 : -1);
  }

  // ------------------------------------------------------------------------------------------ lists

  static std::int64_t index_in(const List& list, const std::string& word) {
    const std::int64_t index = std::stoll(word);
    return index < 0 ? index + static_cast<std::int64_t>(list.size()) : index;
  }
  LuaReply lindex(const Strings& words) {
    const List* const list = find_as<List>(words.at(1));
    if (list == nullptr) return {};
    const std::int64_t index = index_in(*list, words.at(2));
    if (index < 0 || index >= static_cast<std::int64_t>(list->size())) return {};
    return LuaReply::of((*list)[static_cast<std::size_t>(index)]);
  }
  // Those from one index to another, the last included.
  static std::pair<std::size_t, std::size_t> range_in(const List& list, const Strings& words) {
    const std::int64_t first = std::max<std::int64_t>(0, index_in(list, words.at(2)));
    const std::int64_t last =
        std::min(static_cast<std::int64_t>(list.size()) - 1, index_in(list, words.at(3)));
    if (first > last) return {0, 0};
    return {static_cast<std::size_t>(first), static_cast<std::size_t>(last + 1)};
  }
  LuaReply lrange(const Strings& words) {
    LuaReply reply{LuaReply::Kind::list};
    const List* const list = find_as<List>(words.at(1));
    if (list == nullptr) return reply;
    const auto [first, end] = range_in(*list, words);
    for (std::size_t i = first; i < end; ++i) reply.list.push_back(LuaReply::of((*list)[i]));
    return reply;
  }
  LuaReply lset(const Strings& words) {
    List* const list = find_as<List>(words.at(1));
    if (list == nullptr) return LuaReply::error("ERR no such key");
    list->at(static_cast<std::size_t>(index_in(*list, words.at(2)))) = words.at(3);
    return LuaReply::ok();
  }
  LuaReply ltrim(const Strings& words) {
    List* const list = find_as<List>(words.at(1));
    if (list == nullptr) return LuaReply::ok();
    const auto [first, end] = range_in(*list, words);
    *list = List(list->begin() + static_cast<std::ptrdiff_t>(first),
                 list->begin() + static_cast<std::ptrdiff_t>(end));
    if (list->empty()) keys_.erase(words[1]);
    return LuaReply::ok();
  }
  LuaReply rpush(const Strings& words) {
    List& list = make_as<List>(words.at(1));
    list.insert(list.end(), words.begin() + 2, words.end());
    return LuaReply::of(static_cast<std::int64_t>(list.size()));
  }

  // ------------------------------------------------------------------------------------ sorted sets

  // "5", "(5": without 5 itself, "-inf", "+inf".
  struct Bound {
    explicit Bound(std::string_view word) : is_open(word.starts_with('(')) {
      score = std::strtod(std::string(word.substr(is_open ? 1 : 0)).c_str(), nullptr);
    }
    double score;
    bool is_open;
  };
  static Strings between(const SortedSet& set, const std::string& least, const std::string& most) {
    const Bound from(least), to(most);
    Strings found;
    for (auto at = set.members.lower_bound({from.score, ""}); at != set.members.end(); ++at) {
      if (from.is_open && at->first <= from.score) continue;
      if (at->first > to.score || (to.is_open && at->first >= to.score)) break;
      found.push_back(at->second);
    }
    return found;
  }
  LuaReply zadd(const Strings& words) {
    SortedSet& set = make_as<SortedSet>(words.at(1));
    std::int64_t added = 0;
    for (std::size_t i = 2; i + 1 < words.size(); i += 2) {
      added += remove_from(set, words[i + 1]) ? 0 : 1;
      const double score = Bound(words[i]).score;
      set.members.emplace(score, words[i + 1]);
      set.scores[words[i + 1]] = score;
    }
    return LuaReply::of(added);
  }
  static bool remove_from(SortedSet& set, const std::string& member) {
    const auto found = set.scores.find(member);
    if (found == set.scores.end()) return false;
    set.members.erase({found->second, member});
    set.scores.erase(found);
    return true;
  }
  LuaReply remove_members(const std::string& key, const Strings& members) {
    SortedSet* const set = find_as<SortedSet>(key);
    if (set == nullptr) return LuaReply::of(0);
    std::int64_t gone = 0;
    for (const std::string& member : members) gone += remove_from(*set, member) ? 1 : 0;
    if (set->members.empty()) keys_.erase(key);
    return LuaReply::of(gone);
  }
  LuaReply zrem(const Strings& words) {
    return remove_members(words.at(1), {words.begin() + 2, words.end()});
  }
  LuaReply zremrangebyscore(const Strings& words) {
    const SortedSet* const set = find_as<SortedSet>(words.at(1));
    if (set == nullptr) return LuaReply::of(0);
    return remove_members(words[1], between(*set, words.at(2), words.at(3)));
  }
  LuaReply zscore(const Strings& words) {
    const SortedSet* const set = find_as<SortedSet>(words.at(1));
    if (set == nullptr || !set->scores.contains(words.at(2))) return {};
    return {LuaReply::Kind::score, 0, std::to_string(set->scores.at(words.at(2)))};
  }
  LuaReply zcount(const Strings& words) {
    const SortedSet* const set = find_as<SortedSet>(words.at(1));
    const std::size_t count = set == nullptr ? 0 : between(*set, words.at(2), words.at(3)).size();
    return LuaReply::of(static_cast<std::int64_t>(count));
  }
  // key from to [LIMIT offset count]
  LuaReply range_by_score(const Strings& words, bool is_reversed) {
    LuaReply reply{LuaReply::Kind::list};
    const SortedSet* const set = find_as<SortedSet>(words.at(1));
    if (set == nullptr) return reply;
    Strings members = between(*set, words.at(is_reversed ? 3 : 2), words.at(is_reversed ? 2 : 3));
    if (is_reversed) members = Strings(members.rbegin(), members.rend());
    std::size_t first = 0, most = members.size();
    if (words.size() > 4) {
      if (words[4] != "LIMIT") return LuaReply::error("ERR syntax error");
      first = std::stoul(words.at(5));
      if (const std::int64_t count = std::stoll(words.at(6)); count >= 0)
        most = static_cast<std::size_t>(count);
    }
    for (std::size_t i = first; i < members.size() && reply.list.size() < most; ++i)
      reply.list.push_back(LuaReply::of(members[i]));
    return reply;
  }
  // key 0 0
  LuaReply zrange(const Strings& words) {
    LuaReply reply{LuaReply::Kind::list};
    const SortedSet* const set = find_as<SortedSet>(words.at(1));
    if (set == nullptr || words.at(2) != "0" || words.at(3) != "0") return reply;
    reply.list.push_back(LuaReply::of(set->members.begin()->second));
    return reply;
  }
  LuaReply zrangebyscore(const Strings& words) { return range_by_score(words, false); }
  LuaReply zrevrangebyscore(const Strings& words) { return range_by_score(words, true); }

  // ----------------------------------------------------------------------------------------- hashes

  LuaReply hget(const Strings& words) {
    const Hash* const hash = find_as<Hash>(words.at(1));
    if (hash == nullptr || !hash->contains(words.at(2))) return {};
    return LuaReply::of(hash->at(words[2]));
  }
  LuaReply hset(const Strings& words) {
    Hash& hash = make_as<Hash>(words.at(1));
    std::int64_t added = 0;
    for (std::size_t i = 2; i + 1 < words.size(); i += 2)
      added += hash.insert_or_assign(words[i], words[i + 1]).second ? 1 : 0;
    return LuaReply::of(added);
  }
  LuaReply hdel(const Strings& words) {
    Hash* const hash = find_as<Hash>(words.at(1));
    return LuaReply::of(hash != nullptr ? static_cast<std::int64_t>(hash->erase(words.at(2))) : 0);
  }
  LuaReply hincrby(const Strings& words) {
    std::string& text = make_as<Hash>(words.at(1))[words.at(2)];
    const std::int64_t sum = (text.empty() ? 0 : std::stoll(text)) + std::stoll(words.at(3));
    text = std::to_string(sum);
    return LuaReply::of(sum);
  }
  LuaReply hgetall(const Strings& words) {
    return hscan({"HSCAN", words.at(1), "0", "MATCH", "*"}).list.at(1);
  }
  // key 0 MATCH x* COUNT count: all at once
  LuaReply hscan(const Strings& words) {
    LuaReply found{LuaReply::Kind::list};
    const std::string begin = words.at(4).substr(0, words.at(4).size() - 1);
    const Hash* const hash = find_as<Hash>(words.at(1));
    for (const auto& [field, value] : hash != nullptr ? *hash : Hash{}) {
      if (!field.starts_with(begin)) continue;
      found.list.push_back(LuaReply::of(field));
      found.list.push_back(LuaReply::of(value));
    }
    LuaReply reply{LuaReply::Kind::list};
    reply.list = {LuaReply::of("0"), std::move(found)};
    return reply;
  }

  // ---------------------------------------------------------------------------------------- scripts

  // SCRIPT LOAD text
  LuaReply script(const Strings& words) {
    if (words.at(1) != "LOAD") return LuaReply::error("ERR unknown subcommand");
    const std::string sha = sha_of(words.at(2));
    if (!scripts_.contains(sha)) load_as(sha, words[2]);
    return LuaReply::of(sha);
  }
  // EVALSHA sha keys key... word...
  LuaReply eval(const Strings& words) {
    if (!scripts_.contains(words.at(1))) load_as(words[1], words[1]);
    return evalsha(words);
  }
  LuaReply evalsha(const Strings& words) {
    const auto found = scripts_.find(words.at(1));
    if (found == scripts_.end()) return LuaReply::error("NOSCRIPT No matching script. Please use EVAL.");
    lua_State* const lua = lua_.get();
    const std::size_t argv = 3 + std::stoul(words.at(2));
    set_words("KEYS", words, 3, argv);
    set_words("ARGV", words, argv, words.size());
    lua_rawgeti(lua, LUA_REGISTRYINDEX, found->second);
    if (lua_pcall(lua, 0, 1, 0) != 0) return failed();
    LuaReply reply = reply_at_top();
    lua_pop(lua, 1);
    return reply;
  }
  void set_words(const char* name, const Strings& words, std::size_t first, std::size_t end) {
    lua_State* const lua = lua_.get();
    lua_version::push_globals(lua);
    lua_pushstring(lua, name);
    lua_createtable(lua, static_cast<int>(end - first), 0);
    for (std::size_t i = first; i < end; ++i) {
      lua_pushlstring(lua, words[i].data(), words[i].size());
      lua_rawseti(lua, -2, static_cast<int>(i - first + 1));
    }
    lua_rawset(lua, -3);
    lua_pop(lua, 1);
  }
  LuaReply failed() {
    lua_State* const lua = lua_.get();
    std::string text = lua_isstring(lua, -1) != 0 ? lua_tostring(lua, -1) : "the script failed";
    lua_pop(lua, 1);
    return LuaReply::error("ERR " + text);
  }

  std::string text_at_top() {
    std::size_t size = 0;
    const char* const text = lua_tolstring(lua_.get(), -1, &size);
    return {text, size};
  }
  std::optional<std::string> field(const char* name) {
    lua_State* const lua = lua_.get();
    lua_getfield(lua, -1, name);
    std::optional<std::string> text;
    if (lua_type(lua, -1) == LUA_TSTRING) text = text_at_top();
    lua_pop(lua, 1);
    return text;
  }
  LuaReply reply_at_top() {
    lua_State* const lua = lua_.get();
    switch (lua_type(lua, -1)) {
      case LUA_TNUMBER:
        if (!lua_version::is_answered_whole(lua)) return LuaReply::of(lua_version::word_at(lua, -1));
        return LuaReply::of(static_cast<std::int64_t>(lua_tonumber(lua, -1)));
      case LUA_TSTRING:
        return LuaReply::of(text_at_top());
      case LUA_TBOOLEAN:
        return lua_toboolean(lua, -1) != 0 ? LuaReply::of(1) : LuaReply{};
      case LUA_TTABLE:
        break;
      default:
        return {};
    }
    if (auto text = field("err")) return LuaReply::error(*std::move(text));
    if (auto text = field("ok")) return {LuaReply::Kind::status, 0, *std::move(text)};
    LuaReply reply{LuaReply::Kind::list};
    for (int i = 1;; ++i) {
      lua_rawgeti(lua, -1, i);
      const bool is_end = lua_isnil(lua, -1);
      if (!is_end) reply.list.push_back(reply_at_top());
      lua_pop(lua, 1);
      if (is_end) return reply;
    }
  }
  void push(const LuaReply& reply) {
    lua_State* const lua = lua_.get();
    const auto push_field = [&](const char* name) {
      lua_newtable(lua);
      lua_pushlstring(lua, reply.text.data(), reply.text.size());
      lua_setfield(lua, -2, name);
    };
    switch (reply.kind) {
      case LuaReply::Kind::nil:
        return lua_pushboolean(lua, 0);
      case LuaReply::Kind::number:
        return lua_version::push_whole(lua, reply.number);
      case LuaReply::Kind::score:
        return lua_version::push_score(lua, reply.text);
      case LuaReply::Kind::text:
        lua_pushlstring(lua, reply.text.data(), reply.text.size());
        return;
      case LuaReply::Kind::status:
        return push_field("ok");
      case LuaReply::Kind::error:
        return push_field("err");
      case LuaReply::Kind::list:
        break;
    }
    lua_newtable(lua);
    for (std::size_t i = 0; i < reply.list.size(); ++i) {
      push(reply.list[i]);
      lua_rawseti(lua, -2, static_cast<int>(i + 1));
    }
  }

  // Nothing that needs a destructor lives here: an error of Lua's is a longjmp.
  static int call(lua_State* lua) { return ask(lua) ? 1 : lua_error(lua); }
  static int pcall(lua_State* lua) {
    ask(lua);
    return 1;
  }
  // Of the library called struct what the scripts ask of it: a 'd' for each double.
  static int pack(lua_State* lua) {
    const int count = static_cast<int>(length_at(lua, 1));
    luaL_checkstack(lua, count + 1, "too many");
    for (int i = 0; i < count; ++i) {
      const double number = luaL_checknumber(lua, 2 + i);
      std::array<char, sizeof number> bytes;
      std::memcpy(bytes.data(), &number, sizeof number);
      lua_pushlstring(lua, bytes.data(), bytes.size());
    }
    lua_concat(lua, count);
    return 1;
  }
  static int unpack(lua_State* lua) {
    const int count = static_cast<int>(length_at(lua, 1));
    std::size_t size = 0;
    const char* const bytes = luaL_checklstring(lua, 2, &size);
    if (size != static_cast<std::size_t>(count) * sizeof(double))
      return luaL_error(lua, "data string too short");
    luaL_checkstack(lua, count + 1, "too many");
    for (int i = 0; i < count; ++i) {
      double number = 0;
      std::memcpy(&number, bytes + static_cast<std::size_t>(i) * sizeof number, sizeof number);
      lua_pushnumber(lua, number);
    }
    lua_pushinteger(lua, static_cast<lua_Integer>(size + 1));
    return count + 1;
  }
  static std::size_t length_at(lua_State* lua, int at) {
    std::size_t size = 0;
    luaL_checklstring(lua, at, &size);
    return size;
  }

  // Leaves the answer on top, of an error its text for `call`. False for an error.
  static bool ask(lua_State* lua) {
    auto& redis = *static_cast<LuaRedis*>(lua_touserdata(lua, lua_upvalueindex(1)));
    Strings words;
    for (int i = 1; i <= lua_gettop(lua); ++i) {
      if (lua_type(lua, i) == LUA_TNUMBER) {
        words.push_back(lua_version::word_at(lua, i));
      } else {
        std::size_t size = 0;
        const char* const text = lua_tolstring(lua, i, &size);
        words.emplace_back(text != nullptr ? std::string(text, size) : "");
      }
    }
    const LuaReply reply = redis.answer(words, redis.now_);
    redis.push(reply);
    return reply.kind != LuaReply::Kind::error;
  }

  std::unique_ptr<lua_State, void (*)(lua_State*)> lua_;
  std::map<std::string, int, std::less<>> scripts_;  // in Lua's registry, by sha
  Keys keys_;
  nanoseconds now_{0};
};

}  // namespace weir::redis
