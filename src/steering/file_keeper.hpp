// Overrides in a file beside the snapshot: FILE.overrides (override_file.hpp).
//
// Each change is a line that is added and synced before it is answered, however many there are. When most of
// the file is of overrides that are no longer, it is written again beside the old one and moved into place.
// So whenever the program is killed, what was answered is there, and at most the change that was not is lost.
// A line that could not be written whole is cut off again; where that fails, or somebody else has changed the
// file or taken it away, the next change writes it again. Mode 0600: reasons and keys are nobody else's
// business. Errors are one sentence that names the file.
//
// Not for: keeping two processes apart that use one file; the lock of the snapshot does
// (store/snapshot_lock.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "steering/keeper.hpp"
#include "steering/override_file.hpp"
#include "store/disk.hpp"

namespace weir::inline v0_1::steering {

class FileKeeper final : public Keeper {
 public:
  // How much may lie in the file, however little of it lives, before it is written again.
  static constexpr std::size_t kFewDead = 100;

  explicit FileKeeper(std::string path, store::Disk& disk = store::system_disk())
      : path_(std::move(path)), disk_(disk) {}

  // What the file has, whether it has ended or not; nothing where there is no file yet. Or why it cannot be
  // used.
  tl::expected<OverrideBook, std::string> load();

  bool durable() const override { return true; }
  tl::expected<std::uint64_t, std::string> take_number(const OverrideBook& book) override {
    return book.next_number();
  }
  std::optional<std::string> keep(const OverrideBook& book, const OperatorOverride* made,
                                  const std::vector<OverrideBook::Ptr>& ended) override;

 private:
  using Failure = std::optional<std::string>;  // nothing: it is done

  bool append(const BookChange& change);
  bool is_as_left(int file, const OverrideFileEnd& end);
  Failure rewrite(const BookChange& change);
  Failure write_all(std::string_view bytes, bool& moved);
  Failure write_and_sync(int file, std::string_view bytes);

  const std::string path_;
  store::Disk& disk_;
  std::optional<OverrideFileEnd> end_;  // as this program has left it; nothing: that is not known
  std::size_t not_before_ = 0;          // entries, below which it is not written again for its dead
};

}  // namespace weir::steering
