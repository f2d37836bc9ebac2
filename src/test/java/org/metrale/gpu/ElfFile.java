package org.metrale.gpu;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;

/**
 * Reads of a 64-bit little-endian ELF library what the loader reads, and can hide a symbol in it.
 */
final class ElfFile {
  /** Machine numbers. */
  static final int X86_64 = 62;

  static final int ARM64 = 183;

  private static final int SECTION_DYNAMIC = 6;
  private static final int SECTION_DYNAMIC_SYMBOLS = 11;
  private static final int SECTION_VERSIONS_NEEDED = 0x6ffffffe;
  private static final int SEGMENT_LOAD = 1;
  private static final int SEGMENT_RELRO = 0x6474e552;
  private static final int SEGMENT_STACK = 0x6474e551;

  private static final long TAG_NEEDED = 1;
  private static final long TAG_SONAME = 14;
  private static final long TAG_RPATH = 15;
  private static final long TAG_TEXT_RELOCATIONS = 22;
  private static final long TAG_RUNPATH = 29;
  private static final long TAG_FLAGS = 30;
  private static final long TAG_FLAGS_1 = 0x6ffffffbL;
  private static final long FLAG_BIND_NOW = 8;
  private static final long FLAG_STATIC_TLS = 16;
  private static final long FLAG_1_NOW = 1;

  private final ByteBuffer bytes;

  private ElfFile(byte[] bytes) {
    this.bytes = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
    if (this.bytes.getInt(0) != 0x464c457f || bytes[4] != 2 || bytes[5] != 1) {
      throw new IllegalArgumentException("not a 64-bit little-endian ELF file");
    }
  }

  static ElfFile read(Path file) throws IOException {
    return new ElfFile(Files.readAllBytes(file));
  }

  int machine() {
    return bytes.getShort(18);
  }

  List<String> needed() {
    return dynamicTexts(TAG_NEEDED);
  }

  Optional<String> soname() {
    return dynamicTexts(TAG_SONAME).stream().findFirst();
  }

  /** Folders that the file asks the loader to search. */
  List<String> searchPaths() {
    List<String> out = dynamicTexts(TAG_RPATH);
    out.addAll(dynamicTexts(TAG_RUNPATH));
    return out;
  }

  boolean bindsAtOnce() {
    return dynamic(TAG_FLAGS).stream().anyMatch(flags -> (flags & FLAG_BIND_NOW) != 0)
        || dynamic(TAG_FLAGS_1).stream().anyMatch(flags -> (flags & FLAG_1_NOW) != 0);
  }

  boolean needsStaticThreadLocals() {
    return dynamic(TAG_FLAGS).stream().anyMatch(flags -> (flags & FLAG_STATIC_TLS) != 0);
  }

  boolean hasTextRelocations() {
    return !dynamic(TAG_TEXT_RELOCATIONS).isEmpty();
  }

  /** Whether tables are read-only after loading. */
  boolean hasRelro() {
    return segmentFlags(SEGMENT_RELRO).isPresent();
  }

  boolean hasExecutableStack() {
    return segmentFlags(SEGMENT_STACK).map(flags -> (flags & 1) != 0).orElse(true);
  }

  /** Where what is read-only after loading ends; a kernel protects whole pages only. */
  long relroEnd() {
    int start = (int) bytes.getLong(32);
    for (int i = 0; i < bytes.getShort(56); i++) {
      int at = start + i * bytes.getShort(54);
      if (bytes.getInt(at) == SEGMENT_RELRO) {
        return bytes.getLong(at + 16) + bytes.getLong(at + 40);
      }
    }
    throw new IllegalStateException("nothing is read-only after loading");
  }

  /** What the parts that are mapped are aligned to, the least of them. */
  long segmentAlignment() {
    int start = (int) bytes.getLong(32);
    long least = Long.MAX_VALUE;
    for (int i = 0; i < bytes.getShort(56); i++) {
      int at = start + i * bytes.getShort(54);
      if (bytes.getInt(at) == SEGMENT_LOAD) {
        least = Math.min(least, bytes.getLong(at + 48));
      }
    }
    return least;
  }

  /** Names of the functions and objects that others can link to. */
  Set<String> exports() {
    Set<String> out = new TreeSet<>();
    for (Symbol symbol : symbols()) {
      if (symbol.section != 0 && symbol.binding != 0) {
        out.add(symbol.name);
      }
    }
    return out;
  }

  /** Versions asked for, as {@code GLIBC_2.28}. */
  Set<String> versionsNeeded() {
    Set<String> out = new TreeSet<>();
    for (Section section : sections(SECTION_VERSIONS_NEEDED)) {
      long names = section(section.link).offset;
      int entry = (int) section.offset;
      for (int i = 0; i < section.info; i++) {
        int version = entry + bytes.getInt(entry + 8);
        for (int j = 0; j < Short.toUnsignedInt(bytes.getShort(entry + 2)); j++) {
          out.add(text(names + bytes.getInt(version + 8)));
          version += bytes.getInt(version + 12);
        }
        entry += bytes.getInt(entry + 12);
      }
    }
    return out;
  }

  /**
   * The file's bytes, in which no look-up finds one of its symbols any more; all else is as it was.
   */
  byte[] without(String symbol) {
    byte[] out = bytes.array().clone();
    int hidden = 0;
    for (Symbol candidate : symbols()) {
      if (candidate.name.equals(symbol) && candidate.section != 0) {
        // Neither section nor value: the loader takes it for one that the file wants from others.
        Arrays.fill(out, candidate.offset + 6, candidate.offset + 16, (byte) 0);
        hidden++;
      }
    }
    if (hidden != 1) {
      throw new IllegalArgumentException(hidden + " symbols are called " + symbol);
    }
    return out;
  }

  private List<Symbol> symbols() {
    List<Symbol> out = new ArrayList<>();
    for (Section section : sections(SECTION_DYNAMIC_SYMBOLS)) {
      long names = section(section.link).offset;
      for (long at = section.offset; at < section.offset + section.size; at += 24) {
        int offset = (int) at;
        out.add(
            new Symbol(
                text(names + bytes.getInt(offset)),
                offset,
                Short.toUnsignedInt(bytes.getShort(offset + 6)),
                bytes.get(offset + 4) >> 4));
      }
    }
    return out;
  }

  private List<String> dynamicTexts(long tag) {
    List<String> out = new ArrayList<>();
    for (Section section : sections(SECTION_DYNAMIC)) {
      for (long offset : dynamic(tag)) {
        out.add(text(section(section.link).offset + offset));
      }
    }
    return out;
  }

  private List<Long> dynamic(long tag) {
    List<Long> out = new ArrayList<>();
    for (Section section : sections(SECTION_DYNAMIC)) {
      for (long at = section.offset; at < section.offset + section.size; at += 16) {
        if (bytes.getLong((int) at) == tag) {
          out.add(bytes.getLong((int) at + 8));
        }
      }
    }
    return out;
  }

  private Optional<Integer> segmentFlags(int type) {
    int start = (int) bytes.getLong(32);
    for (int i = 0; i < bytes.getShort(56); i++) {
      int at = start + i * bytes.getShort(54);
      if (bytes.getInt(at) == type) {
        return Optional.of(bytes.getInt(at + 4));
      }
    }
    return Optional.empty();
  }

  private List<Section> sections(int type) {
    List<Section> out = new ArrayList<>();
    for (int i = 0; i < bytes.getShort(60); i++) {
      Section section = section(i);
      if (section.type == type) {
        out.add(section);
      }
    }
    return out;
  }

  private Section section(int index) {
    int at = (int) bytes.getLong(40) + index * bytes.getShort(58);
    return new Section(
        bytes.getInt(at + 4),
        bytes.getLong(at + 24),
        bytes.getLong(at + 32),
        bytes.getInt(at + 40),
        bytes.getInt(at + 44));
  }

  private String text(long offset) {
    int end = (int) offset;
    while (bytes.get(end) != 0) {
      end++;
    }
    return new String(bytes.array(), (int) offset, end - (int) offset, StandardCharsets.US_ASCII);
  }

  private record Section(int type, long offset, long size, int link, int info) {}

  private record Symbol(String name, int offset, int section, int binding) {}
}
