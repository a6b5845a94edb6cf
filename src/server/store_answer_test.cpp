#include "server/store_answer.hpp"

#include <gtest/gtest.h>

#include <string>

namespace weir::inline v0_1::server {
namespace {

using redis::Cause;

TEST(StoreAnswer, says_what_happened_and_what_to_do) {
  const struct {
    Cause cause;
    std::string error;
    std::string said;
  } rows[] = {
      {Cause::timeout, "no answer", "the store does not answer"},
      {Cause::overload, "it has too much to do", "the store does not answer"},
      {Cause::connection, "h:6379: Connection refused", "the store does not answer"},
      {Cause::oom, "OOM command not allowed when used memory > 'maxmemory'.",
       "the store's memory is full (OOM): raise its maxmemory, or delete what is not needed there"},
      {Cause::other, "ERR Error running script (call to f_1): @user_script:1: -OOM command not allowed",
       "the store's memory is full (OOM): raise its maxmemory, or delete what is not needed there"},
      {Cause::readonly, "READONLY You can't write against a read only replica.",
       "the store is a replica, or has become one (READONLY): see that --store leads to the master"},
      {Cause::wrongtype, "WRONGTYPE Operation against a key holding the wrong kind of value",
       "something else lies in the store under 'weir:{weir}:overrides' (WRONGTYPE): rename or delete it "
       "there"},
      {Cause::loading, "h:6379: LOADING Redis is loading the dataset in memory",
       "the store reads its data in (LOADING): try again when it has"},
      {Cause::other,
       "MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist",
       "the store cannot save to its disk, and so refuses to write (MISCONF): see to its disk and log"},
      {Cause::noscript, "NOSCRIPT No matching script.",
       "the store forgets scripts again and again (NOSCRIPT): see who sends it SCRIPT FLUSH"},
      {Cause::other, "ERR some\nother thing", "the store refuses: ERR some\\x0aother thing"},
  };
  for (const auto& row : rows)
    EXPECT_EQ(why_not_stored(row.cause, row.error, "weir:{weir}:overrides"), row.said) << row.error;
}

}  // namespace
}  // namespace weir::server
