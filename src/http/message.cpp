#include "http/message.hpp"

namespace weir::inline v0_1::http {

void split_target(Message& message) {
  std::string_view rest = message.target;
  // http://host/path: a server takes it too (RFC 9112, 3.2.2).
  for (const std::string_view scheme : {std::string_view("http://"), std::string_view("https://")}) {
    if (!same(rest.substr(0, scheme.size()), scheme)) continue;
    rest.remove_prefix(scheme.size());
    const std::size_t end = rest.find_first_of("/?");
    rest = end == std::string_view::npos ? std::string_view("/") : rest.substr(end);
    break;
  }
  const std::size_t mark = rest.find('?');
  message.path = rest.substr(0, mark);
  message.query = mark == std::string_view::npos ? std::string_view{} : rest.substr(mark + 1);
}

}  // namespace weir::http
