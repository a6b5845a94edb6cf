#include "logs/input.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "logs/shell_word.hpp"

namespace weir::inline v0_1::logs {
namespace {

constexpr const char* kStandardInput = "standard input";
constexpr std::size_t kLooksAt = 16;  // bytes, for what a file is
constexpr std::size_t kRawBytes = std::size_t{256} << 10;
constexpr int kLookMs = 100;  // how often a file that is followed is looked at

// What a file may be that is neither text nor what zlib or zstd unpacks: how it begins, and the command
// that makes text of it.
struct Other {
  std::string_view begin;
  const char* what;
  const char* command;
};
constexpr std::array<Other, 7> kOthers{{{"\xFD"
                                         "7zXZ",
                                         "compressed by xz", "xz -dc"},
                                        {"BZh", "compressed by bzip2", "bzip2 -dc"},
                                        {"\x04\x22\x4D\x18", "compressed by lz4", "lz4 -dc"},
                                        {"\x1F\x9D", "compressed by compress", "gzip -dc"},
                                        {"PK\x03\x04", "a zip archive", "unzip -p"},
                                        {"\xFF\xFE", "text in UTF-16", "iconv -f UTF-16 -t UTF-8"},
                                        {"\xFE\xFF", "text in UTF-16", "iconv -f UTF-16 -t UTF-8"}}};

// Text of ASCII in UTF-16 without a mark has a zero in every second byte.
const char* utf16_without_mark(std::string_view begin) {
  if (begin.size() < kLooksAt) return nullptr;
  std::array<int, 2> zeros{};
  for (std::size_t i = 0; i < kLooksAt; ++i) zeros[i % 2] += begin[i] == '\0' ? 1 : 0;
  if (zeros[0] == 0 && zeros[1] == kLooksAt / 2) return "iconv -f UTF-16LE -t UTF-8";
  if (zeros[1] == 0 && zeros[0] == kLooksAt / 2) return "iconv -f UTF-16BE -t UTF-8";
  return nullptr;
}

}  // namespace

// Decodes from `in` to `out` and advances both. complete() says whether the data may end here.
class Input::Decoder {
 public:
  Decoder() = default;
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;
  virtual ~Decoder() = default;
  // Returns what is wrong, or nullptr.
  virtual const char* decode(const char*& in, std::size_t in_size, char*& out, std::size_t out_size) = 0;
  virtual bool complete() const = 0;
};

class Input::Gzip : public Decoder {
 public:
  Gzip() {
    if (inflateInit2(&stream_, 15 + 16) != Z_OK) throw std::bad_alloc();  // 16: with gzip's header
  }
  Gzip(const Gzip&) = delete;
  Gzip& operator=(const Gzip&) = delete;
  ~Gzip() override { inflateEnd(&stream_); }

  const char* decode(const char*& in, std::size_t in_size, char*& out, std::size_t out_size) override {
    // zlib writes nothing through next_in; its type predates const.
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(in));
    stream_.avail_in = static_cast<uInt>(in_size);
    stream_.next_out = reinterpret_cast<Bytef*>(out);
    stream_.avail_out = static_cast<uInt>(out_size);
    if (between_members_) {
      // Zeros after a member are padding (tapes, preallocated files).
      while (stream_.avail_in > 0 && *stream_.next_in == 0) {
        ++stream_.next_in;
        --stream_.avail_in;
      }
      if (stream_.avail_in > 0) {
        inflateReset(&stream_);
        between_members_ = false;
      }
    }
    const int result = stream_.avail_in > 0 ? inflate(&stream_, Z_NO_FLUSH) : Z_OK;
    in = reinterpret_cast<const char*>(stream_.next_in);
    out = reinterpret_cast<char*>(stream_.next_out);
    if (result == Z_STREAM_END) between_members_ = true;
    return result == Z_OK || result == Z_STREAM_END || result == Z_BUF_ERROR ? nullptr
                                                                             : "its gzip data is damaged";
  }
  bool complete() const override { return between_members_; }

 private:
  z_stream stream_{};
  bool between_members_ = false;
};

class Input::Zstd : public Decoder {
 public:
  Zstd() : stream_(ZSTD_createDStream()) {
    if (stream_ == nullptr) throw std::bad_alloc();
  }
  Zstd(const Zstd&) = delete;
  Zstd& operator=(const Zstd&) = delete;
  ~Zstd() override { ZSTD_freeDStream(stream_); }

  const char* decode(const char*& in, std::size_t in_size, char*& out, std::size_t out_size) override {
    ZSTD_inBuffer from{in, in_size, 0};
    ZSTD_outBuffer to{out, out_size, 0};
    const std::size_t result = ZSTD_decompressStream(stream_, &to, &from);
    if (from.pos > 0 || to.pos > 0) complete_ = result == 0;
    in += from.pos;
    out += to.pos;
    return ZSTD_isError(result) != 0U ? "its zstd data is damaged" : nullptr;
  }
  bool complete() const override { return complete_; }

 private:
  ZSTD_DStream* stream_;
  bool complete_ = false;
};

Input::Input(const std::string& path, const std::atomic<bool>& stop, bool follow)
    : path_(path == "-" ? kStandardInput : path), stop_(stop), follow_(follow), raw_(new char[kRawBytes]) {
  fd_ = path == "-" ? ::dup(STDIN_FILENO) : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd_ < 0) fail(std::string("cannot be opened: ") + std::strerror(errno));
  struct stat status{};
  if (::fstat(fd_, &status) == 0 && S_ISDIR(status.st_mode)) {
    ::close(fd_);
    fail("is a directory; give the files in it instead");
  }
  waits_ = !S_ISREG(status.st_mode);
  posix_fadvise(fd_, 0, 0, POSIX_FADV_SEQUENTIAL);
  if (follow_) {
    std::array<char, kLooksAt> begin{};
    const ssize_t got = waits_ ? 0 : ::pread(fd_, begin.data(), begin.size(), 0);
    try {
      look_at({begin.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0))});
      if (decoder_) fail("is compressed, so it cannot be followed");
    } catch (...) {
      ::close(fd_);
      throw;
    }
    return;
  }
  try {
    while (raw_end_ < kLooksAt && !raw_ended_) fill();
    look_at({raw_.get(), raw_end_});
  } catch (...) {
    ::close(fd_);
    throw;
  }
}

Input::~Input() { ::close(fd_); }

// What its first bytes say of it. A file of another kind would be read as lines that make no sense.
void Input::look_at(std::string_view begin) {
  if (begin.starts_with("\x1f\x8b")) decoder_ = std::make_unique<Gzip>();
  if (begin.starts_with("\x28\xb5\x2f\xfd")) decoder_ = std::make_unique<Zstd>();
  const auto refuse = [this](const char* what, const std::string& command) {
    const std::string word = path_ == kStandardInput ? "" : " " + shell_word(path_);
    fail(std::string("is ") + what + ", and not plain text, gzip or zstd; " + command + word +
         " makes text of it, which - reads from a pipe");
  };
  for (const Other& each : kOthers) {
    // "BZh" alone may begin a line.
    const bool bzip2 = each.begin == "BZh";
    if (begin.starts_with(each.begin) && (!bzip2 || begin.substr(4).starts_with("1AY")))
      refuse(each.what, each.command);
  }
  if (const char* const command = utf16_without_mark(begin)) refuse("text in UTF-16", command);
}

void Input::fail(const std::string& what) const { throw std::runtime_error(path_ + ": " + what); }

// Goes to what is read next when this file has nothing more: another file of its name, or its own beginning
// when it has become shorter.
bool Input::moved_on() {
  struct stat named{};
  struct stat open{};
  if (::stat(path_.c_str(), &named) != 0 || ::fstat(fd_, &open) != 0) return false;  // not there again yet
  if (named.st_ino == open.st_ino && named.st_dev == open.st_dev) {
    const bool shorter = static_cast<std::uint64_t>(open.st_size) < read_of_it_;
    if (!shorter || ::lseek(fd_, 0, SEEK_SET) != 0) return false;
  } else if (static_cast<std::uint64_t>(open.st_size) <= read_of_it_) {  // read to its end
    const int next = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
    if (next < 0) return false;
    ::close(std::exchange(fd_, next));
  } else {
    return true;  // it grew before it was renamed
  }
  read_of_it_ = 0;
  return true;
}

std::size_t Input::read_followed(char* out, std::size_t size) {
  waiting_ = false;
  pollfd wait{fd_, POLLIN, 0};
  if (waits_ && ::poll(&wait, 1, kLookMs) <= 0) {
    waiting_ = !stop_.load(std::memory_order_relaxed);
    return 0;
  }
  while (!stop_.load(std::memory_order_relaxed)) {
    const ssize_t got = ::read(fd_, out, size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(std::string("cannot be read: ") + std::strerror(errno));
    if (got > 0) {
      consumed_ += static_cast<std::uint64_t>(got);
      read_of_it_ += static_cast<std::uint64_t>(got);
      inside_line_ = out[got - 1] != '\n';
      return static_cast<std::size_t>(got);
    }
    if (waits_) return 0;
    const std::uint64_t before = read_of_it_;
    if (!moved_on()) {
      waiting_ = true;
      ::poll(nullptr, 0, kLookMs);
      return 0;
    }
    // A line that the other file broke off in does not go on in this one.
    if (read_of_it_ < before && std::exchange(inside_line_, false)) {
      out[0] = '\n';
      return 1;
    }
  }
  return 0;
}

std::size_t Input::read_raw(char* out, std::size_t size) {
  if (follow_) return read_followed(out, size);
  for (;;) {
    // A pipe may stay silent, and the signal that sets `stop` may have been delivered to another thread.
    pollfd wait{fd_, POLLIN, 0};
    const int ready = waits_ ? ::poll(&wait, 1, 100) : 1;
    if (stop_.load(std::memory_order_relaxed)) return 0;
    if (ready <= 0) continue;
    const ssize_t got = ::read(fd_, out, size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(std::string("cannot be read: ") + std::strerror(errno));
    consumed_ += static_cast<std::uint64_t>(got);
    return static_cast<std::size_t>(got);
  }
}

void Input::fill() {
  if (raw_begin_ == raw_end_) raw_begin_ = raw_end_ = 0;
  const std::size_t got = read_raw(raw_.get() + raw_end_, kRawBytes - raw_end_);
  raw_ended_ = got == 0;
  raw_end_ += got;
}

std::size_t Input::read(char* out, std::size_t size) {
  if (!decoder_) {
    if (raw_begin_ == raw_end_) return raw_ended_ ? 0 : read_raw(out, size);
    const std::size_t count = std::min(size, raw_end_ - raw_begin_);
    std::memcpy(out, raw_.get() + raw_begin_, count);
    raw_begin_ += count;
    return count;
  }
  for (;;) {
    if (raw_begin_ == raw_end_ && !raw_ended_) fill();
    const char* in = raw_.get() + raw_begin_;
    char* to = out;
    // Even without new bytes: the decoder may hold back some for which there was no room.
    const char* wrong = decoder_->decode(in, raw_end_ - raw_begin_, to, size);
    const bool moved = in != raw_.get() + raw_begin_;
    raw_begin_ = static_cast<std::size_t>(in - raw_.get());
    if (to != out) return static_cast<std::size_t>(to - out);
    if (wrong != nullptr) fail(wrong);
    if (raw_ended_ && !moved) break;
  }
  if (!decoder_->complete() && !stop_.load(std::memory_order_relaxed)) {
    fail("is truncated: its compressed data ends too early");
  }
  return 0;
}

std::uint64_t Input::size_of(const std::string& path) {
  struct stat status{};
  if (path == "-" || ::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return 0;
  return static_cast<std::uint64_t>(status.st_size);
}

}  // namespace weir::logs
