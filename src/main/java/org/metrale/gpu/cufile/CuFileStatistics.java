package org.metrale.gpu.cufile;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;

/**
 * What cuFile counted.
 *
 * <p>Numbers are unsigned.
 */
public final class CuFileStatistics {
  // Words of CUfileStatsLevel1_t; counters are pairs of successes and failures.
  private static final int READS = 0;
  private static final int WRITES = 2;
  private static final int HANDLE_REGISTRATIONS = 4;
  private static final int BUFFER_REGISTRATIONS = 8;
  private static final int READ_BYTES = 12;
  private static final int WRITE_BYTES = 13;
  private static final int READ_LATENCY = 16;
  private static final int WRITE_LATENCY = 17;
  private static final int BATCH_SUBMITS = 22;
  private static final int HISTOGRAM = 32;

  // Words of CUfilePerGpuStats_t behind its UUID.
  private static final int DEVICE_WORDS = 31;
  private static final int DEVICE_READS = 2;

  private final int level;
  private final long[] words;

  CuFileStatistics(int level, long[] words) {
    this.level = level;
    this.words = words;
  }

  /**
   * Successes and failures of one sort of call.
   *
   * @param succeeded how many succeeded
   * @param failed how many failed
   */
  public record Count(long succeeded, long failed) {}

  /**
   * What was counted for one device.
   *
   * @param uuid the device
   * @param readBytes bytes read
   * @param p2pReads reads by the kernel's peer-to-peer DMA
   * @param gdsReads reads by nvidia-fs
   * @param posixReads reads through host memory
   * @param writeBytes bytes written
   * @param p2pWrites writes by the kernel's peer-to-peer DMA
   * @param gdsWrites writes by nvidia-fs
   * @param posixWrites writes through host memory
   */
  public record Device(
      UUID uuid,
      long readBytes,
      long p2pReads,
      long gdsReads,
      long posixReads,
      long writeBytes,
      long p2pWrites,
      long gdsWrites,
      long posixWrites) {}

  /**
   * How much was counted.
   *
   * @return 1, 2 or 3
   */
  public int level() {
    return level;
  }

  /**
   * Reads.
   *
   * @return how many
   */
  public Count reads() {
    return count(READS);
  }

  /**
   * Writes.
   *
   * @return how many
   */
  public Count writes() {
    return count(WRITES);
  }

  /**
   * Registrations of files.
   *
   * @return how many
   */
  public Count handleRegistrations() {
    return count(HANDLE_REGISTRATIONS);
  }

  /**
   * Registrations of buffers.
   *
   * @return how many
   */
  public Count bufferRegistrations() {
    return count(BUFFER_REGISTRATIONS);
  }

  /**
   * Submissions of batches.
   *
   * @return how many
   */
  public Count batchSubmissions() {
    return count(BATCH_SUBMITS);
  }

  /**
   * Bytes read.
   *
   * @return how many
   */
  public long readBytes() {
    return words[READ_BYTES];
  }

  /**
   * Bytes written.
   *
   * @return how many
   */
  public long writeBytes() {
    return words[WRITE_BYTES];
  }

  /**
   * How long a read took on average.
   *
   * @return microseconds
   */
  public long readLatencyMicros() {
    return words[READ_LATENCY];
  }

  /**
   * How long a write took on average.
   *
   * @return microseconds
   */
  public long writeLatencyMicros() {
    return words[WRITE_LATENCY];
  }

  /**
   * Reads by size: doubling classes from 0 to 1 KiB on.
   *
   * @return 32 counts, all 0 below level 2
   */
  public long[] readSizes() {
    return histogram(0);
  }

  /**
   * Writes by size: doubling classes from 0 to 1 KiB on.
   *
   * @return 32 counts, all 0 below level 2
   */
  public long[] writeSizes() {
    return histogram(HISTOGRAM);
  }

  /**
   * What was counted for each device.
   *
   * @return one entry a device, none below level 3
   */
  public List<Device> devices() {
    List<Device> out = new ArrayList<>();
    if (level < 3) {
      return out;
    }
    int first = CuFileCalls.statsWords(2);
    int count = (int) (words[first] & 0xFFFFFFFFL);
    for (int i = 0; i < count && first + 1 + (i + 1) * DEVICE_WORDS <= words.length; i++) {
      out.add(device(first + 1 + i * DEVICE_WORDS));
    }
    return out;
  }

  @Override
  public String toString() {
    return "cuFile statistics of level "
        + level
        + ": "
        + reads()
        + " reads, "
        + writes()
        + " writes";
  }

  private Count count(int word) {
    return new Count(words[word], words[word + 1]);
  }

  private long[] histogram(int from) {
    long[] out = new long[HISTOGRAM];
    if (level >= 2) {
      System.arraycopy(words, CuFileCalls.statsWords(1) + from, out, 0, HISTOGRAM);
    }
    return out;
  }

  private Device device(int at) {
    ByteBuffer uuid = ByteBuffer.allocate(16);
    uuid.putLong(Long.reverseBytes(words[at])).putLong(Long.reverseBytes(words[at + 1])).flip();
    int read = at + DEVICE_READS;
    int write = read + 13; // behind the counters of reads
    return new Device(
        new UUID(uuid.getLong(), uuid.getLong()),
        words[read],
        words[read + 5],
        words[read + 6],
        words[read + 7],
        words[write],
        words[write + 5],
        words[write + 6],
        words[write + 7]);
  }
}
