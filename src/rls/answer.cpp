#include "rls/answer.hpp"

#include <array>
#include <protozero/pbf_writer.hpp>
#include <utility>

namespace weir::inline v0_1::rls {
namespace {

using protozero::pbf_writer;

constexpr char kOk = 1;
constexpr char kOverLimit = 2;

}  // namespace

std::uint32_t unit_of(std::chrono::nanoseconds period) {
  using std::chrono::hours;
  constexpr std::array<std::pair<std::chrono::seconds, std::uint32_t>, 7> kUnits = {{
      {std::chrono::seconds{1}, 1},
      {std::chrono::seconds{60}, 2},
      {hours{1}, 3},
      {hours{24}, 4},
      {hours{24} * 30, 5},
      {hours{24} * 365, 6},
      {hours{24} * 7, 7},
  }};
  for (const auto& [length, number] : kUnits)
    if (length == period) return number;
  return 0;
}

Answer::Answer(std::string& out) : out_(out) {
  pbf_writer(out_).add_enum(1, kOk);
  code_at_ = out_.size() - 1;
}

void Answer::add(const Status& status, bool unknown) {
  if (status.over) out_[code_at_] = kOverLimit;
  pbf_writer answer(out_);
  pbf_writer told(answer, 2);
  // Written though it is 0, as are seconds: protozero leaves out a message that is empty.
  told.add_enum(1, unknown ? 0 : status.over ? kOverLimit : kOk);
  if (status.limit) {
    pbf_writer limit(told, 2);
    if (status.limit->requests_per_unit != 0) limit.add_uint32(1, status.limit->requests_per_unit);
    if (status.limit->unit != 0) limit.add_enum(2, static_cast<std::int32_t>(status.limit->unit));
    if (!status.limit->name.empty())
      limit.add_string(3, status.limit->name.data(), status.limit->name.size());
  }
  if (status.remaining != 0) told.add_uint32(3, status.remaining);
  if (status.limit && status.until_reset) {
    pbf_writer duration(told, 4);
    duration.add_int64(1, status.until_reset->count());
  }
}

void Answer::header(std::string_view key, std::string_view value) {
  pbf_writer answer(out_);
  pbf_writer header(answer, 3);
  header.add_string(1, key.data(), key.size());
  header.add_string(2, value.data(), value.size());
}

void Answer::metadata(std::string_view fields) {
  pbf_writer(out_).add_message(6, fields.data(), fields.size());
}

void Answer::raw_body(std::string_view text) { pbf_writer(out_).add_bytes(5, text.data(), text.size()); }

}  // namespace weir::rls
