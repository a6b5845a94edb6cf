#include "grpc/connection.hpp"

#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <utility>

#include "grpc/timeout.hpp"

namespace weir::inline v0_1::grpc {
namespace {

constexpr std::size_t kMostFree = 64;
constexpr std::size_t kMostKeptBytes = 4096;  // of a call that is used again

constexpr std::string_view kStatus = ":status";
constexpr std::string_view kType = "application/grpc";

std::string_view view(const std::uint8_t* bytes, std::size_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

// Of texts that live until it is sent; nghttp2 copies them at once unless it is told otherwise.
nghttp2_nv field(std::string_view name, std::string_view value) {
  const auto bytes = [](std::string_view text) {
    return reinterpret_cast<std::uint8_t*>(const_cast<char*>(text.data()));
  };
  return {bytes(name), bytes(value), name.size(), value.size(), NGHTTP2_NV_FLAG_NO_COPY_NAME};
}

// A status message: bytes that a header cannot hold are percent-encoded.
std::string encoded(std::string_view text) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f && c != '%') {
      out += c;
    } else {
      out += '%';
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    }
  }
  return out;
}

}  // namespace

std::string_view last_words() {
  using namespace std::string_view_literals;
  return "\0\0\0\4\0\0\0\0\0"
         "\0\0\10\7\0\0\0\0\0\0\0\0\0\0\0\0\13"sv;
}

struct Connection::Callbacks {
  static Connection& of(void* user) { return *static_cast<Connection*>(user); }
  static GrpcCall* call_of(nghttp2_session* session, std::int32_t stream) {
    return static_cast<GrpcCall*>(nghttp2_session_get_stream_user_data(session, stream));
  }

  static int begin_headers(nghttp2_session* session, const nghttp2_frame* frame, void* user) {
    if (frame->hd.type != NGHTTP2_HEADERS || frame->headers.cat != NGHTTP2_HCAT_REQUEST) return 0;
    GrpcCall* const call = of(user).begin(frame->hd.stream_id);
    if (call == nullptr) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    nghttp2_session_set_stream_user_data(session, frame->hd.stream_id, call);
    return 0;
  }
  static int header(nghttp2_session* session, const nghttp2_frame* frame, const std::uint8_t* name,
                    std::size_t name_size, const std::uint8_t* value, std::size_t value_size, std::uint8_t,
                    void* user) {
    GrpcCall* const call = call_of(session, frame->hd.stream_id);
    if (call == nullptr) return 0;
    call->header_bytes += name_size + value_size + 32;  // as SETTINGS_MAX_HEADER_LIST_SIZE counts
    if (call->header_bytes > kMostHeaderBytes) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    of(user).take_header(*call, view(name, name_size), view(value, value_size));
    return 0;
  }
  static int frame_received(nghttp2_session* session, const nghttp2_frame* frame, void* user) {
    Connection& self = of(user);
    if (frame->hd.type == NGHTTP2_PING && (frame->hd.flags & NGHTTP2_FLAG_ACK) != 0) self.take_no_more();
    if (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA) return 0;
    GrpcCall* const call = call_of(session, frame->hd.stream_id);
    if (call == nullptr) return 0;
    if (frame->hd.type == NGHTTP2_HEADERS && frame->headers.cat == NGHTTP2_HCAT_REQUEST)
      self.take_head(*call);
    if ((frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0) self.take_end(*call);
    return 0;
  }
  static int data(nghttp2_session* session, std::uint8_t, std::int32_t stream, const std::uint8_t* bytes,
                  std::size_t size, void* user) {
    if (GrpcCall* const call = call_of(session, stream)) of(user).take_data(*call, view(bytes, size));
    return 0;
  }
  static int frame_sent(nghttp2_session* session, const nghttp2_frame* frame, void*) {
    const bool ends = (frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA) &&
                      (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
    if (!ends) return 0;
    // It was answered before its client has said all: nothing more of it is needed.
    const GrpcCall* const call = call_of(session, frame->hd.stream_id);
    if (call != nullptr && !call->ended)
      nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, frame->hd.stream_id, NGHTTP2_NO_ERROR);
    return 0;
  }
  static int stream_closed(nghttp2_session* session, std::int32_t stream, std::uint32_t, void* user) {
    if (GrpcCall* const call = call_of(session, stream)) of(user).close(*call);
    return 0;
  }
  static ssize_t reply(nghttp2_session*, std::int32_t, std::uint8_t* to, std::size_t size,
                       std::uint32_t* flags, nghttp2_data_source* source, void* user) {
    return of(user).read_reply(*static_cast<GrpcCall*>(source->ptr), {to, size}, flags);
  }

  static nghttp2_session_callbacks* all() {
    static nghttp2_session_callbacks* const kMade = [] {
      nghttp2_session_callbacks* callbacks = nullptr;
      if (nghttp2_session_callbacks_new(&callbacks) != 0) throw std::bad_alloc();
      nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, begin_headers);
      nghttp2_session_callbacks_set_on_header_callback(callbacks, header);
      nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, frame_received);
      nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, data);
      nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, frame_sent);
      nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, stream_closed);
      return callbacks;
    }();
    return kMade;
  }
  static nghttp2_option* options() {
    static nghttp2_option* const kMade = [] {
      nghttp2_option* option = nullptr;
      if (nghttp2_option_new(&option) != 0) throw std::bad_alloc();
      nghttp2_option_set_no_closed_streams(option, 1);
      // A gateway resets each call that takes too long, so resets may be a slow store's fault: what they
      // can cost is bounded by kMostCalls. The library would allow 33 a second.
      nghttp2_option_set_stream_reset_rate_limit(option, 100'000, 10'000);
      return option;
    }();
    return kMade;
  }
};

Connection::Connection(Services& services) : services_(services) {
  if (nghttp2_session_server_new2(&session_, Callbacks::all(), this, Callbacks::options()) != 0)
    throw std::bad_alloc();
  constexpr std::array kSettings = {
      nghttp2_settings_entry{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, kMostStreams},
      nghttp2_settings_entry{NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, kMostHeaderBytes}};
  nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, kSettings.data(), kSettings.size());
}

Connection::~Connection() {
  nghttp2_session_del(session_);  // calls back for no stream
}

bool Connection::receive(std::string_view input, std::chrono::nanoseconds now) {
  if (broken_) return false;
  now_ = now;
  const auto taken =
      nghttp2_session_mem_recv(session_, reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
  if (taken >= 0 && wrong_.empty()) return true;
  broken_ = true;
  if (wrong_.empty())
    wrong_ = taken == NGHTTP2_ERR_BAD_CLIENT_MAGIC ? "it does not speak HTTP/2"
                                                   : nghttp2_strerror(static_cast<int>(taken));
  return false;
}

bool Connection::send(std::string& out) {
  while (out.size() < kOutputCap) {
    const std::uint8_t* bytes = nullptr;
    const auto size = nghttp2_session_mem_send(session_, &bytes);
    if (size < 0) broken_ = true;
    if (size <= 0) return true;
    out.append(view(bytes, static_cast<std::size_t>(size)));
  }
  return false;
}

// A call's head.

GrpcCall* Connection::begin(std::int32_t stream) {
  if (calls_.size() >= kMostCalls) {
    wrong_ = "it resets more calls than can be asked at once";
    nghttp2_session_terminate_session(session_, NGHTTP2_ENHANCE_YOUR_CALM);
    return nullptr;
  }
  std::unique_ptr<GrpcCall> call;
  if (free_.empty()) {
    call = std::make_unique<GrpcCall>();
  } else {
    call = std::move(free_.back());
    free_.pop_back();
  }
  call->stream = stream;
  call->began = now_;
  GrpcCall* const begun = call.get();
  begun->place = calls_.insert(calls_.end(), std::move(call));
  ++owed_;
  return begun;
}

void Connection::take_header(GrpcCall& call, std::string_view name, std::string_view value) {
  if (name == ":path") {
    call.path = value;
  } else if (name == ":method") {
    call.post = value == "POST";
  } else if (name == "content-type") {
    call.is_grpc = value == kType ||
                   (value.starts_with(kType) && (value[kType.size()] == '+' || value[kType.size()] == ';'));
  } else if (name == "grpc-timeout") {
    const auto timeout = read_timeout(value);
    call.wrong_timeout = !timeout;
    if (timeout) call.deadline = call.began + *timeout;
  }
}

void Connection::take_head(GrpcCall& call) {
  if (!call.post) return refuse_by(call, {{kStatus, "405"}});
  if (!call.is_grpc) return refuse_by(call, {{kStatus, "415"}});
  call.method = services_.find(call.path);
  if (call.method < 0) return refuse(call, Code::unimplemented, "unknown method " + call.path);
  if (call.wrong_timeout) return refuse(call, Code::internal, "grpc-timeout is not a time");
}

// Its message.

void Connection::take_data(GrpcCall& call, std::string_view data) {
  if (call.answered) return;
  call.body.append(data);
  hold(call, data.size());
  if (call.body.size() < kPrefix) return;
  const std::uint32_t size = size_of_message(call.body);
  if (call.body[0] != 0) return refuse_compressed(call);
  if (size > kMostMessage)
    return refuse(call, Code::resource_exhausted,
                  "a message of " + std::to_string(size) + " bytes; at most " + std::to_string(kMostMessage));
  if (call.body.size() > kPrefix + size)
    return refuse(call, Code::internal, "more than one message in a call that has one");
}

void Connection::take_end(GrpcCall& call) {
  call.ended = true;
  --owed_;
  if (call.answered) return;
  if (call.body.size() < kPrefix || call.body.size() < kPrefix + size_of_message(call.body))
    return refuse(call, Code::internal, "the call ends before its message does");
  services_.run(call);
}

// Its answer.

void Connection::reply(GrpcCall& call) {
  call.asked = false;
  if (!call.open) return forget(call);
  write_prefix(call.reply, 0);
  call.finished = true;
  start(call);
}

void Connection::refuse(GrpcCall& call, Code code, std::string_view text) {
  call.asked = false;
  if (!call.open) return forget(call);
  const std::string number = std::to_string(static_cast<int>(code));
  const std::string message = encoded(text);
  refuse_by(call, {{"content-type", kType}, {"grpc-status", number}, {"grpc-message", message}});
}

void Connection::refuse_compressed(GrpcCall& call) {
  refuse_by(call, {{"content-type", kType},
                   {"grpc-status", "12"},
                   {"grpc-message", "messages cannot be compressed"},
                   {"grpc-accept-encoding", "identity"}});
}

// Nothing but a head; HTTP's status is 200 unless it is said.
void Connection::refuse_by(GrpcCall& call, std::initializer_list<Field> head) {
  call.answered = call.finished = true;
  std::vector<nghttp2_nv> fields;
  if (head.begin()->first != kStatus) fields.push_back(field(kStatus, "200"));
  for (const auto& [name, value] : head) fields.push_back(field(name, value));
  nghttp2_submit_response(session_, call.stream, fields.data(), fields.size(), nullptr);
}

void Connection::start(GrpcCall& call) {
  call.answered = true;
  hold(call, call.reply.size());
  ++unsent_;
  std::array head{field(kStatus, "200"), field("content-type", kType)};
  for (nghttp2_nv& each : head) each.flags |= NGHTTP2_NV_FLAG_NO_COPY_VALUE;
  nghttp2_data_provider from;
  from.source.ptr = &call;
  from.read_callback = &Callbacks::reply;
  nghttp2_submit_response(session_, call.stream, head.data(), head.size(), &from);
}

void Connection::stream(GrpcCall& call, std::string_view message) {
  const std::size_t at = call.reply.size();
  call.reply.append(kPrefix, '\0');
  call.reply += message;
  write_prefix(call.reply, at);
  call.streams = true;
  if (!call.answered) return start(call);
  hold(call, kPrefix + message.size());
  go_on(call);
}

void Connection::end(GrpcCall& call, Code code, std::string_view text) {
  call.code = code;
  call.text = text;
  call.finished = true;
  go_on(call);
}

// It has more to send.
void Connection::go_on(GrpcCall& call) {
  if (!std::exchange(call.waits_to_send, false)) return;
  ++unsent_;
  nghttp2_session_resume_data(session_, call.stream);
}

std::ptrdiff_t Connection::read_reply(GrpcCall& call, std::span<std::uint8_t> to, std::uint32_t* flags) {
  const std::size_t size = std::min(to.size(), call.reply.size() - call.sent);
  std::memcpy(to.data(), call.reply.data() + call.sent, size);
  call.sent += size;
  if (call.sent < call.reply.size()) return static_cast<std::ptrdiff_t>(size);
  if (!call.finished) {
    if (size > 0) return static_cast<std::ptrdiff_t>(size);
    --unsent_;
    call.waits_to_send = true;
    return NGHTTP2_ERR_DEFERRED;
  }
  --unsent_;
  *flags = NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
  const std::string number = std::to_string(static_cast<int>(call.code));
  const std::string text = encoded(call.text);
  const std::array trailers{field("grpc-status", number), field("grpc-message", text)};
  nghttp2_submit_trailer(session_, call.stream, trailers.data(), text.empty() ? 1 : 2);
  call.all_read = true;
  return static_cast<std::ptrdiff_t>(size);
}

// Its end.

void Connection::close(GrpcCall& call) {
  if (!call.ended) --owed_;
  call.ended = true;
  if (call.answered && call.has_reply() && !call.all_read && !call.waits_to_send) --unsent_;
  if (call.streams) services_.gone(call);
  call.open = false;
  if (!call.asked) forget(call);
}

void Connection::forget(GrpcCall& call) {
  held_ -= call.held;
  std::unique_ptr<GrpcCall> gone = std::move(*call.place);
  calls_.erase(gone->place);
  if (free_.size() >= kMostFree) return;
  gone->reset(kMostKeptBytes);
  free_.push_back(std::move(gone));
}

void Connection::hold(GrpcCall& call, std::size_t bytes) {
  call.held += bytes;
  held_ += bytes;
}

std::size_t Connection::kept() const {
  constexpr std::size_t kStream = 1024;  // what nghttp2 keeps of one
  return calls_.size() * (sizeof(GrpcCall) + kStream) + held_;
}

// The connection's.

// The client may have sent calls that have not come: it is told first, and asked for an answer to that, and
// those that come before it are answered too (RFC 9113, 6.8).
void Connection::go_away() {
  if (std::exchange(leaving_, true)) return;
  nghttp2_submit_shutdown_notice(session_);
  nghttp2_submit_ping(session_, NGHTTP2_FLAG_NONE, nullptr);
}

void Connection::take_no_more() {
  if (!leaving_ || std::exchange(takes_no_more_, true)) return;
  nghttp2_submit_goaway(session_, NGHTTP2_FLAG_NONE, nghttp2_session_get_last_proc_stream_id(session_),
                        NGHTTP2_NO_ERROR, nullptr, 0);
}

bool Connection::over() const {
  return broken_ || (nghttp2_session_want_read(session_) == 0 && nghttp2_session_want_write(session_) == 0);
}

}  // namespace weir::grpc
