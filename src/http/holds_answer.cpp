#include "http/holds_answer.hpp"

#include <utility>
#include <vector>

namespace weir::inline v0_1::http {

void write_holds(core::JsonWriter& json, const service::Question& question) {
  // A question is used again, and keeps no long list.
  const std::vector<store::OpenHold> open = std::move(question.reservation->open);
  json.begin_object();
  json.begin_array("holds");
  for (const store::OpenHold& each : open) {
    json.begin_object();
    json.member("id", each.id);
    json.member("cost", each.cost);
    json.member("wait", each.wait);
    json.member("ends", each.ends);
    json.member("client", each.address);
    json.end_object();
  }
  json.end_array();
  json.end_object();
}

}  // namespace weir::http
