// What weir top shows, and what keys do to it.
//
// Pure, one thread. Not for: the terminal itself (terminal.hpp).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/top_keys.hpp"

namespace weir::inline v0_1::cli {

class TopView {
 public:
  TopView(std::string by, std::size_t most, bool colors) : by_(std::move(by)), most_(most), colors_(colors) {}

  // What was typed; false: it is over.
  bool typed(std::string_view bytes);
  const std::string& by() const { return by_; }

  // A screen of that size. `expected`: of how many servers.
  std::string frame(const std::vector<ServerTop>& servers, std::size_t expected, std::size_t columns,
                    std::size_t rows) const;

 private:
  void typed_into_filter(std::string_view bytes);
  std::string title(const std::vector<ServerTop>& servers, std::size_t expected) const;
  void append_rows(std::vector<std::string>& lines, const std::vector<ServerTop>& servers,
                   std::size_t columns, std::size_t rows) const;
  std::string foot() const;

  std::string by_;
  std::size_t most_;
  bool colors_;
  bool typing_ = false;
  std::string filter_;
};

}  // namespace weir::cli
