// A load generator that costs less than the servers it loads, so that what is measured is the server.
//
// C connections each keep one pipeline of P requests under way: when its last reply has come, the next is
// sent. What makes it light: requests are built once and only the digits of their keys change; one send, one
// recv and no other system call a pipeline; replies are not parsed, their line feeds are counted (every reply
// to one command has as many lines). A reply that is an error breaks that count, and ends the run with its
// text, or as a stall.
//
// Prints one line of JSON. Its latency is that of a whole pipeline, from before its send to after its last
// recv.
#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>
#include <deque>
#include <exception>
#include <optional>
#include <vector>

#include "client.hpp"

namespace weir::inline v0_1::bench {
namespace {

constexpr std::string_view kUsage =
    R"(usage: weir_bench_load --port PORT [flags]
  --command NAME     throttle (CL.THROTTLE key:... 15 30 60 1), get or set     throttle
  --words TEXT       another command; KEY in it stands for the key
  --lines N          of each reply to that, which is an array
  --connections C    each with one pipeline under way                          50
  --pipeline P       requests in a pipeline                                    1
  --keys N           keys are drawn from key:000000000000 and the N - 1 after  1000000
  --seconds S        measure for this long, after a warm-up of a tenth of it,  2
                     and until a reply has come
  --requests N       measure this many requests instead
  --fill             send the command once for each of the N keys, in order
  --pid PID          the server's process: report its CPU time too
)";

// No reply for this long is a failure.
constexpr std::int64_t kStallNs = 10'000'000'000;
constexpr std::size_t kReadBytes = std::size_t{256} << 10;
constexpr int kKeyDigits = 12;  // as redis-benchmark writes __rand_int__

struct Options {
  std::uint16_t port = 0;
  std::string command = "throttle";
  std::string words;  // instead of it
  std::uint64_t lines = 0;
  std::uint64_t connections = 50;
  std::uint64_t pipeline = 1;
  std::uint64_t keys = 1'000'000;
  double seconds = 2;
  std::uint64_t requests = 0;  // 0: until the time is over
  bool fill = false;
  pid_t pid = 0;
};

Options parse_options(int argc, char** argv) {
  Options options;
  bool timed = false;
  for (int at = 1; at < argc; ++at) {
    const std::string_view flag = argv[at];
    const auto count = [&](std::uint64_t most) {
      return parse_number<std::uint64_t>(flag, value_of(argc, argv, at), 1, most);
    };
    if (flag == "--port") {
      options.port = static_cast<std::uint16_t>(count(65535));
    } else if (flag == "--command") {
      options.command = value_of(argc, argv, at);
    } else if (flag == "--words") {
      options.words = value_of(argc, argv, at);
    } else if (flag == "--lines") {
      options.lines = count(1000);
    } else if (flag == "--connections") {
      options.connections = count(10'000);
    } else if (flag == "--pipeline") {
      options.pipeline = count(10'000);
    } else if (flag == "--keys") {
      options.keys = count(1'000'000'000);
    } else if (flag == "--seconds") {
      options.seconds = parse_number(flag, value_of(argc, argv, at), 0.01, 3600.0);
      timed = true;
    } else if (flag == "--requests") {
      options.requests = count(1'000'000'000'000);
    } else if (flag == "--fill") {
      options.fill = true;
    } else if (flag == "--pid") {
      options.pid = static_cast<pid_t>(count(1 << 30));
    } else {
      throw UsageError("'" + std::string(flag) + "' is not a flag of this program");
    }
  }
  if (options.port == 0) throw UsageError("--port is missing");
  if (options.command != "throttle" && options.command != "get" && options.command != "set") {
    throw UsageError("--command: '" + options.command + "' is not throttle, get or set");
  }
  if (timed + (options.requests > 0) + options.fill > 1) {
    throw UsageError("--seconds, --requests and --fill each say when to end: give one");
  }
  if (options.fill) options.requests = options.keys;
  return options;
}

// The keys, random or, to fill, one after the other.
class Keys {
 public:
  Keys(std::uint64_t count, bool in_order) : count_(count), in_order_(in_order) {
    for (std::size_t i = 0; i < 1000; ++i) {
      digits_[i] = {static_cast<char>('0' + i / 100), static_cast<char>('0' + i / 10 % 10),
                    static_cast<char>('0' + i % 10)};
    }
  }

  // Writes the next key's number over twelve zeros, or over an earlier key of the same object.
  void write_next(char* to) {
    std::uint64_t number = next();
    // Three digits at a time, and only as many as change.
    for (std::uint64_t most = count_ - 1, place = kKeyDigits - 3;; place -= 3) {
      std::memcpy(to + place, digits_[number % 1000].data(), 3);
      number /= 1000;
      most /= 1000;
      if (most == 0) return;
    }
  }

 private:
  std::uint64_t next() {
    if (in_order_) return counter_++ % count_;
    // G. Marsaglia, "Xorshift RNGs", 2003; the multiplication takes the place of a division.
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return ((state_ >> 32) * count_) >> 32;
  }

  std::uint64_t count_;
  bool in_order_;
  std::uint64_t counter_ = 0;
  std::uint64_t state_ = 0x9E3779B97F4A7C15;
  std::array<std::array<char, 3>, 1000> digits_;
};

// One pipeline's bytes, used by all connections in turn.
class Pipeline {
 public:
  explicit Pipeline(const Options& options) {
    const std::string& command = options.command;
    const std::uint64_t size = options.pipeline;
    const std::string key = "key:" + std::string(kKeyDigits, '0');
    std::string one = command == "get"   ? request({"GET", key})
                      : command == "set" ? request({"SET", key, "xxx"})
                                         : request({"CL.THROTTLE", key, "15", "30", "60", "1"});
    marker_ = command == "get" ? '$' : command == "set" ? '+' : '*';
    lines_ = command == "get" ? 2 : command == "set" ? 1 : 6;
    if (!options.words.empty()) {
      one = request_of(options.words, key);
      marker_ = '*';
      lines_ = options.lines;
    }
    length_ = one.size();
    digits_at_ = one.find(key) + key.size() - kKeyDigits;
    for (std::uint64_t i = 0; i < size; ++i) bytes_ += one;
  }

  // The bytes of `count` requests with fresh keys.
  std::string_view renew(Keys& keys, std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) keys.write_next(bytes_.data() + i * length_ + digits_at_);
    return std::string_view(bytes_).substr(0, count * length_);
  }

  // Words between blanks.
  static std::string request_of(std::string text, const std::string& key) {
    if (const std::size_t at = text.find("KEY"); at != std::string::npos) text.replace(at, 3, key);
    std::string words;
    std::uint64_t count = 0;
    for (std::size_t at = 0; at < text.size(); ++count) {
      const std::size_t end = std::min(text.find(' ', at), text.size());
      words += "$" + std::to_string(end - at) + "\r\n" + text.substr(at, end - at) + "\r\n";
      at = end + 1;
    }
    return "*" + std::to_string(count) + "\r\n" + words;
  }

  char marker() const { return marker_; }         // how every good reply begins
  std::uint64_t lines() const { return lines_; }  // of every good reply

 private:
  std::string bytes_;
  std::size_t length_;
  std::size_t digits_at_;
  char marker_;
  std::uint64_t lines_;
};

std::uint64_t count_line_feeds(std::string_view text) {
  const char* bytes = text.data();
  std::size_t size = text.size();
  using Block = unsigned char __attribute__((vector_size(16)));
  std::uint64_t total = 0;
  while (size >= sizeof(Block)) {
    // A lane of the sum holds up to 255.
    const std::size_t blocks = std::min<std::size_t>(size / sizeof(Block), 255);
    Block sums{};
    for (std::size_t i = 0; i < blocks; ++i, bytes += sizeof(Block)) {
      Block block;
      std::memcpy(&block, bytes, sizeof block);
      sums -= reinterpret_cast<Block>(block == '\n');
    }
    for (std::size_t lane = 0; lane < sizeof(Block); ++lane) total += sums[lane];
    size -= blocks * sizeof(Block);
  }
  return total + static_cast<std::uint64_t>(std::count(bytes, bytes + size, '\n'));
}

// Times in classes of one part in 64.
class Histogram {
 public:
  void add(std::uint64_t ns) {
    const int shift = std::max(static_cast<int>(std::bit_width(ns)) - 7, 0);
    ++counts_[static_cast<std::size_t>(shift) * 64 + (ns >> shift)];
    ++total_;
  }
  void clear() { *this = {}; }

  double quantile_us(double share) const {
    const auto rank = static_cast<std::uint64_t>(share * static_cast<double>(total_));
    std::uint64_t below = 0;
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      below += counts_[i];
      if (below <= rank) continue;
      const std::size_t shift = i < 128 ? 0 : i / 64 - 1;
      return static_cast<double>((i - shift * 64) << shift) / 1000;
    }
    return 0;
  }

 private:
  std::array<std::uint64_t, 60 * 64> counts_{};
  std::uint64_t total_ = 0;
};

class Load {
 public:
  explicit Load(const Options& options)
      : options_(options),
        keys_(options.keys, options.fill),
        pipeline_(options),
        epoll_(epoll_create1(EPOLL_CLOEXEC)) {
    if (epoll_ < 0) throw system_failure("epoll_create1");
    if (options.pid != 0) server_clock_ = cpu_clock_of(options.pid);
    for (std::uint64_t i = 0; i < options.connections; ++i) {
      clients_.emplace_back(options.port);
      watch(clients_.back());
    }
  }
  ~Load() { close(epoll_); }
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;

  void run() {
    const auto measured_ns = static_cast<std::int64_t>(options_.seconds * 1e9);
    const bool timed = options_.requests == 0;
    now_ = now_ns();
    std::int64_t start_at = timed ? now_ + measured_ns / 10 : now_;
    started_ = ended_ = mark();
    for (Client& client : clients_) begin(client);

    std::array<epoll_event, 64> events{};
    std::int64_t last_reply = now_;
    bool warming_up = timed;
    while (under_way_ > 0) {
      const int ready = epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), 100);
      if (ready < 0 && errno != EINTR) throw system_failure("epoll_wait");
      if (ready <= 0) {
        now_ = now_ns();
        if (now_ - last_reply > kStallNs) {
          throw std::runtime_error("no reply for 10 s; " + std::to_string(under_way_) +
                                   " pipelines wait for one");
        }
      } else {
        last_reply = now_;
      }
      for (int i = 0; i < ready; ++i) {
        const epoll_event& event = events[static_cast<std::size_t>(i)];
        Client& client = *static_cast<Client*>(event.data.ptr);
        flush(client);
        if ((event.events & ~std::uint32_t{EPOLLOUT}) != 0) receive(client);
      }
      if (timed && !stopping_ && now_ >= start_at) {
        if (warming_up) {
          warming_up = false;
          latency_.clear();
          started_ = mark();
          start_at = started_.time + measured_ns;
        } else if (replies_ > started_.replies) {
          ended_ = mark();
          stopping_ = true;
        }
      }
    }
    if (!timed) ended_ = mark();
  }

  void report() const {
    const double requests = static_cast<double>(ended_.replies - started_.replies);
    const double seconds = static_cast<double>(ended_.time - started_.time) / 1e9;
    const auto us_each = [&](std::int64_t ns) { return static_cast<double>(ns) / 1000 / requests; };
    std::printf("{\"requests\": %.0f, \"seconds\": %.4f, \"rps\": %.0f, \"server_cpu_us_per_request\": ",
                requests, seconds, requests / seconds);
    if (server_clock_) {
      std::printf("%.4f", us_each(ended_.server_cpu - started_.server_cpu));
    } else {
      std::printf("null");
    }
    std::printf(", \"client_cpu_us_per_request\": %.4f, \"p50_us\": %.1f, \"p99_us\": %.1f}\n",
                us_each(ended_.client_cpu - started_.client_cpu), latency_.quantile_us(0.5),
                latency_.quantile_us(0.99));
  }

 private:
  struct Client {
    explicit Client(std::uint16_t port) : connection(port) {}
    Connection connection;
    std::uint64_t requests = 0;    // in the pipeline under way
    std::uint64_t lines_left = 0;  // of its replies
    std::int64_t sent_at = 0;
    std::string unsent;  // what the kernel had no room for
  };

  struct Mark {
    std::int64_t time = 0;
    std::uint64_t replies = 0;
    std::int64_t server_cpu = 0;
    std::int64_t client_cpu = 0;
  };

  Mark mark() const {
    return {now_ns(), replies_, server_clock_ ? read_clock_ns(*server_clock_) : 0,
            read_clock_ns(CLOCK_PROCESS_CPUTIME_ID)};
  }

  // Edge-triggered, so that the kernel looks at a socket once for each reply and not a second time to find it
  // empty.
  void watch(Client& client) const {
    epoll_event event{};
    event.events = EPOLLIN | EPOLLOUT | EPOLLET;
    event.data.ptr = &client;
    if (epoll_ctl(epoll_, EPOLL_CTL_ADD, client.connection.fd(), &event) != 0) {
      throw system_failure("epoll_ctl");
    }
  }

  void begin(Client& client) {
    std::uint64_t count = options_.pipeline;
    if (options_.requests > 0) count = std::min(count, options_.requests - asked_);
    if (stopping_ || count == 0) return;
    asked_ += count;
    ++under_way_;
    client.requests = count;
    client.lines_left = count * pipeline_.lines();
    client.sent_at = now_;
    const std::string_view bytes = pipeline_.renew(keys_, count);
    const std::size_t sent = client.connection.send_some(bytes.data(), bytes.size());
    if (sent == bytes.size()) return;
    client.unsent = bytes.substr(sent);
    flush(client);
  }

  void flush(Client& client) const {
    while (!client.unsent.empty()) {
      const std::size_t sent = client.connection.send_some(client.unsent.data(), client.unsent.size());
      if (sent == 0) return;
      client.unsent.erase(0, sent);
    }
  }

  void receive(Client& client) {
    for (;;) {
      const std::size_t size = client.connection.receive_some(buffer_.data(), buffer_.size());
      if (size == 0) return;
      take(client, {buffer_.data(), size});
      // Less than there was room for is all there was, and what comes later is a new event.
      if (size < buffer_.size()) return;
    }
  }

  void take(Client& client, std::string_view bytes) {
    const bool first = client.lines_left == client.requests * pipeline_.lines();
    const std::uint64_t lines = count_line_feeds(bytes);
    if ((first && bytes[0] != pipeline_.marker()) || lines > client.lines_left) {
      throw std::runtime_error("not the expected reply: " + std::string(bytes.substr(0, 80)));
    }
    client.lines_left -= lines;
    if (client.lines_left > 0) return;
    replies_ += client.requests;
    --under_way_;
    now_ = now_ns();
    latency_.add(static_cast<std::uint64_t>(now_ - client.sent_at));
    begin(client);
  }

  const Options& options_;
  Keys keys_;
  Pipeline pipeline_;
  int epoll_;
  std::optional<clockid_t> server_clock_;
  std::deque<Client> clients_;  // epoll keeps their addresses
  std::vector<char> buffer_ = std::vector<char>(kReadBytes);
  Histogram latency_;
  std::int64_t now_ = 0;  // read once a pipeline
  std::uint64_t asked_ = 0;
  std::uint64_t replies_ = 0;
  std::uint64_t under_way_ = 0;  // pipelines
  bool stopping_ = false;
  Mark started_;
  Mark ended_;
};

}  // namespace
}  // namespace weir::bench

int main(int argc, char** argv) {
  using namespace weir::bench;
  return run_main("weir_bench_load", kUsage, [argc, argv] {
    const Options options = parse_options(argc, argv);
    Load load(options);
    load.run();
    load.report();
    return 0;
  });
}
