#include "grpc/client_stream.hpp"

#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "grpc/message_prefix.hpp"

namespace weir::inline v0_1::grpc {
namespace {

constexpr std::size_t kMostHeaders = std::size_t{64} << 10;

}  // namespace

struct ClientStream::Callbacks {
  static ClientStream& self(void* user) { return *static_cast<ClientStream*>(user); }
  static std::string_view text(const std::uint8_t* bytes, std::size_t size) {
    return {reinterpret_cast<const char*>(bytes), size};
  }

  static int header(nghttp2_session*, const nghttp2_frame*, const std::uint8_t* name, std::size_t name_size,
                    const std::uint8_t* value, std::size_t value_size, std::uint8_t, void* user) {
    self(user).take_header(text(name, name_size), text(value, value_size));
    return 0;
  }
  static int data(nghttp2_session*, std::uint8_t, std::int32_t, const std::uint8_t* bytes, std::size_t size,
                  void* user) {
    self(user).take_data(text(bytes, size));
    return 0;
  }
  static int frame(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    if (frame->hd.type == NGHTTP2_SETTINGS) self(user).greeted_ = true;
    if (frame->hd.type == NGHTTP2_PING && (frame->hd.flags & NGHTTP2_FLAG_ACK) != 0) ++self(user).pongs_;
    if ((frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA) &&
        (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0)
      self(user).take_end(NGHTTP2_NO_ERROR);
    return 0;
  }
  static int sent(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    if (frame->hd.type == NGHTTP2_GOAWAY)
      self(user).fail(std::string(self(user).greeted_ ? "it broke HTTP/2: " : "it does not speak HTTP/2: ") +
                      nghttp2_http2_strerror(frame->goaway.error_code));
    return 0;
  }
  static int close(nghttp2_session*, std::int32_t, std::uint32_t error, void* user) {
    self(user).take_end(error);
    return 0;
  }
  static ssize_t body(nghttp2_session*, std::int32_t, std::uint8_t* to, std::size_t size, std::uint32_t*,
                      nghttp2_data_source*, void* user) {
    ClientStream& its = self(user);
    const std::size_t part = std::min(size, its.sending_.size() - its.sent_);
    if (part == 0) return NGHTTP2_ERR_DEFERRED;
    std::memcpy(to, its.sending_.data() + its.sent_, part);
    its.sent_ += part;
    if (its.sent_ == its.sending_.size()) {
      its.sending_.clear();
      its.sent_ = 0;
    }
    return static_cast<ssize_t>(part);
  }

  static nghttp2_session_callbacks* all() {
    static nghttp2_session_callbacks* const kMade = [] {
      nghttp2_session_callbacks* callbacks = nullptr;
      if (nghttp2_session_callbacks_new(&callbacks) != 0) throw std::bad_alloc();
      nghttp2_session_callbacks_set_on_header_callback(callbacks, header);
      nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, data);
      nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, frame);
      nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, sent);
      nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, close);
      return callbacks;
    }();
    return kMade;
  }
};

ClientStream::ClientStream(const Options& options, OnMessage on_message)
    : most_message_(options.most_message), on_message_(std::move(on_message)) {
  if (nghttp2_session_client_new(&session_, Callbacks::all(), this) != 0) throw std::bad_alloc();
  constexpr nghttp2_settings_entry kNoPush{NGHTTP2_SETTINGS_ENABLE_PUSH, 0};
  nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, &kNoPush, 1);
  Fields fields = {{":method", "POST"},
                   {":scheme", options.scheme},
                   {":path", options.path},
                   {":authority", options.authority},
                   {"content-type", "application/grpc"},
                   {"te", "trailers"},
                   {"grpc-accept-encoding", "identity"},
                   {"user-agent", "weir"}};
  fields.insert(fields.end(), options.headers.begin(), options.headers.end());
  std::vector<nghttp2_nv> head;
  for (auto& [name, value] : fields)
    head.push_back({reinterpret_cast<std::uint8_t*>(name.data()),
                    reinterpret_cast<std::uint8_t*>(value.data()), name.size(), value.size(),
                    NGHTTP2_NV_FLAG_NONE});
  nghttp2_data_provider from;
  from.source.ptr = nullptr;
  from.read_callback = Callbacks::body;
  stream_ = nghttp2_submit_request(session_, nullptr, head.data(), head.size(), &from, nullptr);
}

ClientStream::~ClientStream() { nghttp2_session_del(session_); }

bool ClientStream::receive(std::string_view input) {
  if (!why_.empty()) return false;
  const auto taken =
      nghttp2_session_mem_recv(session_, reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
  if (taken < 0) fail("it does not speak HTTP/2: " + std::string(nghttp2_strerror(static_cast<int>(taken))));
  collect();  // what the library says of a mistake tells that there was one
  return why_.empty();
}

void ClientStream::send(std::string& out) {
  collect();
  out += std::exchange(out_, {});
}

void ClientStream::collect() {
  const std::uint8_t* bytes = nullptr;
  for (ssize_t size = 0; (size = nghttp2_session_mem_send(session_, &bytes)) > 0;)
    out_.append(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
}

void ClientStream::write(std::string_view message) {
  const std::size_t at = sending_.size();
  sending_.append(kPrefix, '\0').append(message);
  write_prefix(sending_, at);
  nghttp2_session_resume_data(session_, stream_);
}

void ClientStream::ping() {
  ++pings_;
  nghttp2_submit_ping(session_, NGHTTP2_FLAG_NONE, nullptr);
}

void ClientStream::take_header(std::string_view name, std::string_view value) {
  header_bytes_ += name.size() + value.size();
  if (header_bytes_ > kMostHeaders) return fail("its headers are above 64 KiB");
  if (name == ":status") http_status_ = value;
  if (name == "grpc-status") status_ = value;
  if (name == "grpc-message") text_ = value;
}

void ClientStream::take_data(std::string_view data) {
  if (!why_.empty() || http_status_ != "200") return;
  body_.append(data);
  std::size_t at = 0;
  while (why_.empty() && body_.size() - at >= kPrefix) {
    const std::string_view rest = std::string_view(body_).substr(at);
    const std::size_t size = size_of_message(rest);
    if (rest[0] != 0) return fail("it sent a compressed message");
    if (size > most_message_)
      return fail("it sent a message of " + std::to_string(size) + " bytes; at most " +
                  std::to_string(most_message_));
    if (rest.size() < kPrefix + size) break;
    at += kPrefix + size;
    on_message_(rest.substr(kPrefix, size));
  }
  body_.erase(0, at);
}

void ClientStream::take_end(std::uint32_t error) {
  if (!why_.empty()) return;
  if (http_status_ != "200" && !http_status_.empty()) return fail("it answered HTTP " + http_status_);
  if (!status_.empty())
    return fail("it ended the stream: grpc-status " + status_ + (text_.empty() ? "" : ", " + text_));
  fail(error == NGHTTP2_NO_ERROR ? "it ended the stream without a grpc-status"
                                 : "it reset the stream: " + std::string(nghttp2_http2_strerror(error)));
}

void ClientStream::fail(std::string why) {
  if (why_.empty()) why_ = std::move(why);
}

}  // namespace weir::grpc
