#include "steering/audit_line.hpp"

#include <algorithm>

#include "core/json_writer.hpp"
#include "core/sha256.hpp"
#include "core/utc_text.hpp"

namespace weir::inline v0_1::steering {
namespace {

constexpr std::string_view kBegin = R"({"verb":"begin",)";
constexpr std::string_view kBeforeHash = R"(,"previous":")";
constexpr std::string_view kAfterHash = R"("})";
constexpr std::size_t kHash = 64;

bool is_hash(std::string_view text) {
  return text.size() == kHash && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

// What the line says of the one before it: a hash, or nothing where it is the first of all. Null: it does not
// end as a line of an audit does.
std::optional<std::string_view> previous_of(std::string_view line) {
  if (!line.ends_with(kAfterHash)) return std::nullopt;
  line.remove_suffix(kAfterHash.size());
  const std::size_t at = line.rfind(kBeforeHash);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view hash = line.substr(at + kBeforeHash.size());
  return hash.empty() || is_hash(hash) ? std::optional(hash) : std::nullopt;
}

}  // namespace

std::string audit_line(const OperatorChange& change, std::uint64_t count, std::chrono::nanoseconds now,
                       std::string_view previous) {
  std::string line;
  core::JsonWriter json(line);
  json.begin_object();
  json.member("time", core::utc_ms_text(now.count()));
  json.member("user", change.by.user);
  json.member("role", name_of(change.by.role));
  json.member("address", core::or_null(change.by.address));
  json.member("protocol", core::or_null(change.by.protocol));
  json.member("verb", change.verb);
  json.member("limit", core::or_null(change.limit));
  json.begin_object("when");
  for (const auto& [name, value] : change.when) {
    json.unknown_name(name);
    json.value(value);
  }
  json.end_object();
  json.member("before", core::or_null(change.before));
  json.member("after", core::or_null(change.after));
  json.member("reason", core::or_null(change.reason));
  if (change.number != 0) json.member("number", change.number);
  if (count > 1) json.member("count", count);
  json.member("previous", previous);
  json.end_object();
  return line;
}

std::string begin_line(std::chrono::nanoseconds now, std::string_view previous, std::string_view torn) {
  std::string line;
  core::JsonWriter json(line);
  json.begin_object();
  json.member("verb", "begin");
  json.member("time", core::utc_ms_text(now.count()));
  if (!torn.empty()) json.member("torn", torn);
  json.member("previous", previous);
  json.end_object();
  return line;
}

bool is_audit_line(std::string_view line) { return previous_of(line).has_value(); }

bool may_begin_audit(std::string_view text) { return text.starts_with(kBegin) || kBegin.starts_with(text); }

std::string hash_of(std::string_view line) {
  std::string hash;
  core::append_hex(core::sha256(line), hash);
  return hash;
}

std::optional<std::string> AuditChain::add(std::string_view line, bool begins) {
  const std::optional<std::string_view> previous = previous_of(line);
  if (!previous) return "this is not a line of an audit";
  if (begins && !line.starts_with(kBegin)) return "the file has lost its first line";
  // Of the first file nobody knows what came before.
  if (!(begins && lines_ == 0) && *previous != head_)
    return "the line before has been changed, or lines are missing";
  head_ = hash_of(line);
  ++lines_;
  return std::nullopt;
}

}  // namespace weir::steering
