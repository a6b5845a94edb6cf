// What /v1/holds answers: the open holds of a key.
//
// Pure, any thread.
#pragma once

#include "core/json_writer.hpp"
#include "service/question.hpp"

namespace weir::inline v0_1::http {

void write_holds(core::JsonWriter& json, const service::Question& question);

}  // namespace weir::http
