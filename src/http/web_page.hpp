// Whether a request may come from a web page: one of another site must not ask, in whatever way its browser
// may be led here.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "http/message.hpp"
#include "net/conversation.hpp"

namespace weir::inline v0_1::http {

// Who judges: what a listener knows of itself and of its peer.
struct PageJudge {
  const net::Peer& peer;
  // Hosts by which the listener is reached, in lower case, besides its addresses and localhost.
  const std::vector<std::string>& names;
  bool asks_who;  // callers have to show who they are, which a page cannot

  // Why a page of the listener's own may not ask this, empty where it may: its Origin has to be the request's
  // own host, and that one of ours.
  std::string why_not(const Message& message) const;
  // Of a request that has no Origin, as what a browser gets from the host of its page has none: where nobody
  // has to show who they are, a name that was made to lead here must not read what is told.
  std::string why_not_by_name(const Message& message) const;
};

}  // namespace weir::http
