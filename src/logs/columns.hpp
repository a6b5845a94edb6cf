// CSV and TSV: a header line names the columns; quotes as in RFC 4180.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "logs/splitter.hpp"

namespace weir::inline v0_1::logs {

// Whether a line is a header of which one column is called as times are.
bool is_csv_header(std::string_view line);
bool is_tsv_header(std::string_view line);

// Whether a line has several columns, which end as they should.
bool has_columns(std::string_view line, char separator);

// `line` is the header.
std::unique_ptr<Splitter> make_csv(const std::vector<Slot>& slots, std::string_view line);
std::unique_ptr<Splitter> make_tsv(const std::vector<Slot>& slots, std::string_view line);

}  // namespace weir::logs
