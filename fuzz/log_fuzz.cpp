// Fuzzes the readers of log lines: whatever a line is, it is a record or a reason, and what is printed of it
// is harmless. The first byte chooses the fields, the second the format, or that the first line chooses it;
// the first line is the header where there is one.
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

#include "core/printable.hpp"
#include "logs/layout.hpp"
#include "logs/line_parser.hpp"
#include "sim/report.hpp"

namespace {

using namespace weir::sim;

constexpr const char* kKeys[] = {"ip",      "ip/64",    "xff[-1]/24/64", "user",
                                 "ip,path", "extra[0]", "status,a.b[0]", "a"};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  std::string text(reinterpret_cast<const char*>(data) + 2, size - 2);
  const std::size_t end = text.size();
  text.append(64, '\0');  // what Parser::parse may read past a line's end
  const std::string_view all = std::string_view(text).substr(0, end);
  weir::logs::Wanted wanted;
  wanted.set_key(kKeys[data[0] / 8 % 8]);
  if (data[0] >= 128) wanted.cost = "bytes";
  const std::string_view first = all.substr(0, all.find('\n'));
  weir::logs::Layout layout;
  // Of half of the inputs the lines choose. Then too, a wrapper may be around the chosen format.
  const auto formats = weir::logs::formats();
  if (data[1] < 128) layout.format = &formats[data[1] % formats.size()];
  if (data[1] >= 192) layout.wrapper = weir::logs::find_wrapper(weir::logs::wrapper_names()[data[1] % 3]);
  // Its groups may be empty, lacking, or the time of another's.
  static const auto regex = std::make_shared<const weir::logs::Regex>(
      "(?:(?<ip>[^ ]*) )?(?<user>.*?)\\[(?<time>[^]]*)\\](?: (?<a>.*))?(?<bytes>\\d*)");
  if (data[1] == 191) layout.set(regex);
  layout = weir::logs::layout_of({&first, 1}, layout).layout;
  std::unique_ptr<weir::logs::LineParser> parser;
  try {
    parser = std::make_unique<weir::logs::LineParser>(layout, wanted, first);
  } catch (const std::runtime_error&) {
    return 0;
  }
  std::string key;
  for (std::size_t begin = 0; begin < end;) {
    const std::size_t stop = std::min(all.find('\n', begin), end);
    weir::logs::LogRecord record{-1, ~std::uint64_t{0}};
    key.clear();
    std::string_view fault;
    try {
      fault = parser->parse(all.substr(begin, stop - begin), record, key);
    } catch (const std::runtime_error&) {
      return 0;  // names of columns that lack a wanted one
    }
    begin = stop + 1;
    if (!fault.empty()) continue;
    if (record.ns < 0 || record.ns >= 4'102'444'800'000'000'000 || record.cost > INT64_MAX) std::abort();
    for (const char c : weir::core::printable(weir::logs::shown(key, wanted.key.size()))) {
      if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) std::abort();
    }
  }
  return 0;
}
