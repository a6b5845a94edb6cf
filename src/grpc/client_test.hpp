// A client of gRPC for tests, by nghttp2 too: calls to bytes, bytes to answers. And frames written by hand,
// for what no client would send.
#pragma once

#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir::inline v0_1::grpc {

inline std::string message_of(std::string_view text) {
  std::string framed(5, '\0');
  for (int i = 0; i < 4; ++i)
    framed[static_cast<std::size_t>(1 + i)] = static_cast<char>(text.size() >> (24 - 8 * i));
  return framed.append(text);
}

// A frame of HTTP/2.
inline std::string frame(std::uint8_t type, std::uint8_t flags, std::uint32_t stream,
                         std::string_view payload) {
  std::string bytes;
  for (int shift = 16; shift >= 0; shift -= 8) bytes += static_cast<char>(payload.size() >> shift);
  bytes += static_cast<char>(type);
  bytes += static_cast<char>(flags);
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(stream >> shift);
  return bytes.append(payload);
}
constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

class Client {
 public:
  struct Reply {
    std::map<std::string, std::string> fields{};  // headers and trailers
    std::string body{};
    bool over = false;
    std::uint32_t error = 0;  // of a reset

    std::string status() const {
      const auto found = fields.find("grpc-status");
      return found == fields.end() ? "" : found->second;
    }
    // The messages, without their prefixes.
    std::vector<std::string> messages() const {
      std::vector<std::string> all;
      for (std::size_t at = 0; at + 5 <= body.size();) {
        std::uint32_t size = 0;
        for (std::size_t i = 1; i < 5; ++i) size = size << 8 | static_cast<unsigned char>(body[at + i]);
        all.push_back(body.substr(at + 5, size));
        at += 5 + size;
      }
      return all;
    }
  };
  using Fields = std::vector<std::pair<std::string, std::string>>;

  // `window`: what it takes of a stream before it has read.
  explicit Client(std::uint32_t window = 65535) {
    nghttp2_session_callbacks* callbacks = nullptr;
    nghttp2_session_callbacks_new(&callbacks);
    nghttp2_session_callbacks_set_on_header_callback(
        callbacks,
        [](nghttp2_session*, const nghttp2_frame* of, const std::uint8_t* name, std::size_t name_size,
           const std::uint8_t* value, std::size_t value_size, std::uint8_t, void* self) {
          static_cast<Client*>(self)->replies[of->hd.stream_id].fields.emplace(
              std::string(reinterpret_cast<const char*>(name), name_size),
              std::string(reinterpret_cast<const char*>(value), value_size));
          return 0;
        });
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(
        callbacks, [](nghttp2_session*, std::uint8_t, std::int32_t stream, const std::uint8_t* data,
                      std::size_t size, void* self) {
          static_cast<Client*>(self)->replies[stream].body.append(reinterpret_cast<const char*>(data), size);
          return 0;
        });
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, [](nghttp2_session*,
                                                                       const nghttp2_frame* of, void* self) {
      if (of->hd.type == NGHTTP2_GOAWAY)
        static_cast<Client*>(self)->goaways.emplace_back(of->goaway.last_stream_id, of->goaway.error_code);
      return 0;
    });
    nghttp2_session_callbacks_set_on_stream_close_callback(
        callbacks, [](nghttp2_session*, std::int32_t stream, std::uint32_t error, void* self) {
          Reply& reply = static_cast<Client*>(self)->replies[stream];
          reply.over = true;
          reply.error = error;
          return 0;
        });
    nghttp2_session_client_new(&session_, callbacks, this);
    nghttp2_session_callbacks_del(callbacks);
    const std::array settings = {nghttp2_settings_entry{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, window}};
    nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, settings.data(), settings.size());
  }
  ~Client() { nghttp2_session_del(session_); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // Its stream. `body`: with the prefix; `ends`: it says all.
  std::int32_t call(std::string_view path, std::string body, const Fields& more = {}, bool ends = true) {
    Fields fields = {{":method", "POST"},    {":scheme", "http"}, {":path", std::string(path)},
                     {":authority", "weir"}, {"te", "trailers"},  {"content-type", "application/grpc"}};
    for (const auto& [name, value] : more) {
      const auto same = [&of = name](const auto& each) { return each.first == of; };
      std::erase_if(fields, same);
      fields.insert(name.starts_with(':') ? fields.begin() : fields.end(), {name, value});
    }
    std::vector<nghttp2_nv> head;
    for (auto& [name, value] : fields)
      head.push_back({reinterpret_cast<std::uint8_t*>(name.data()),
                      reinterpret_cast<std::uint8_t*>(value.data()), name.size(), value.size(),
                      NGHTTP2_NV_FLAG_NONE});
    auto& sent = sending_.emplace_back(std::make_unique<Sending>(Sending{std::move(body), 0, ends}));
    nghttp2_data_provider from;
    from.source.ptr = sent.get();
    from.read_callback = [](nghttp2_session*, std::int32_t, std::uint8_t* to, std::size_t size,
                            std::uint32_t* flags, nghttp2_data_source* source, void*) -> ssize_t {
      auto& its = *static_cast<Sending*>(source->ptr);
      const std::size_t part = std::min(size, its.bytes.size() - its.at);
      std::copy_n(its.bytes.data() + its.at, part, to);
      its.at += part;
      if (its.at < its.bytes.size()) return static_cast<ssize_t>(part);
      if (its.ends) *flags = NGHTTP2_DATA_FLAG_EOF;
      if (part == 0 && !its.ends) return NGHTTP2_ERR_DEFERRED;
      return static_cast<ssize_t>(part);
    };
    return nghttp2_submit_request(session_, nullptr, head.data(), head.size(), &from, nullptr);
  }
  void reset(std::int32_t stream) {
    nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, stream, NGHTTP2_CANCEL);
  }
  std::string bytes() {
    std::string out;
    const std::uint8_t* from = nullptr;
    for (ssize_t size = 0; (size = nghttp2_session_mem_send(session_, &from)) > 0;)
      out.append(reinterpret_cast<const char*>(from), static_cast<std::size_t>(size));
    return out;
  }
  void take(std::string_view answer) {
    nghttp2_session_mem_recv(session_, reinterpret_cast<const std::uint8_t*>(answer.data()), answer.size());
  }

  std::map<std::int32_t, Reply> replies;
  std::vector<std::pair<std::int32_t, std::uint32_t>> goaways;  // the last stream, why

 private:
  struct Sending {
    std::string bytes;
    std::size_t at;
    bool ends;
  };
  nghttp2_session* session_ = nullptr;
  std::vector<std::unique_ptr<Sending>> sending_;
};

}  // namespace weir::grpc
