#include "logs/log_reader.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <exception>
#include <stdexcept>
#include <thread>

#include "logs/log_copies.hpp"
#include "weir/lock.hpp"

namespace weir::inline v0_1::logs {

void Reorder::add(const Event& event) {
  const std::int64_t second = event.ns / kSecond;
  if (last_ == nullptr || second != last_second_) {
    auto found = seconds_.lower_bound(second);
    if (found == seconds_.end() || found->first != second) {
      if (spare_.empty()) {
        found = seconds_.try_emplace(found, second);
      } else {
        auto node = std::move(spare_.back());
        spare_.pop_back();
        node.key() = second;
        found = seconds_.insert(found, std::move(node));
      }
    }
    last_ = &found->second;
    last_second_ = second;
  }
  if (!last_->events.empty() && event.ns < last_->events.back().ns) last_->sorted = false;
  last_->events.push_back(event);
}

void Reorder::sort(Second& second) {
  if (second.sorted) return;
  // Not std::stable_sort, which libstdc++ 12 builds on what clang calls deprecated.
  for (std::size_t i = 0; i < second.events.size(); ++i)
    second.events[i].order = static_cast<std::uint32_t>(i);
  std::sort(second.events.begin(), second.events.end(),
            [](const Event& a, const Event& b) { return a.ns != b.ns ? a.ns < b.ns : a.order < b.order; });
}

// What the reading thread hands to the deciding one.
struct LogReader::Batch {
  static constexpr std::size_t kRows = 4096;
  struct Row {
    LogRecord record;
    std::uint64_t hash;
    std::uint32_t key_begin;
    std::uint32_t key_size;
  };
  std::vector<Row> rows;
  std::string keys;
  Progress progress;
  LogStats stats;  // of the reading thread, so far
};

// A few batches in flight: enough that neither thread waits out the other's hiccups, few enough to stay in
// cache.
class LogReader::Channel {
 public:
  Channel() {
    for (int i = 0; i < 4; ++i) free_.push_back(std::make_unique<Batch>());
  }
  // An empty batch to fill; null when the other side has ended.
  std::unique_ptr<Batch> blank() {
    const detail::Held lock(mutex_);
    while (free_.empty() && !closed_) changed_.wait(mutex_);
    if (closed_) return nullptr;
    auto batch = std::move(free_.back());
    free_.pop_back();
    return batch;
  }
  void give(std::unique_ptr<Batch> batch) {
    const detail::Held lock(mutex_);
    full_.push_back(std::move(batch));
    changed_.notify_all();
  }
  // Null at the end.
  std::unique_ptr<Batch> take() {
    const detail::Held lock(mutex_);
    while (full_.empty() && !closed_) changed_.wait(mutex_);
    if (full_.empty()) return nullptr;
    auto batch = std::move(full_.front());
    full_.erase(full_.begin());
    return batch;
  }
  void give_back(std::unique_ptr<Batch> batch) {
    const detail::Held lock(mutex_);
    free_.push_back(std::move(batch));
    changed_.notify_all();
  }
  void close() {
    const detail::Held lock(mutex_);
    closed_ = true;
    changed_.notify_all();
  }

 private:
  detail::Mutex mutex_;
  detail::Signal changed_;
  std::vector<std::unique_ptr<Batch>> free_ WEIR_GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<Batch>> full_ WEIR_GUARDED_BY(mutex_);
  bool closed_ WEIR_GUARDED_BY(mutex_) = false;
};

// Merges the lines of several files: the next line is always that of the file whose greatest time, this
// line's included, is the least.
class LogReader::Merge {
 public:
  Merge(const LogReaderOptions& options, LogStats& stats, const std::atomic<bool>& stop)
      : options_(options), stats_(stats), stop_(stop) {
    for (const std::string& path : options.files) {
      total_ += Input::size_of(path);
      known_ = known_ && Input::size_of(path) > 0;
      files_.emplace_back().path = path;
    }
    if (files_.size() == 1) {
      open(files_[0]);
    } else {
      for (File& file : files_) file.greatest = first_time(file.path);
    }
  }

  bool next(LogRecord& record, std::string& key) {
    if (files_.size() == 1) return files_[0].source->next(record, key);
    if (current_ == nullptr && !choose()) return false;
    record = current_->ahead;
    key += current_->ahead_key;
    look_ahead(*current_);
    // Equal times: the file named first goes first.
    const bool still = !current_->ended && (current_->greatest < other_greatest_ ||
                                            (current_->greatest == other_greatest_ && goes_first_));
    if (!still) current_ = nullptr;
    return true;
  }

  // Whether next() returned false only because the log has not grown yet.
  bool waiting() const { return options_.follow && files_[0].source->waiting(); }

  Progress progress() const {
    std::uint64_t consumed = finished_;
    for (const File& file : files_) consumed += file.source ? file.source->consumed() : 0;
    return {consumed, known_ ? total_ : 0, stats_.read};
  }

 private:
  struct File {
    std::string path;
    std::int64_t greatest = 0;  // of its lines so far and of the next one
    std::unique_ptr<LogSource>
        source;  // open only while it is being read: a year of rotated logs is 365 files
    LogRecord ahead{};
    std::string ahead_key;
    bool ended = false;
  };

  void open(File& file) {
    file.source = std::make_unique<LogSource>(file.path, options_.wanted, options_.filter, options_.layout,
                                              stats_, stop_, options_.follow);
  }

  void look_ahead(File& file) {
    file.ahead_key.clear();
    if (file.source->next(file.ahead, file.ahead_key)) {
      file.greatest = std::max(file.greatest, file.ahead.ns);
      return;
    }
    finished_ += file.source->consumed();
    file.source.reset();
    file.ended = true;
  }

  // The file to read from, and how far before it is another file's turn.
  bool choose() {
    for (;;) {
      File* second = nullptr;
      for (File& file : files_) {
        if (file.ended) continue;
        if (current_ == nullptr || file.greatest < current_->greatest) {
          second = current_;
          current_ = &file;
        } else if (second == nullptr || file.greatest < second->greatest) {
          second = &file;
        }
      }
      if (current_ == nullptr) return false;
      other_greatest_ = second != nullptr ? second->greatest : std::numeric_limits<std::int64_t>::max();
      goes_first_ = second == nullptr || current_ < second;
      if (current_->source) return true;
      open(*current_);
      look_ahead(*current_);
      current_ = nullptr;  // the time of standard input is known only now
    }
  }

  // Opens the file, looks and closes it again. Standard input can be read only once, so it stays open.
  std::int64_t first_time(const std::string& path) const {
    if (path == "-") return 0;
    LogStats not_yet;
    LogRecord record{};
    std::string key;
    LogSource source(path, options_.wanted, options_.filter, options_.layout, not_yet, stop_);
    return source.next(record, key) ? record.ns : 0;
  }

  const LogReaderOptions& options_;
  LogStats& stats_;
  const std::atomic<bool>& stop_;
  std::vector<File> files_;
  File* current_ = nullptr;
  std::int64_t other_greatest_ = 0;
  bool goes_first_ = true;
  std::uint64_t total_ = 0;
  std::uint64_t finished_ = 0;
  bool known_ = true;
};

namespace {

// Two names may be one file, whose requests would count twice.
void refuse_twice(const std::vector<std::string>& files) {
  std::map<std::pair<dev_t, ino_t>, std::string> seen;
  for (const std::string& path : files) {
    struct stat status{};
    if (path == "-" || ::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) continue;
    const auto [first, is_new] = seen.try_emplace({status.st_dev, status.st_ino}, path);
    if (is_new) continue;
    throw std::runtime_error(path + ": is given twice" +
                             (first->second == path ? "" : ", first as " + first->second) +
                             ", so its requests would count twice");
  }
}

}  // namespace

LogReader::LogReader(LogReaderOptions options, const std::atomic<bool>& stop)
    : options_(std::move(options)), stop_(stop) {
  if (std::count(options_.files.begin(), options_.files.end(), "-") > 1) {
    throw std::runtime_error("standard input (-) can be read only once");
  }
  if (options_.follow && options_.files.size() != 1)
    throw std::runtime_error("follow: expected one log, not " + std::to_string(options_.files.size()));
  refuse_twice(options_.files);
  refuse_copies(options_.files, stop);
}

// The reading thread's: all that there is, or until nobody takes it.
void LogReader::read(Channel& channel, LogStats& stats) const {
  Merge merge(options_, stats, stop_);
  for (bool more = true; more;) {
    auto batch = channel.blank();
    if (!batch) return;
    more = fill(*batch, merge) || (merge.waiting() && !interrupted());
    batch->progress = merge.progress();
    batch->stats = stats;
    channel.give(std::move(batch));
  }
}

// False: there is no more.
bool LogReader::fill(Batch& batch, Merge& merge) const {
  batch.rows.clear();
  batch.keys.clear();
  while (batch.rows.size() < Batch::kRows && batch.keys.size() <= LogSource::kLongestLine) {
    Batch::Row row{};
    row.key_begin = static_cast<std::uint32_t>(batch.keys.size());
    if (interrupted() || !merge.next(row.record, batch.keys)) return false;
    row.key_size = static_cast<std::uint32_t>(batch.keys.size()) - row.key_begin;
    row.hash = ClientIndex::hash(std::string_view(batch.keys).substr(row.key_begin));
    batch.rows.push_back(row);
  }
  return true;
}

// Gives each client its number, and hands on what no later row can come before.
template <class Collect>
void LogReader::number(const Batch& batch, LogStats& decided, Reorder& reorder, const Collect& collect) {
  constexpr std::size_t kAhead = 16;
  const auto& rows = batch.rows;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i + kAhead < rows.size()) clients_.prefetch(rows[i + kAhead].hash);
    const Batch::Row& row = rows[i];
    if (row.record.left_out) {
      ++decided.left_out;
      reorder.pass(row.record.ns, collect);
      continue;
    }
    const std::string_view key = std::string_view(batch.keys).substr(row.key_begin, row.key_size);
    const std::uint32_t client = clients_.number(key, row.hash);
    ++decided.requests;
    reorder.take({row.record.ns, row.record.cost, client}, decided, collect);
  }
}

void LogReader::run(const std::function<void(std::span<const Event>)>& each,
                    const std::function<void(const Progress&)>& progress) {
  Channel channel;
  LogStats of_reading;
  std::exception_ptr wrong;
  std::thread reading([&] {
    try {
      read(channel, of_reading);
    } catch (...) {
      wrong = std::current_exception();
    }
    channel.close();
  });
  // However this function ends, the thread ends before the objects that it uses.
  struct Join {
    Channel& channel;
    std::thread& thread;
    ~Join() {
      channel.close();
      if (thread.joinable()) thread.join();
    }
  };
  LogStats decided;
  const auto add_up = [&](LogStats stats) {
    stats.requests = decided.requests;
    stats.left_out = decided.left_out;
    stats.reordered = decided.reordered;
    stats.clamped = decided.clamped;
    stats_ = std::move(stats);
  };
  {
    const Join join{channel, reading};
    Reorder reorder(options_.reorder_ns, options_.wanted.span.has_value());
    std::vector<Event> ready;
    const auto flush = [&] {
      each(ready);
      ready.clear();
    };
    const auto collect = [&](const Event& event) {
      ready.push_back(event);
      if (ready.size() >= Batch::kRows) flush();
    };
    while (auto batch = channel.take()) {
      number(*batch, decided, reorder, collect);
      flush();
      const Progress at = batch->progress;
      add_up(std::move(batch->stats));
      channel.give_back(std::move(batch));
      progress(at);
    }
    reorder.finish(collect);
    flush();
  }
  if (wrong) std::rethrow_exception(wrong);
  add_up(std::move(of_reading));
}

}  // namespace weir::logs
