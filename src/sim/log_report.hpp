// What every report says of its log, in each form: how much was read, how much was not and why, what was left
// out.
//
// Pure, any thread. Not for: pages (page_html.hpp), which have their own way with text.
#pragma once

#include <string>

#include "core/json_writer.hpp"
#include "sim/report.hpp"

namespace weir::inline v0_1::sim {

// "1,234 other requests are left out by --where status!=429", without an end; empty when none are.
std::string left_out_in_words(const LogReport& log);

// Of requests that began earlier than could be sorted, which is how long they are counted; without an end.
std::string cut_in_words(const LogReport& log);

// The first lines of a report.
std::string head_of(const LogReport& log, bool colour);

// Of an object that says more: all but how many clients and units there are.
void write_log(core::JsonWriter& json, const LogReport& log);

}  // namespace weir::sim
