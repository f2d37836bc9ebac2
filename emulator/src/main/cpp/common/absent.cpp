#include "common/absent.h"

#include "common/config.h"

#include <algorithm>
#include <cstdint>
#include <elf.h>
#include <link.h>
#include <set>
#include <sys/mman.h>
#include <unistd.h>

namespace metrale::emulator
{

namespace
{

struct Image {
    uintptr_t address = 0; /* some address inside the library looked for */
    uintptr_t base = 0;
    const ElfW(Dyn) *dynamic = nullptr;
};

int find_image(struct dl_phdr_info *info, size_t, void *out)
{
    auto *image = static_cast<Image *>(out);
    const ElfW(Dyn) *dynamic = nullptr;
    bool inside = false;

    for (int i = 0; i < info->dlpi_phnum; ++i) {
        const ElfW(Phdr) &segment = info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + segment.p_vaddr;
        if (segment.p_type == PT_DYNAMIC)
            dynamic = reinterpret_cast<const ElfW(Dyn) *>(start);
        if (segment.p_type == PT_LOAD && image->address >= start &&
            image->address < start + segment.p_memsz)
            inside = true;
    }
    if (!inside || dynamic == nullptr)
        return 0;
    image->base = info->dlpi_addr;
    image->dynamic = dynamic;
    return 1;
}

/* glibc relocates most of these in place; other loaders leave offsets. */
template <typename T> T *pointer_of(const Image &image, ElfW(Addr) value)
{
    return reinterpret_cast<T *>(value < image.base ? value + image.base : value);
}

/* The table has no length of its own: the last chain of the hash table ends it. */
size_t symbol_count(const uint32_t *gnu_hash)
{
    uint32_t bucket_count = gnu_hash[0];
    uint32_t first_symbol = gnu_hash[1];
    uint32_t bloom_words = gnu_hash[2];
    const uint32_t *buckets = gnu_hash + 4 + bloom_words * (sizeof(ElfW(Addr)) / 4);
    const uint32_t *chains = buckets + bucket_count;
    uint32_t last = 0;

    for (uint32_t i = 0; i < bucket_count; ++i)
        last = std::max(last, buckets[i]);
    if (last < first_symbol)
        return 0;
    while ((chains[last - first_symbol] & 1U) == 0)
        ++last;
    return last + 1;
}

} // namespace

int hide_symbols(const std::vector<std::string> &names)
{
    Image image;
    ElfW(Sym) *symbols = nullptr;
    const char *strings = nullptr;
    const uint32_t *hash = nullptr;
    int hidden = 0;

    if (names.empty())
        return 0;
    image.address = reinterpret_cast<uintptr_t>(&hide_symbols);
    if (dl_iterate_phdr(find_image, &image) == 0)
        return 0;
    for (const ElfW(Dyn) *entry = image.dynamic; entry->d_tag != DT_NULL; ++entry) {
        if (entry->d_tag == DT_SYMTAB)
            symbols = pointer_of<ElfW(Sym)>(image, entry->d_un.d_ptr);
        else if (entry->d_tag == DT_STRTAB)
            strings = pointer_of<const char>(image, entry->d_un.d_ptr);
        else if (entry->d_tag == DT_GNU_HASH)
            hash = pointer_of<const uint32_t>(image, entry->d_un.d_ptr);
    }
    if (symbols == nullptr || strings == nullptr || hash == nullptr)
        return 0;

    size_t count = symbol_count(hash);
    auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
    uintptr_t start = reinterpret_cast<uintptr_t>(symbols) & ~(page - 1);
    uintptr_t end = reinterpret_cast<uintptr_t>(symbols + count);
    auto *from = reinterpret_cast<void *>(start);
    if (mprotect(from, end - start, PROT_READ | PROT_WRITE) != 0)
        return 0;

    std::set<std::string> wanted(names.begin(), names.end());
    for (size_t i = 0; i < count; ++i) {
        ElfW(Sym) &symbol = symbols[i];
        if (symbol.st_shndx == SHN_UNDEF || wanted.count(strings + symbol.st_name) == 0)
            continue;
        symbol.st_name = 0;
        symbol.st_value = 0;
        symbol.st_shndx = SHN_UNDEF;
        ++hidden;
    }
    // Left writable: the table shares its pages with others that may be so on purpose.
    return hidden;
}

void hide_configured_symbols(const std::vector<std::string> &more)
{
    std::vector<std::string> names = more;
    for (const std::string &value : Configuration::instance().list("absent")) {
        for (std::string &name : split(value, ','))
            names.push_back(std::move(name));
    }
    hide_symbols(names);
}

} // namespace metrale::emulator
