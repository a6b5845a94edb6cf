// One connection of a listener that shows pages by GET and HEAD: metrics, and whether the program is alive
// and ready.
//
//   GET /metrics   Prometheus' text, or OpenMetrics where Accept asks for it
//   GET /healthz   200 as long as the program runs and its event loops answer, else 503 and which does not
//   GET /readyz    200 when it is to be sent requests, else 503 and why
//   GET /          the page of operators, which asks /v1
//   /v1/...        what operators ask and change, by a loop that decides
//
// One thread, that of its loop, which decides nothing. Not for: deciding (conversation.hpp).
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "http/awaited.hpp"
#include "http/doorkeeper.hpp"
#include "http/forwards.hpp"
#include "http/parser.hpp"
#include "http/web_page.hpp"
#include "http/writer.hpp"
#include "net/conversation.hpp"
#include "service/service.hpp"

namespace weir::inline v0_1::http {

struct AdminPage {
  std::string path;
  std::function<void(const Message&, Reply&)>
      write;              // the thread of the loop; plain text, 200 unless it says
  bool asks_who = false;  // beyond this machine: any role will do
};
using AdminPages = std::vector<AdminPage>;

// Any thread may call these.
struct Readiness {
  std::function<bool()> started;         // before, there are no metrics
  std::function<std::string()> why_not;  // empty: it is ready
  std::function<std::string()> why_ill;  // empty: it is alive
};

// What else a listener of pages answers: the paths of /v1, by a loop that decides.
struct AdminApi {
  Forward forward{};  // empty: nothing
};

// What they view must outlive them.
AdminPage metrics_page(std::string path, service::Service& service, const Readiness& readiness);
// Those above.
AdminPages admin_pages(service::Service& service, const Readiness& readiness);

class AdminConversation final : public net::Conversation {
 public:
  // What the connections of its loop share.
  struct Loop {
    FieldRoom room{};
    Post post{};
  };
  // `most` is what anybody may on its listener. All that is handed in must outlive this.
  AdminConversation(service::Service& service, const AdminPages& pages, const AdminApi& api, Loop& loop,
                    net::Peer peer, const std::function<void()>& resume = {},
                    steering::Role most = steering::Role::admin);

  std::size_t feed(std::string_view input, std::string& out, net::Arrival when) override;
  bool waiting() const override { return forwarded_.waiting() || door_.waiting(); }
  bool busy() const override { return busy_ || forwarded_.answered() || door_.answered(); }
  bool closing() const override { return closing_; }
  // Until its first request one may take a place for the stall timeout, no longer.
  bool trusted() const override { return has_asked_; }
  bool late() const override { return late_; }
  std::size_t kept() const override { return parser_.kept(); }
  void describe(net::ClientInfo& client) const override;

 private:
  void answer(const Message& message, Reply& reply);
  bool judge_page(const Message& message, bool is_api, Reply& reply) const;
  void write(const Reply& reply, const Framing& framing, std::string& out);

  const AdminPages& pages_;
  const AdminApi& api_;
  Loop& loop_;
  net::Peer peer_;
  const PageJudge page_judge_;
  const steering::Role most_;
  Doorkeeper door_;
  Awaited<Forwarded> forwarded_;
  bool has_head_ = false;  // of a request that is to be forwarded when it is whole
  RequestParser parser_;
  bool has_asked_ = false;
  bool busy_ = false;
  bool late_ = false;
  bool closing_ = false;
};

}  // namespace weir::http
