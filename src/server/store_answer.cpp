#include "server/store_answer.hpp"

#include <array>

#include "core/printable.hpp"

namespace weir::inline v0_1::server {
namespace {

// By a word of what Redis says: in an error of a script an old Redis has it further on.
struct StoreRefusal {
  std::string_view word;
  std::string_view means;
};
constexpr std::array kStoreRefusals = {
    StoreRefusal{"OOM",
                 "the store's memory is full (OOM): raise its maxmemory, or delete what is not needed there"},
    StoreRefusal{
        "READONLY",
        "the store is a replica, or has become one (READONLY): see that --store leads to the master"},
    StoreRefusal{"MASTERDOWN",
                 "the store is a replica without its master (MASTERDOWN): see that --store leads to one"},
    StoreRefusal{"NOREPLICAS",
                 "the store has too few replicas to write (NOREPLICAS): see to them, or lower its "
                 "min-replicas-to-write"},
    StoreRefusal{"WRONGTYPE",
                 "something else lies in the store under KEY (WRONGTYPE): rename or delete it there"},
    StoreRefusal{"LOADING", "the store reads its data in (LOADING): try again when it has"},
    StoreRefusal{
        "MISCONF",
        "the store cannot save to its disk, and so refuses to write (MISCONF): see to its disk and log"},
    StoreRefusal{"NOSCRIPT",
                 "the store forgets scripts again and again (NOSCRIPT): see who sends it SCRIPT FLUSH"},
    StoreRefusal{"BUSY", "the store is in somebody's slow script (BUSY): wait, or end that by SCRIPT KILL"},
    StoreRefusal{"NOPERM",
                 "the store's user may not do this (NOPERM): docs/redis.md has the commands it needs"},
    StoreRefusal{"NOAUTH", "the store wants a password (NOAUTH): give it in --store"},
    StoreRefusal{"WRONGPASS", "the store does not take this user and password (WRONGPASS): see to --store"},
    StoreRefusal{"CLUSTERDOWN", "the cluster has no master for this key (CLUSTERDOWN): see to its nodes"},
};

}  // namespace

std::string why_not_stored(redis::Cause cause, std::string_view error, std::string_view key) {
  for (const auto& [word, means] : kStoreRefusals) {
    if (error.find(word) == std::string_view::npos) continue;
    std::string sentence(means);
    constexpr std::string_view kKey = "KEY";
    if (const std::size_t at = sentence.find(kKey); at != std::string::npos)
      sentence.replace(at, kKey.size(), "'" + core::printable(key) + "'");
    return sentence;
  }
  if (cause == redis::Cause::other) return "the store refuses: " + core::printable(error);
  return steering::kNoAnswer;
}

tl::expected<steering::SharedKeeper::Answer, std::string> told_of(const redis::Call::Result& result,
                                                                  std::string_view key) {
  if (result.cause != redis::Cause::none)
    return tl::unexpected(why_not_stored(result.cause, result.error, key));
  steering::SharedKeeper::Answer words;
  for (const resp::Value& each : result.value->items)
    words.push_back(each.type == resp::Value::Type::integer ? std::to_string(each.integer)
                                                            : std::string(each.text));
  return words;
}

}  // namespace weir::server
