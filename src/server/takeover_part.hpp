// State of the server that the next process goes on with, beside its table and its connections.
//
// A part is added in Server::Impl::handed_parts(), and nowhere else. A name is that of these bytes: other
// bytes are another part. A process that does not know a part that the one in charge has refuses to take
// over.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace weir::inline v0_1::server {

struct TakeoverPart {
  std::string name;
  // While nothing is decided, on a thread of the takeover's: the event loops run, and hold what they have.
  std::function<std::string()> save;
  // In the next process, before its loops run. False: that is not what save() wrote, and nothing is taken
  // over.
  std::function<bool(std::string_view)> restore;
};
using TakeoverParts = std::vector<TakeoverPart>;

std::vector<std::string> names_of(const TakeoverParts& parts);

}  // namespace weir::server
