#include "http/parser.hpp"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <cstring>
#include <limits>
#include <span>

#include "core/number.hpp"

namespace weir::inline v0_1::http {
namespace {

namespace beast = boost::beast::http;
using Error = boost::beast::error_code;
using Text = boost::beast::string_view;

std::string_view view(Text text) { return {text.data(), text.size()}; }

// Notes a head's parts, which view the bytes that were parsed.
class HeadReader final : public beast::basic_parser<true> {
 public:
  HeadReader(Message& message, FieldRoom& room) : message_(message), room_(room) {
    header_limit(static_cast<std::uint32_t>(kMostHead + 1));
    body_limit(std::numeric_limits<std::uint64_t>::max());
  }
  std::size_t count() const { return count_; }

 private:
  void on_request_impl(beast::verb, Text method, Text target, int version, Error&) override {
    message_.method = view(method);
    message_.target = view(target);
    message_.minor = version % 10;
  }
  void on_field_impl(beast::field, Text name, Text value, Error& error) override {
    if (count_ == room_.size()) {
      error = beast::error::header_limit;
      return;
    }
    room_[count_++] = {view(name), view(value)};
  }
  void on_header_impl(Error&) override {}
  void on_response_impl(int, Text, int, Error&) override {}
  void on_body_init_impl(const boost::optional<std::uint64_t>&, Error&) override {}
  std::size_t on_body_impl(Text, Error&) override { return 0; }
  void on_chunk_header_impl(std::uint64_t, Text, Error&) override {}
  std::size_t on_chunk_body_impl(std::uint64_t, Text, Error&) override { return 0; }
  void on_finish_impl(Error&) override {}

  Message& message_;
  FieldRoom& room_;
  std::size_t count_ = 0;
};

// A method's letters: what a request begins with.
bool is_token(char letter) {
  const auto byte = static_cast<unsigned char>(letter);
  if (byte <= ' ' || byte >= 0x7f) return false;
  return std::string_view("\"(),/:;<=>?@[\\]{}").find(letter) == std::string_view::npos;
}

enum class Version : std::uint8_t { ours, other, none };

// Of a first line: "GET / HTTP/2.0" is well formed, and not for us.
Version version_of(std::string_view line) {
  constexpr std::string_view kHttp = " HTTP/";
  if (line.size() < kHttp.size() + 3) return Version::none;
  const std::string_view end = line.substr(line.size() - kHttp.size() - 3);
  const auto digit = [](char letter) { return letter >= '0' && letter <= '9'; };
  if (!end.starts_with(kHttp) || !digit(end[6]) || end[7] != '.' || !digit(end[8])) return Version::none;
  return end.substr(6) == "1.1" || end.substr(6) == "1.0" ? Version::ours : Version::other;
}

}  // namespace

// A body in chunks, read by Beast as it comes.
struct RequestParser::Chunks final : beast::basic_parser<true> {
  explicit Chunks(bool keep) : keeps(keep) {
    eager(true);
    header_limit(static_cast<std::uint32_t>(kMostHead + 1));
    body_limit(keep ? kMostBody : std::numeric_limits<std::uint64_t>::max());
  }

  void on_request_impl(beast::verb, Text, Text, int, Error&) override {}
  // Those after the last chunk are read and thrown away: they may not say what a head's say.
  void on_field_impl(beast::field, Text, Text, Error& error) override {
    if (++fields == 2 * kMostFields) error = beast::error::header_limit;
  }
  void on_header_impl(Error&) override {}
  void on_response_impl(int, Text, int, Error&) override {}
  void on_body_init_impl(const boost::optional<std::uint64_t>&, Error&) override {}
  std::size_t on_body_impl(Text, Error&) override { return 0; }
  // Blanks that belong to no extension.
  void on_chunk_header_impl(std::uint64_t, Text extensions, Error& error) override {
    if (!extensions.empty() && extensions.find(';') == Text::npos) error = beast::error::bad_chunk_extension;
  }
  std::size_t on_chunk_body_impl(std::uint64_t, Text bytes, Error&) override {
    if (keeps) body.append(bytes.data(), bytes.size());
    return bytes.size();
  }
  void on_finish_impl(Error&) override {}

  // Takes all that it understands; how much that was.
  std::size_t take(std::string_view bytes, Error& error) {
    std::size_t all = 0;
    while (!is_done()) {
      const std::string_view rest = bytes.substr(all);
      const std::size_t taken = put(boost::asio::const_buffer(rest.data(), rest.size()), error);
      all += taken;
      if (error || taken == 0) break;
    }
    return all;
  }

  const bool keeps;
  std::size_t fed = 0;  // of the input
  std::size_t fields = 0;
  std::string body;
};

RequestParser::RequestParser(ThrowsAway throws_away) : throws_away_(throws_away) {}
RequestParser::~RequestParser() = default;

std::size_t RequestParser::kept() const { return chunks_ ? sizeof(Chunks) + chunks_->body.capacity() : 0; }

void RequestParser::free_chunks() { chunks_.reset(); }

void RequestParser::forget() {
  lead_ = scanned_ = head_ = body_ = consumed_ = 0;
  chunks_.reset();
  chunked_ = expects_continue_ = skips_ = done_ = false;
}

RequestParser::Status RequestParser::refuse(int status, std::string_view detail) {
  refusal_ = {status, detail};
  return Status::refused;
}

RequestParser::Status RequestParser::next(std::string_view input, FieldRoom& room) {
  if (skipping_) return skip(input);
  if (done_) forget();
  refusal_ = {};
  if (head_ == 0) {
    if (!find_head_end(input)) return refusal_.detail.empty() ? Status::incomplete : Status::refused;
    return read_head(input, room);
  }
  // The rest of a body. What the message viewed may have moved.
  message_ = {};
  if (const Status status = read_body(input); status != Status::whole) return status;
  return read_head(input, room);
}

// Looks at whole lines only, and at each once. False: it is not there yet, or refused.
bool RequestParser::find_head_end(std::string_view input) {
  const auto fail = [this](int status, std::string_view detail) {
    refuse(status, detail);
    return false;
  };
  // A client may end its last body with an empty line too many (RFC 9112, 2.2).
  constexpr std::size_t kMostLead = 8;
  while (scanned_ == lead_ && lead_ < kMostLead && input.substr(lead_).starts_with("\r\n"))
    scanned_ = lead_ += 2;
  const std::string_view rest = input.substr(lead_);
  if (rest.empty() || rest == "\r") return false;
  if (rest.starts_with('\x16')) return fail(400, "this is TLS, and here plain HTTP is spoken");
  if (!is_token(rest.front())) return fail(400, "the request does not begin with a method");
  for (;;) {
    const std::string_view unseen = input.substr(scanned_);
    const void* const end = unseen.empty() ? nullptr : std::memchr(unseen.data(), '\n', unseen.size());
    if (end == nullptr) {
      const bool first = scanned_ == lead_;
      if (first && unseen.size() > kMostTarget + 64) return fail(414, "the request's first line is too long");
      if (input.size() - lead_ > kMostHead) return fail(431, "the request's fields are too long");
      return false;
    }
    const auto size = static_cast<std::size_t>(static_cast<const char*>(end) - unseen.data());
    if (size == 0 || unseen[size - 1] != '\r') return fail(400, "a line that ends with LF alone");
    const std::string_view line = unseen.substr(0, size - 1);
    if (std::memchr(line.data(), '\r', line.size()) != nullptr) return fail(400, "a CR that ends no line");
    if (scanned_ == lead_) {
      if (line.size() > kMostTarget + 64) return fail(414, "the request's first line is too long");
      // At once: what is not HTTP may have no empty line for us to wait for.
      const Version version = version_of(line);
      if (version == Version::other) return fail(505, "only HTTP/1.1 and HTTP/1.0 are spoken here");
      if (version == Version::none) return fail(400, "the request's head is malformed");
    } else if (line.starts_with(' ') || line.starts_with('\t')) {
      return fail(400, "a field that goes on in the next line");
    }
    scanned_ += size + 1;
    if (scanned_ - lead_ > kMostHead) return fail(431, "the request's fields are too long");
    if (!line.empty()) continue;
    head_ = scanned_;
    return true;
  }
}

RequestParser::Status RequestParser::read_head(std::string_view input, FieldRoom& room) {
  message_ = {};
  HeadReader reader(message_, room);
  Error error;
  reader.put(boost::asio::const_buffer(input.data() + lead_, head_ - lead_), error);
  if (error == beast::error::header_limit) return refuse(431, "too many fields");
  if (error == beast::error::bad_content_length)
    return refuse(400, "a Content-Length that is not one number");
  if (error == beast::error::bad_transfer_encoding)
    return refuse(400, "Transfer-Encoding twice, or beside Content-Length");
  if (error || !reader.is_header_done()) return refuse(400, "the request's head is malformed");
  message_.fields = std::span(room).first(reader.count());
  message_.keep_alive = reader.keep_alive();
  split_target(message_);
  if (message_.target.size() > kMostTarget) return refuse(414, "the request's target is too long");
  if (!judge_host() || !judge_framing()) return Status::refused;
  return read_body(input);
}

bool RequestParser::judge_host() {
  const std::size_t hosts = message_.count("Host");
  const std::string_view host = message_.value("Host");
  if (hosts > 1 || (hosts == 0 && message_.minor == 1)) {
    refuse(400, hosts > 1 ? "Host twice" : "missing Host");
    return false;
  }
  if (host.find_first_of(" \t/\\?#@,\"<>") != std::string_view::npos) {
    refuse(400, "a malformed Host");
    return false;
  }
  return true;
}

// How long the body is. Whatever others could read in another way is refused.
bool RequestParser::judge_framing() {
  const auto fail = [this](int status, std::string_view detail) {
    refuse(status, detail);
    return false;
  };
  const Field* const length = message_.find("Content-Length");
  const Field* const encoding = message_.find("Transfer-Encoding");
  const bool any = length != nullptr || encoding != nullptr;
  skips_ = any && throws_away_ != nullptr && throws_away_(message_);
  if (encoding != nullptr) {
    if (length != nullptr) return fail(400, "Transfer-Encoding beside Content-Length");
    if (message_.minor == 0) return fail(400, "Transfer-Encoding in HTTP/1.0");
    if (message_.find("Transfer-Encoding", encoding) != nullptr) return fail(400, "Transfer-Encoding twice");
    if (!same(encoding->value, "chunked")) return fail(501, "a Transfer-Encoding other than chunked");
    chunked_ = true;
  } else if (length != nullptr) {
    if (message_.find("Content-Length", length) != nullptr) return fail(400, "Content-Length twice");
    const std::string_view text = length->value;
    const bool digits = !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
    if (!digits) return fail(400, "a Content-Length that is not one number");
    const std::string_view number = text.substr(std::min(text.find_first_not_of('0'), text.size() - 1));
    const std::int64_t size = core::parse_integer(number).value_or(std::numeric_limits<std::int64_t>::max());
    if (size > static_cast<std::int64_t>(kMostBody) && !skips_) return fail(413, "a body of more than 1 MiB");
    body_ = static_cast<std::size_t>(size);
  }
  if (const Field* const expects = message_.find("Expect"); expects != nullptr && message_.minor == 1) {
    if (!same(expects->value, "100-continue")) return fail(417, "an Expect other than 100-continue");
    expects_continue_ = chunked_ || body_ > 0;
  }
  return true;
}

RequestParser::Status RequestParser::read_body(std::string_view input) {
  if (skips_ && (chunked_ || body_ > 0)) return begin_skipping(input);
  if (!chunked_) {
    if (input.size() - head_ < body_) return Status::head;
    message_.body = input.substr(head_, body_);
    consumed_ = head_ + body_;
    done_ = true;
    return Status::whole;
  }
  if (!chunks_) {
    chunks_ = std::make_unique<Chunks>(true);
    chunks_->fed = lead_;
  }
  Chunks& chunks = *chunks_;
  Error error;
  chunks.fed += chunks.take(input.substr(chunks.fed), error);
  if (error == beast::error::body_limit || chunks.fed > head_ + kMostChunks)
    return refuse(413, "a body of more than 1 MiB");
  if (error == beast::error::header_limit) return refuse(431, "the fields after the body are too long");
  if (error && error != beast::error::need_more) return refuse(400, "a malformed chunk");
  if (!chunks.is_done()) {
    // Half a line of a chunk, or half of the fields after the last.
    if (input.size() - chunks.fed > kMostHead) return refuse(431, "the fields after the body are too long");
    return Status::head;
  }
  message_.body = chunks.body;
  consumed_ = chunks.fed;
  done_ = true;
  return Status::whole;
}

RequestParser::Status RequestParser::begin_skipping(std::string_view input) {
  if (chunked_) {
    // It has to see the head before it understands chunks; what is wrong with one is found when it has come.
    chunks_ = std::make_unique<Chunks>(false);
    Error error;
    chunks_->take(input.substr(lead_, head_ - lead_), error);
  }
  consumed_ = head_;
  skipping_ = done_ = true;
  return Status::whole;
}

RequestParser::Status RequestParser::skip(std::string_view input) {
  message_ = {};
  if (!chunked_) {
    consumed_ = std::min(body_, input.size());
    body_ -= consumed_;
    skipping_ = body_ > 0;
    return Status::skipped;
  }
  Error error;
  consumed_ = chunks_->take(input, error);
  if (error && error != beast::error::need_more) return refuse(400, "a malformed chunk");
  if (!chunks_->is_done() && input.size() - consumed_ > kMostHead)
    return refuse(431, "the fields after the body are too long");
  skipping_ = !chunks_->is_done();
  if (!skipping_) chunks_.reset();
  return Status::skipped;
}

}  // namespace weir::http
