#include "archive/pickle.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tandem/error.h"

namespace tandem {
namespace {

static_assert(std::endian::native == std::endian::little,
              "numbers are read with the byte order of memory");

// All the names that a pickle may contain. Other names are never looked up.
enum class Callable : std::uint8_t { kRebuildTensor, kOrderedDict };

// The names of the types' storages in the module torch, in the order of StoredType.
constexpr std::array<std::string_view, 9> kStorages = {
    "DoubleStorage", "FloatStorage", "HalfStorage", "BFloat16Storage", "LongStorage",
    "IntStorage",    "ShortStorage", "CharStorage", "ByteStorage"};

struct Tuple;

// The storage that a persistent id names, with the bytes of its record.
struct Storage {
  StoredType type;
  std::span<const std::byte> bytes;
};

// A dictionary under construction. The names come from the file, which could choose them so that
// they collide in a hash table.
struct OpenDict {
  StoredDict dict;
  std::set<std::string> names;
};

using Text = std::shared_ptr<const std::string>;
using Value = std::variant<std::monostate, bool, std::int64_t, double, Text, Callable, StoredType,
                           std::shared_ptr<const Tuple>, Storage,
                           std::shared_ptr<const StoredTensor>, std::shared_ptr<OpenDict>>;

// A value on the stack, and how deep containers nest in it.
struct Item {
  Value value;
  int depth = 0;
};

struct Tuple {
  std::vector<Item> items;
};

// The opcodes of pickle's protocol 2 that tensors, numbers, texts and dictionaries need.
enum Opcode : unsigned char {
  kMark = '(',
  kStop = '.',
  kBinFloat = 'G',
  kBinInt = 'J',
  kBinInt1 = 'K',
  kBinInt2 = 'M',
  kNone = 'N',
  kBinPersistentId = 'Q',
  kReduce = 'R',
  kBuild = 'b',
  kBinUnicode = 'X',
  kGlobal = 'c',
  kBinGet = 'h',
  kLongBinGet = 'j',
  kBinPut = 'q',
  kLongBinPut = 'r',
  kSetItem = 's',
  kTuple = 't',
  kSetItems = 'u',
  kEmptyDict = '}',
  kEmptyTuple = ')',
  kProtocol = 0x80,
  kTuple1 = 0x85,
  kTuple2 = 0x86,
  kTuple3 = 0x87,
  kTrue = 0x88,
  kFalse = 0x89,
  kLong1 = 0x8a,
};

// Shortens a name from a file and replaces letters that cannot be printed, for error messages.
std::string Shown(std::string_view name) {
  std::string shown(name.substr(0, 60));
  for (char& c : shown) {
    if (std::isprint(static_cast<unsigned char>(c)) == 0) c = '?';
  }
  return shown;
}

class PickleReader {
 public:
  PickleReader(std::string_view pickle, const StorageFinder& storages, const PickleLimits& limits)
      : pickle_(pickle), storages_(storages), limits_(limits) {}

  StoredDict Read() {
    if (pickle_.size() > limits_.bytes) {
      throw Error(fmt::format("its pickle has {} bytes, expected at most {}", pickle_.size(),
                              limits_.bytes));
    }
    while (Step()) {
    }
    if (next_ != pickle_.size()) Fail("there are bytes after its end");
    if (stack_.size() != 1 || !marks_.empty()) Fail("values remain at its end");
    const auto* dict = std::get_if<std::shared_ptr<OpenDict>>(&stack_.front().value);
    if (dict == nullptr) Fail("its value is not a dictionary");
    return std::move((*dict)->dict);
  }

 private:
  [[noreturn]] void Fail(std::string_view why) const {
    throw Error(fmt::format("byte {} of its pickle: {}", at_, why));
  }

  // Runs the next opcode. Returns false at the end of the pickle.
  bool Step() {
    at_ = next_;
    const auto opcode = static_cast<unsigned char>(Take(1).front());
    switch (opcode) {
      case kProtocol:
        if (Number<std::uint8_t>() != 2) Fail("expected protocol 2");
        return true;
      case kStop:
        return false;
      case kMark:
        Count();
        marks_.push_back(stack_.size());
        return true;
      case kNone:
        return Push(std::monostate());
      case kTrue:
      case kFalse:
        return Push(opcode == kTrue);
      case kBinInt:
        return Push(std::int64_t{Number<std::int32_t>()});
      case kBinInt1:
        return Push(std::int64_t{Number<std::uint8_t>()});
      case kBinInt2:
        return Push(std::int64_t{Number<std::uint16_t>()});
      case kLong1:
        return Push(Long());
      case kBinFloat:
        return Push(BigEndianDouble());
      case kBinUnicode:
        return Push(std::make_shared<const std::string>(Take(Number<std::uint32_t>())));
      case kEmptyDict:
        return Push(std::make_shared<OpenDict>(), 1);
      case kEmptyTuple:
        return PushTuple({});
      case kTuple:
        return PushTuple(PopMark());
      case kTuple1:
      case kTuple2:
      case kTuple3:
        return PushTuple(Pop(opcode - kTuple1 + 1U));
      case kGlobal:
        return Push(Global());
      case kBinPut:
        return Put(Number<std::uint8_t>());
      case kLongBinPut:
        return Put(Number<std::uint32_t>());
      case kBinGet:
        return Get(Number<std::uint8_t>());
      case kLongBinGet:
        return Get(Number<std::uint32_t>());
      case kSetItem:
        return SetItems(Pop(2));
      case kSetItems:
        return SetItems(PopMark());
      case kBinPersistentId:
        return Push(StorageOf(Pop(1).front()));
      case kReduce:
        return Reduce();
      case kBuild:
        return DropAttributes();
      default:
        Fail(fmt::format("unexpected opcode {:#04x}, which no tensor file needs", opcode));
    }
  }

  std::string_view Take(std::size_t bytes) {
    if (bytes > pickle_.size() - next_) Fail("it ends too soon");
    const std::string_view taken = pickle_.substr(next_, bytes);
    next_ += bytes;
    return taken;
  }

  template <class Integer>
  Integer Number() {
    Integer number;
    std::memcpy(&number, Take(sizeof(number)).data(), sizeof(number));
    return number;
  }

  // Reads a number in two's complement. The first byte says how many bytes follow.
  std::int64_t Long() {
    const std::string_view bytes = Take(Number<std::uint8_t>());
    if (bytes.size() > sizeof(std::int64_t)) Fail("a number needs more than 64 bits");
    const bool negative = !bytes.empty() && (static_cast<unsigned char>(bytes.back()) & 0x80U) != 0;
    std::int64_t number = negative ? -1 : 0;
    std::memcpy(&number, bytes.data(), bytes.size());
    return number;
  }

  double BigEndianDouble() {
    std::array<char, sizeof(double)> bytes{};
    std::ranges::reverse_copy(Take(bytes.size()), bytes.begin());
    return std::bit_cast<double>(bytes);
  }

  std::string_view Line() {
    const std::size_t end = pickle_.find('\n', next_);
    if (end == std::string_view::npos) Fail("it ends within a name");
    const std::string_view line = Take(end - next_);
    Take(1);
    return line;
  }

  Value Global() {
    const std::string_view module = Line();
    const std::string_view name = Line();
    if (module == "torch._utils" && name == "_rebuild_tensor_v2") return Callable::kRebuildTensor;
    if (module == "collections" && name == "OrderedDict") return Callable::kOrderedDict;
    for (std::size_t i = 0; i < kStorages.size(); ++i) {
      if (module == "torch" && name == kStorages[i]) return static_cast<StoredType>(i);
    }
    Fail(fmt::format("it names {}.{}, which no tensor file needs", Shown(module), Shown(name)));
  }

  void Count() {
    if (++values_ > limits_.values) Fail(fmt::format("more than {} values", limits_.values));
  }

  bool Push(Value value, int depth = 0) {
    Count();
    if (const auto* text = std::get_if<Text>(&value)) {
      text_bytes_ += (*text)->size();
      if (text_bytes_ > limits_.text_bytes) {
        Fail(fmt::format("more than {} bytes of text", limits_.text_bytes));
      }
    }
    stack_.push_back({.value = std::move(value), .depth = depth});
    return true;
  }

  // The number of values below the last mark, or 0 if there is no mark.
  std::size_t Floor() const { return marks_.empty() ? 0 : marks_.back(); }

  std::vector<Item> PopDownTo(std::size_t size) {
    const auto first = stack_.begin() + static_cast<std::ptrdiff_t>(size);
    std::vector<Item> items(std::make_move_iterator(first), std::make_move_iterator(stack_.end()));
    stack_.resize(size);
    return items;
  }

  std::vector<Item> Pop(std::size_t count) {
    if (stack_.size() - Floor() < count) Fail("a value is missing");
    return PopDownTo(stack_.size() - count);
  }

  std::vector<Item> PopMark() {
    if (marks_.empty()) Fail("a mark is missing");
    const std::size_t mark = marks_.back();
    marks_.pop_back();
    return PopDownTo(mark);
  }

  int DepthAround(int depth) const {
    if (depth >= limits_.nesting) {
      Fail(fmt::format("values nest deeper than {} levels", limits_.nesting));
    }
    return depth + 1;
  }

  bool PushTuple(std::vector<Item> items) {
    int depth = 0;
    for (const Item& item : items) depth = std::max(depth, item.depth);
    return Push(std::make_shared<const Tuple>(Tuple{std::move(items)}), DepthAround(depth));
  }

  bool Put(std::uint32_t key) {
    if (stack_.size() == Floor()) Fail("a value is missing");
    Count();
    memo_[key] = stack_.back();
    return true;
  }

  // A dictionary may occur in one place only. The result is therefore a tree, and no larger than
  // the pickle.
  bool Get(std::uint32_t key) {
    const auto found = memo_.find(key);
    if (found == memo_.end()) Fail("it refers to a value that it has not stored");
    if (std::holds_alternative<std::shared_ptr<OpenDict>>(found->second.value)) {
      Fail("a dictionary occurs in two places");
    }
    return Push(found->second.value, found->second.depth);
  }

  bool SetItems(std::vector<Item> items) {
    if (stack_.size() == Floor()) Fail("a value is missing");
    const auto* into = std::get_if<std::shared_ptr<OpenDict>>(&stack_.back().value);
    if (into == nullptr) Fail("entries belong to no dictionary");
    if (items.size() % 2 != 0) Fail("an entry has no value");
    for (std::size_t i = 0; i < items.size(); i += 2) {
      const auto* name = std::get_if<Text>(&items[i].value);
      if (name == nullptr) Fail("the name of an entry is not a text");
      if (!(*into)->names.insert(**name).second) {
        Fail(fmt::format("'{}' occurs twice in a dictionary", Shown(**name)));
      }
      stack_.back().depth = std::max(stack_.back().depth, DepthAround(items[i + 1].depth));
      (*into)->dict.entries.push_back({**name, Finished(std::move(items[i + 1].value))});
    }
    return true;
  }

  StoredValue Finished(Value value) const {
    if (const auto* flag = std::get_if<bool>(&value)) return *flag;
    if (const auto* number = std::get_if<std::int64_t>(&value)) return *number;
    if (const auto* real = std::get_if<double>(&value)) return *real;
    if (const auto* text = std::get_if<Text>(&value)) return **text;
    if (const auto* tensor = std::get_if<std::shared_ptr<const StoredTensor>>(&value)) {
      return **tensor;
    }
    if (const auto* dict = std::get_if<std::shared_ptr<OpenDict>>(&value)) {
      return std::move((*dict)->dict);
    }
    if (std::holds_alternative<std::monostate>(value)) return std::monostate();
    Fail("an entry is neither tensor, number, text nor dictionary");
  }

  bool Reduce() {
    std::vector<Item> call = Pop(2);
    const auto* callable = std::get_if<Callable>(&call[0].value);
    const auto* arguments = std::get_if<std::shared_ptr<const Tuple>>(&call[1].value);
    if (callable == nullptr || arguments == nullptr) {
      Fail("it calls a value that is not a function");
    }
    if (*callable == Callable::kRebuildTensor) {
      return Push(std::make_shared<const StoredTensor>(Rebuild((*arguments)->items)));
    }
    if (!(*arguments)->items.empty()) Fail("an ordered dictionary does not begin empty");
    return Push(std::make_shared<OpenDict>(), 1);
  }

  // The state_dict of a module in PyTorch has an attribute `_metadata`, the versions of its parts.
  bool DropAttributes() {
    const Item attributes = Pop(1).front();
    const auto is_dict = [](const Item& item) {
      return std::holds_alternative<std::shared_ptr<OpenDict>>(item.value);
    };
    if (stack_.size() == Floor() || !is_dict(stack_.back()) || !is_dict(attributes)) {
      Fail("attributes belong to no dictionary");
    }
    return true;
  }

  // ("storage", torch.FloatStorage, "0", "cpu", 12)
  Storage StorageOf(const Item& id) const {
    const auto* tuple = std::get_if<std::shared_ptr<const Tuple>>(&id.value);
    if (tuple == nullptr || (*tuple)->items.size() != 5) {
      Fail("expected the five parts of a storage");
    }
    const std::vector<Item>& parts = (*tuple)->items;
    const auto* kind = std::get_if<Text>(&parts[0].value);
    const auto* type = std::get_if<StoredType>(&parts[1].value);
    const auto* key = std::get_if<Text>(&parts[2].value);
    const auto* elements = std::get_if<std::int64_t>(&parts[4].value);
    if (kind == nullptr || **kind != "storage" || type == nullptr || key == nullptr ||
        elements == nullptr) {
      Fail("expected a storage: its type, its key and its size");
    }
    const auto bytes = storages_(**key);
    if (!bytes) Fail(fmt::format("the file has no record of storage {}", Shown(**key)));
    const std::uint64_t in_record = bytes->size() / BytesOf(*type);
    if (bytes->size() % BytesOf(*type) != 0 || *elements < 0 ||
        std::cmp_not_equal(*elements, in_record)) {
      Fail(
          fmt::format("storage {} should have {} elements of {} bytes, but its record has {} "
                      "bytes",
                      Shown(**key), *elements, BytesOf(*type), bytes->size()));
    }
    if (reinterpret_cast<std::uintptr_t>(bytes->data()) % BytesOf(*type) != 0) {
      Fail(fmt::format("storage {} is not aligned to its elements", Shown(**key)));
    }
    return {.type = *type, .bytes = *bytes};
  }

  std::vector<std::int64_t> Numbers(const Item& item, const char* what) const {
    const auto* tuple = std::get_if<std::shared_ptr<const Tuple>>(&item.value);
    if (tuple == nullptr || (*tuple)->items.size() > limits_.dimensions) {
      Fail(
          fmt::format("expected the {} of a tensor, at most {} numbers", what, limits_.dimensions));
    }
    std::vector<std::int64_t> numbers;
    for (const Item& each : (*tuple)->items) {
      const auto* number = std::get_if<std::int64_t>(&each.value);
      if (number == nullptr || *number < 0) {
        Fail(fmt::format("the {} are not numbers of 0 or more", what));
      }
      numbers.push_back(*number);
    }
    return numbers;
  }

  // (storage, offset, sizes, strides, requires_grad, hooks)
  StoredTensor Rebuild(const std::vector<Item>& arguments) {
    if (arguments.size() != 6) Fail("expected the six parts of a tensor");
    const auto* storage = std::get_if<Storage>(&arguments[0].value);
    const auto* offset = std::get_if<std::int64_t>(&arguments[1].value);
    if (storage == nullptr || offset == nullptr || *offset < 0) {
      Fail("a tensor has no storage or no offset in it");
    }
    StoredTensor tensor{.type = storage->type,
                        .sizes = Numbers(arguments[2], "sizes"),
                        .strides = Numbers(arguments[3], "strides")};
    if (tensor.sizes.size() != tensor.strides.size()) {
      Fail("a tensor has not one stride for each size");
    }
    const std::uint64_t width = BytesOf(tensor.type);
    const std::uint64_t extent = ExtentOf(tensor, storage->bytes.size() / width);
    if (static_cast<std::uint64_t>(*offset) > storage->bytes.size() / width - extent) {
      FailForExtent(storage->bytes.size() / width);
    }
    tensor.bytes =
        storage->bytes.subspan(static_cast<std::uint64_t>(*offset) * width, extent * width);
    return tensor;
  }

  [[noreturn]] void FailForExtent(std::uint64_t elements) const {
    Fail(fmt::format("a tensor extends beyond the {} elements of its storage", elements));
  }

  // The number of elements of the storage from the tensor's first element to its last, which must
  // be at most `most`. Adds the tensor's bytes to the total.
  std::uint64_t ExtentOf(const StoredTensor& tensor, std::uint64_t most) {
    const bool is_empty = std::ranges::find(tensor.sizes, 0) != tensor.sizes.end();
    std::uint64_t last = 0;   // index of the tensor's last element, relative to its first
    std::uint64_t count = 1;  // number of elements; sizes that are zero do not count
    for (std::size_t i = 0; i < tensor.sizes.size(); ++i) {
      const auto steps = static_cast<std::uint64_t>(std::max<std::int64_t>(tensor.sizes[i], 1)) - 1;
      const auto stride = static_cast<std::uint64_t>(tensor.strides[i]);
      if (steps >= limits_.tensor_bytes / count) FailForTotal();
      count *= steps + 1;
      if (is_empty) continue;
      if (stride != 0 && steps > most / stride) FailForExtent(most);
      last += steps * stride;
      if (last >= most) FailForExtent(most);
    }
    if (is_empty) return 0;
    if (last >= most) FailForExtent(most);
    if (count > (limits_.tensor_bytes - tensor_bytes_) / BytesOf(tensor.type)) FailForTotal();
    tensor_bytes_ += count * BytesOf(tensor.type);
    return last + 1;
  }

  [[noreturn]] void FailForTotal() const {
    Fail(fmt::format("the tensors have more elements than the file has room for ({} bytes)",
                     limits_.tensor_bytes));
  }

  const std::string_view pickle_;
  const StorageFinder& storages_;
  const PickleLimits limits_;

  std::size_t next_ = 0;  // offset of the next byte to read
  std::size_t at_ = 0;    // offset of the current opcode
  std::vector<Item> stack_;
  std::vector<std::size_t> marks_;  // sizes of the stack at the marks
  std::map<std::uint32_t, Item> memo_;
  std::size_t values_ = 0;
  std::size_t text_bytes_ = 0;
  std::uint64_t tensor_bytes_ = 0;
};

}  // namespace

StoredDict ReadPickle(std::string_view pickle, const StorageFinder& storages,
                      const PickleLimits& limits) {
  return PickleReader(pickle, storages, limits).Read();
}

}  // namespace tandem
