#include "resp/deferred_reply.hpp"

namespace weir::inline v0_1::resp {

void DeferredReply::list(bool silent, std::function<void(Writer&, net::Clients::List&)> reply) {
  open_ = true;
  silent_ = silent;
  clients_->list(unless_gone([this, reply = std::move(reply)](const Rows& rows) {
    finish([reply, rows](Writer& to) { reply(to, *rows); });
  }));
}

void DeferredReply::close(bool silent, std::function<bool(const net::ClientInfo&)> which,
                          std::function<void(Writer&, std::size_t)> reply) {
  open_ = true;
  silent_ = silent;
  clients_->list(unless_gone([this, which = std::move(which), reply = std::move(reply)](const Rows& rows) {
    std::vector<std::uint64_t> ids;
    for (const net::ClientInfo& each : rows->rows) {
      if (which(each)) ids.push_back(each.peer.id);
    }
    clients_->close(std::move(ids), unless_gone([this, reply](std::size_t closed) {
                      finish([reply, closed](Writer& to) { reply(to, closed); });
                    }));
  }));
}

void DeferredReply::end_wait(bool silent, std::uint64_t id, bool with_error) {
  open_ = true;
  silent_ = silent;
  clients_->end_wait(id, with_error, unless_gone([this](std::size_t ended) {
                       finish([ended](Writer& to) { to.integer(static_cast<std::int64_t>(ended)); });
                     }));
}

void DeferredReply::finish(std::function<void(Writer&)> reply) {
  reply_ = std::move(reply);
  open_ = false;
  resume_();
}

void DeferredReply::write(Writer to) {
  const auto reply = std::exchange(reply_, nullptr);
  if (!silent_) reply(to);
}

}  // namespace weir::resp
