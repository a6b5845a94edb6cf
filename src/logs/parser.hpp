// One line of a log -> one record: when, which client, how many units.
//
// A parser belongs to one file and one thread. docs/replay.md says what is read and how.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/address.hpp"

namespace weir::logs {

// Which parts of a line are wanted.
struct Wanted {
  struct Part {
    std::string field;
    bool address = false;  // as an internet address
    core::Prefixes prefixes;
    std::vector<std::string> other_names;  // of the field, where there is none called `field`
    bool path = false;                     // as the path of a target, in one spelling (core/path.hpp)
  };
  std::vector<Part> key;    // empty: the client's address, where the format has it
  std::vector<Part> also;   // further fields, whose values Parser::also() tells; a line may lack them
  bool may_lack = false;    // a line need not have the fields of the key; it lacks one that is empty or "-"
  core::Prefixes prefixes;  // of that address
  std::string cost;         // empty: 1 for each line
  std::string time;         // empty: where the format has it
  std::int32_t zone_s = 0;

  // "ip", "ip/64", "ip/24/64", "user", "ip,path". Throws std::runtime_error.
  void set_key(std::string_view text);
};

enum class Format : std::uint8_t { combined, jsonl, csv, tsv };

struct Record {
  std::int64_t ns;        // since 1970
  std::uint64_t cost;     // below 2^63
  bool left_out = false;  // a Filter's, which a parser does not know
};

class Parser {
 public:
  // `first_line` is the file's first line that is not empty; for columns, a header. Throws std::runtime_error
  // when it lacks a wanted field.
  static std::unique_ptr<Parser> make(Format format, const Wanted& wanted, std::string_view first_line);
  static Format guess(std::string_view first_line);

  Parser() = default;
  Parser(const Parser&) = delete;
  Parser& operator=(const Parser&) = delete;
  virtual ~Parser() = default;

  // Appends the key to `key`. Returns what is wrong, empty for nothing (`key` may have grown even on a
  // fault). The 64 bytes after `line` must be readable.
  virtual std::string_view parse(std::string_view line, Record& record, std::string& key) = 0;
  // The values of Wanted::also in the line that parse() read last, in their order; a null view for each that
  // the line lacks. They are valid until the next parse(), and only while the line is.
  std::span<const std::string_view> also() const { return also_; }
  virtual bool header() const { return false; }  // whether the first line is not a record
  virtual const char* example() const = 0;

 protected:
  std::vector<std::string_view> also_;
};

// The values of a key of `parts` fields, of a Wanted that may lack some; a null view for each that the line
// lacked. They view the key.
std::vector<std::string_view> values_of(std::string_view key, std::size_t parts);

// A client's key as reports show it: the parts of a key of several fields with spaces between.
std::string shown(std::string_view key, std::size_t parts);

}  // namespace weir::logs
