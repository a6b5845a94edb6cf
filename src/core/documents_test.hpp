// For tests: pages of docs that say what tables of the program say. WEIR_DOCS is their folder; with
// WEIR_WRITE set, what a page should be is written.
//
// One thread.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace weir::inline v0_1::core {

inline std::filesystem::path document(const std::string& name) {
  return std::filesystem::path(WEIR_DOCS) / name;
}

inline std::string read_document(const std::string& name) {
  std::ifstream in(document(name));
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

// The page is `text`, line by line.
inline void expect_document(const std::string& name, const std::string& text) {
  if (std::getenv("WEIR_WRITE") != nullptr) std::ofstream(document(name)) << text;
  const std::string written = read_document(name);
  std::istringstream is(written);
  std::istringstream should(text);
  std::string line;
  std::string made;
  while (std::getline(should, made)) {
    std::getline(is, line);
    ASSERT_EQ(line, made) << "this test with WEIR_WRITE=1 writes docs/" << name;
  }
  EXPECT_EQ(written.size(), text.size());
}

// The lines of `text` from the one after `begin`, which follows `section`, up to the one that begins with
// `end`, are replaced.
inline void replace_lines(std::string& text, const std::string& section, const std::string& begin,
                          const std::string& end, const std::string& by) {
  const std::size_t at = text.find("\n" + section + "\n");
  const std::size_t head = text.find("\n" + begin + "\n", at == std::string::npos ? at : at + 1);
  ASSERT_NE(head, std::string::npos) << section << ", " << begin;
  const std::size_t from = head + begin.size() + 2;
  std::size_t to = from;
  while (text.substr(to, end.size()) != end) to = text.find('\n', to) + 1;
  text.replace(from, to - from, by);
}

}  // namespace weir::core
