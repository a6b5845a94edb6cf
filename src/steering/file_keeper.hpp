// Overrides in a file beside the snapshot: FILE.overrides.
//
// Each change writes the whole file beside the old one and moves it into place, synced, before it is
// answered: whenever the program is killed, the file is a whole old one or a whole new one. A line that says
// what it is, the last number, the overrides, and a SipHash-1-3 of all that. Mode 0600: reasons and keys are
// nobody else's business. Errors are one sentence that names the file.
//
// Not for: keeping two processes apart that use one file; the lock of the snapshot does
// (store/snapshot_lock.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "steering/keeper.hpp"
#include "store/disk.hpp"

namespace weir::inline v0_1::steering {

class FileKeeper final : public Keeper {
 public:
  explicit FileKeeper(std::string path, store::Disk& disk = store::system_disk())
      : path_(std::move(path)), disk_(disk) {}

  // What the file has, whether it has ended or not; nothing where there is no file yet. Or why it cannot be
  // used.
  tl::expected<OverrideBook, std::string> load() const;

  bool durable() const override { return true; }
  tl::expected<std::uint64_t, std::string> take_number(const OverrideBook& book) override {
    return book.next_number();
  }
  std::optional<std::string> keep(const OverrideBook& book, const OperatorOverride* made,
                                  const std::vector<OverrideBook::Ptr>& ended) override;

 private:
  std::optional<std::string> write(std::string_view bytes, bool& moved) const;

  const std::string path_;
  store::Disk& disk_;
};

}  // namespace weir::steering
