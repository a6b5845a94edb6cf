// One line of a log -> the texts of the fields that are wanted. Each format is a Splitter.
//
// A Splitter belongs to one file and one thread. Not for: what the texts mean (src/logs/line_parser.hpp).
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir::inline v0_1::logs {

// A field that is wanted: the first of `names` that a line has. A name may end with [n], the element of a
// list whose elements have commas between them: [0] is the first, [-1] the last.
struct Slot {
  std::string asked;  // what it is called in messages
  std::vector<std::string> names;
  const char* flag = "--key";  // which chooses another field
  bool required = true;

  // How good a value under the n-th name is, less being better: a `client` that is not an address is an
  // application, which gives way to every other name.
  std::size_t rank_of(std::size_t n, std::string_view value) const;
};

struct LineField {
  std::string name;
  std::string value;
};

// What split() returns for a line that is not a request and not wrong either, such as a header; told by its
// address.
inline constexpr char kHeaderText[] = "a header";
inline constexpr std::string_view kHeader = kHeaderText;
inline bool is_header(std::string_view fault) { return fault.data() == kHeader.data(); }

inline constexpr std::size_t kNone = std::string_view::npos;  // of a place in a text
inline constexpr std::size_t kSlack = 64;                     // bytes that must be readable after a line

class Splitter {
 public:
  Splitter() = default;
  Splitter(const Splitter&) = delete;
  Splitter& operator=(const Splitter&) = delete;
  virtual ~Splitter() = default;

  // Sets the value of each slot, a null view where the line has no such field. Values may view the line, or
  // the Splitter until the next call. Returns what is wrong with the line, empty for nothing, or kHeader. The
  // kSlack bytes after `line` must be readable. Throws std::runtime_error for a header that lacks a required
  // field.
  virtual std::string_view split(std::string_view line, std::span<std::string_view> values) = 0;

  // All fields of a line that split() takes, for messages and `weir formats`.
  virtual std::vector<LineField> fields(std::string_view line) = 0;

  // Whether the file's first line is not a request.
  virtual bool header() const { return false; }
};

// What stands up to the next space, which is taken off; empty at the end.
std::string_view take_word(std::string_view& rest);

// The text between the quote at rest[0] and the next one that no backslash escapes, which is taken off too; a
// null view when there is none.
std::string_view take_quoted(std::string_view& rest);

// The n-th element of a list; a null view when it has none.
std::string_view element_of(std::string_view list, int n);

// "xff[-1]" -> "xff", -1.
std::pair<std::string_view, std::optional<int>> element_name(std::string_view name);

// "192.0.2.1:5" and "[2001:db8::1]:5" without the port; a bare IPv6 address, and anything else, as it is.
std::string_view without_port(std::string_view address);
// Without its port, if any.
bool is_an_address(std::string_view text);

// "GET /a HTTP/1.1".
struct RequestLine {
  std::string_view method;
  std::string_view path;
  std::string_view protocol;
};
RequestLine request_of(std::string_view line);
// Which part of a request a slot asks for: its method, path or protocol; null for none.
std::string_view RequestLine::* request_part(const Slot& slot);

// Adds the parts of the field `request` to a line's fields, unless the line has them under another name.
void add_request_parts(std::vector<LineField>& fields);

// For formats that know the names of their fields before a line comes: which field each slot is.
class Places {
 public:
  Places(const std::vector<Slot>& slots, const std::vector<std::string>& names);  // throws for a required one

  bool wants(std::size_t field) const { return field < wanted_.size() && wanted_[field]; }
  // 1 + the greatest field that is wanted.
  std::size_t end() const { return wanted_.size(); }
  void fill(std::span<const std::string_view> fields, std::span<std::string_view> values) const;

 private:
  struct Place {
    std::optional<std::size_t> field;
    std::optional<int> element;
    std::string_view RequestLine::* part = nullptr;  // of the field, which is a request
    std::optional<std::size_t> instead;              // of a field that is not an address
  };
  static Place place_of(const Slot& slot, const std::vector<std::string>& names);

  std::vector<Place> places_;
  std::vector<bool> wanted_;
};

// The message for a field that is not there. `names` are those that are.
// "a, b, c", the first few hundred bytes.
std::string listed_fields(const std::vector<std::string>& names);
std::string no_such_field(const Slot& slot, const std::vector<std::string>& names);

}  // namespace weir::logs
