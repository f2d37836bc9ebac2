package org.metrale.gpu.cufile;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;

/** Names for the kernel's numbers of file systems. */
final class FileSystems {
  // linux/magic.h and the file systems' own sources.
  private static final Map<Long, String> NAMES =
      Map.ofEntries(
          Map.entry(0xEF53L, "ext4"),
          Map.entry(0x58465342L, "xfs"),
          Map.entry(0x9123683EL, "btrfs"),
          Map.entry(0x01021994L, "tmpfs"),
          Map.entry(0x858458F6L, "ramfs"),
          Map.entry(0x794C7630L, "overlay"),
          Map.entry(0x6969L, "nfs"),
          Map.entry(0x65735546L, "fuse"),
          Map.entry(0x2FC12FC1L, "zfs"),
          Map.entry(0x0BD00BD0L, "lustre"),
          Map.entry(0x47504653L, "gpfs"),
          Map.entry(0x19830326L, "beegfs"),
          Map.entry(0xFF534D42L, "cifs"),
          Map.entry(0xFE534D42L, "smb3"),
          Map.entry(0x00C36400L, "ceph"),
          Map.entry(0xF2F52010L, "f2fs"),
          Map.entry(0xCA451A4EL, "bcachefs"),
          Map.entry(0x01021997L, "9p"),
          Map.entry(0x62646576L, "block device"),
          Map.entry(0x9FA0L, "proc"));

  private FileSystems() {}

  static String name(long magic) {
    return NAMES.getOrDefault(magic, "0x" + Long.toHexString(magic));
  }

  /** The kind of file system that a path which could not be opened would lie on, or no text. */
  static String ofFolder(Path path) {
    Path at = path.toAbsolutePath();
    while (at != null && !Files.exists(at)) {
      at = at.getParent();
    }
    try {
      return at == null ? "" : Files.getFileStore(at).type();
    } catch (IOException | SecurityException e) {
      return ""; // said in a message only
    }
  }
}
