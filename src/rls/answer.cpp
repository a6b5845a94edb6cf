#include "rls/answer.hpp"

#include <protozero/pbf_writer.hpp>

namespace weir::inline v0_1::rls {
namespace {

using protozero::pbf_writer;

constexpr char kOk = 1;
constexpr char kOverLimit = 2;

}  // namespace

RateLimitAnswer::RateLimitAnswer(std::string& out) : out_(out) {
  pbf_writer(out_).add_enum(1, kOk);
  code_at_ = out_.size() - 1;
}

void RateLimitAnswer::add(const Status& status, bool unknown) {
  pbf_writer answer(out_);
  pbf_writer told(answer, 2);
  // Written though it is 0, as are seconds: protozero leaves out a message that is empty.
  told.add_enum(1, unknown ? 0 : status.over ? kOverLimit : kOk);
  if (status.limit) {
    pbf_writer limit(told, 2);
    if (status.limit->requests_per_unit != 0) limit.add_uint32(1, status.limit->requests_per_unit);
    if (status.limit->unit != limits::RateUnit::unknown)
      limit.add_enum(2, static_cast<std::int32_t>(status.limit->unit));
    if (!status.limit->name.empty())
      limit.add_string(3, status.limit->name.data(), status.limit->name.size());
  }
  if (status.remaining != 0) told.add_uint32(3, status.remaining);
  if (status.limit && status.until_reset) {
    pbf_writer duration(told, 4);
    duration.add_int64(1, status.until_reset->count());
  }
}

void RateLimitAnswer::header(std::string_view key, std::string_view value) {
  pbf_writer answer(out_);
  pbf_writer header(answer, 3);
  header.add_string(1, key.data(), key.size());
  header.add_string(2, value.data(), value.size());
}

void RateLimitAnswer::metadata(std::string_view fields) {
  pbf_writer(out_).add_message(6, fields.data(), fields.size());
}

void RateLimitAnswer::conclude(bool over) { out_[code_at_] = over ? kOverLimit : kOk; }

void RateLimitAnswer::raw_body(std::string_view text) {
  pbf_writer(out_).add_bytes(5, text.data(), text.size());
}

}  // namespace weir::rls
