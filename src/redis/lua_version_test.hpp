// For tests: what the versions of Lua that Redis' scripts meet have apart. 5.1 is Redis', Valkey's and
// KeyDB's, and in it every number is a double; 5.4 is Dragonfly's, whose whole numbers are integers of 64
// bits. Then numbers get in and out as in Dragonfly: https://github.com/dragonflydb/dragonfly, its
// interpreter of src/core.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <lua.hpp>
#include <string>

namespace weir::inline v0_1::redis::lua_version {

inline std::string text_of(lua_Number number) {
  char digits[32];
  std::snprintf(digits, sizeof(digits), "%.17g", number);
  return digits;
}

#if LUA_VERSION_NUM >= 504

inline void push_globals(lua_State* lua) { lua_pushglobaltable(lua); }
// A whole number that a command answers.
inline void push_whole(lua_State* lua, std::int64_t number) { lua_pushinteger(lua, number); }
// A score that a command answers.
inline void push_score(lua_State* lua, const std::string& text) {
  lua_pushnumber(lua, std::strtod(text.c_str(), nullptr));
}
// The number on top as a script's answer; false: there it is answered as a text, which no client of a script
// reads.
inline bool is_answered_whole(lua_State* lua) { return lua_isinteger(lua, -1) != 0; }
inline std::string word_at(lua_State* lua, int index) {
  return lua_isinteger(lua, index) != 0 ? std::to_string(lua_tointeger(lua, index))
                                        : text_of(lua_tonumber(lua, index));
}

#else

inline void push_globals(lua_State* lua) { lua_pushvalue(lua, LUA_GLOBALSINDEX); }
inline void push_whole(lua_State* lua, std::int64_t number) {
  lua_pushnumber(lua, static_cast<lua_Number>(number));
}
inline void push_score(lua_State* lua, const std::string& text) {
  lua_pushlstring(lua, text.data(), text.size());
}
inline bool is_answered_whole(lua_State*) { return true; }
inline std::string word_at(lua_State* lua, int index) { return text_of(lua_tonumber(lua, index)); }

#endif

}  // namespace weir::redis::lua_version
