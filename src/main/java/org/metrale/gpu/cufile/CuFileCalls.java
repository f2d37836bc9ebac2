package org.metrale.gpu.cufile;

import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.metrale.global.cufile;
import org.metrale.gpu.cufile.CuFileException.Where;

/**
 * The generated cuFile calls and the file system's, through the flat shims of {@code
 * metrale_cufile.h} and {@code metrale_file.h}. Transfers answer bytes, or minus an errno or a
 * cuFile code.
 */
final class CuFileCalls {
  static final int READ = 1;
  static final int WRITE = 2;
  static final int CREATE = 4;
  static final int TRUNCATE = 8;
  static final int DIRECT = 16;
  static final int PROPERTIES = 12;

  private CuFileCalls() {}

  static void cuFileDriverOpen(Where where) {
    check("cuFileDriverOpen", cufile.metrale_cufile_driver_open(), where);
  }

  static void cuFileDriverClose() {
    check("cuFileDriverClose", cufile.metrale_cufile_driver_close(), Where.NOWHERE);
  }

  static long cuFileHandleRegister(int fd, Where where) {
    long answer = cufile.metrale_cufile_handle_register(fd);
    if (answer < 0) {
      throw CuFileException.ofPacked("cuFileHandleRegister", -answer, where);
    }
    return answer;
  }

  static void cuFileHandleDeregister(long handle) {
    cufile.metrale_cufile_handle_deregister(handle);
  }

  static void cuFileBufRegister(long context, long address, long lengthBytes) {
    long packed = cufile.metrale_cufile_buffer_register(context, address, lengthBytes, 0);
    if ((int) packed != 0) {
      throw CuFileException.ofPacked(
          "cuFileBufRegister", packed, new Where("", -1, lengthBytes, "", ""));
    }
  }

  static void cuFileBufDeregister(long context, long address) {
    check(
        "cuFileBufDeregister",
        cufile.metrale_cufile_buffer_deregister(context, address),
        Where.NOWHERE);
  }

  static long cuFileRead(CuFileSpan span, long lengthBytes, long offset, long baseOffset) {
    return cufile.metrale_cufile_read(
        span.context(), span.handle(), span.base(), lengthBytes, offset, baseOffset);
  }

  /** Of the whole of a memory, without an object for it. */
  static long cuFileRead(
      long handle, CuFileMemory memory, long lengthBytes, long offset, long baseOffset) {
    return cufile.metrale_cufile_read(
        memory.contextAddress(), handle, memory.address(), lengthBytes, offset, baseOffset);
  }

  static long cuFileWrite(CuFileSpan span, long lengthBytes, long offset, long baseOffset) {
    return cufile.metrale_cufile_write(
        span.context(), span.handle(), span.base(), lengthBytes, offset, baseOffset);
  }

  static long cuFileWrite(
      long handle, CuFileMemory memory, long lengthBytes, long offset, long baseOffset) {
    return cufile.metrale_cufile_write(
        memory.contextAddress(), handle, memory.address(), lengthBytes, offset, baseOffset);
  }

  static void cuFileReadAsync(CuFileSpan span, long arguments, long stream, Where where) {
    check(
        "cuFileReadAsync",
        cufile.metrale_cufile_read_async(
            span.context(), span.handle(), span.base(), arguments, stream),
        where);
  }

  static void cuFileWriteAsync(CuFileSpan span, long arguments, long stream, Where where) {
    check(
        "cuFileWriteAsync",
        cufile.metrale_cufile_write_async(
            span.context(), span.handle(), span.base(), arguments, stream),
        where);
  }

  static long allocate(long lengthBytes, long alignment) {
    long memory = cufile.metrale_cufile_allocate(lengthBytes, alignment);
    if (memory == 0) {
      throw new OutOfMemoryError("no " + lengthBytes + " bytes of native memory");
    }
    return memory;
  }

  static void free(long memory) {
    cufile.metrale_cufile_free(memory);
  }

  static long load(long address) {
    return cufile.metrale_cufile_load(address);
  }

  static void store(long address, long value) {
    cufile.metrale_cufile_store(address, value);
  }

  static long cuFileBatchIOSetUp(int entries) {
    long answer = cufile.metrale_cufile_batch_setup(entries);
    if (answer < 0) {
      throw CuFileException.ofPacked(
          "cuFileBatchIOSetUp", -answer, Where.note("entries=" + entries));
    }
    return answer;
  }

  static int batchRequestBytes() {
    return cufile.metrale_cufile_batch_request_bytes();
  }

  static int batchEventBytes() {
    return cufile.metrale_cufile_batch_event_bytes();
  }

  static void batchRequest(long requests, int index, CuFileBatch.Entry entry) {
    cufile.metrale_cufile_batch_request(
        requests,
        index,
        entry.handle(),
        entry.write() ? 1 : 0,
        entry.base(),
        entry.lengthBytes(),
        entry.fileOffsetBytes(),
        entry.baseOffsetBytes(),
        entry.cookie());
  }

  static void cuFileBatchIOSubmit(long context, long batch, int count, long requests) {
    check(
        "cuFileBatchIOSubmit",
        cufile.metrale_cufile_batch_submit(context, batch, count, requests),
        Where.note("entries=" + count));
  }

  /** Answers the number of events. */
  static int cuFileBatchIOGetStatus(long batch, int min, int max, long events, long timeoutNanos) {
    long answer = cufile.metrale_cufile_batch_status(batch, min, max, events, timeoutNanos);
    if (answer >= 0) {
      throw CuFileException.ofPacked("cuFileBatchIOGetStatus", answer, Where.NOWHERE);
    }
    return (int) (-1 - answer);
  }

  /** Cookie, status and answer of one event. */
  static long[] batchEvent(long events, int index) {
    return new long[] {
      cufile.metrale_cufile_batch_event(events, index, 0),
      cufile.metrale_cufile_batch_event(events, index, 1),
      cufile.metrale_cufile_batch_event(events, index, 2)
    };
  }

  static void cuFileBatchIOCancel(long batch) {
    check("cuFileBatchIOCancel", cufile.metrale_cufile_batch_cancel(batch), Where.NOWHERE);
  }

  static void cuFileBatchIODestroy(long batch) {
    cufile.metrale_cufile_batch_destroy(batch);
  }

  static long[] cuFileDriverGetProperties() {
    long[] out = new long[PROPERTIES];
    check("cuFileDriverGetProperties", cufile.metrale_cufile_properties(out), Where.NOWHERE);
    return out;
  }

  static int cuFileDriverGetP2PFlags(int storage) {
    int[] out = new int[1];
    check("cuFileDriverGetP2PFlags", cufile.metrale_cufile_p2p_flags(storage, out), Where.NOWHERE);
    return out[0];
  }

  static long cuFileGetParameterSizeT(int parameter) {
    long[] out = new long[1];
    check(
        "cuFileGetParameterSizeT",
        cufile.metrale_cufile_size_parameter(parameter, out),
        Where.NOWHERE);
    return out[0];
  }

  static void cuFileSetParameterSizeT(int parameter, long value) {
    check(
        "cuFileSetParameterSizeT",
        cufile.metrale_cufile_set_size_parameter(parameter, value),
        Where.note("parameter=" + parameter + " value=" + value));
  }

  static boolean cuFileGetParameterBool(int parameter) {
    int[] out = new int[1];
    check(
        "cuFileGetParameterBool",
        cufile.metrale_cufile_flag_parameter(parameter, out),
        Where.NOWHERE);
    return out[0] != 0;
  }

  static void cuFileSetParameterBool(int parameter, boolean value) {
    check(
        "cuFileSetParameterBool",
        cufile.metrale_cufile_set_flag_parameter(parameter, value ? 1 : 0),
        Where.note("parameter=" + parameter + " value=" + value));
  }

  static String cuFileGetParameterString(int parameter) {
    byte[] out = new byte[4096];
    check(
        "cuFileGetParameterString",
        cufile.metrale_cufile_text_parameter(parameter, out, out.length),
        Where.NOWHERE);
    int end = 0;
    while (end < out.length && out[end] != 0) {
      end++;
    }
    return new String(out, 0, end, StandardCharsets.UTF_8);
  }

  static void cuFileSetParameterString(int parameter, String value) {
    check(
        "cuFileSetParameterString",
        cufile.metrale_cufile_set_text_parameter(parameter, text(value)),
        Where.note("parameter=" + parameter + " value=" + value));
  }

  static void cuFileSetStatsLevel(int level) {
    check("cuFileSetStatsLevel", cufile.metrale_cufile_set_stats_level(level), Where.NOWHERE);
  }

  static int cuFileGetStatsLevel() {
    int[] out = new int[1];
    check("cuFileGetStatsLevel", cufile.metrale_cufile_stats_level(out), Where.NOWHERE);
    return out[0];
  }

  static void cuFileStatsStart() {
    check("cuFileStatsStart", cufile.metrale_cufile_stats_start(), Where.NOWHERE);
  }

  static void cuFileStatsStop() {
    check("cuFileStatsStop", cufile.metrale_cufile_stats_stop(), Where.NOWHERE);
  }

  static void cuFileStatsReset() {
    check("cuFileStatsReset", cufile.metrale_cufile_stats_reset(), Where.NOWHERE);
  }

  /** cuFileGetStatsL1, L2 or L3 as 64-bit words. */
  static long[] cuFileGetStats(int level) {
    long[] out = new long[cufile.metrale_cufile_stats_words(level)];
    check("cuFileGetStatsL" + level, cufile.metrale_cufile_stats(level, out), Where.NOWHERE);
    return out;
  }

  static int statsWords(int level) {
    return cufile.metrale_cufile_stats_words(level);
  }

  static String cufileop_status_error(int code) {
    return cufile.cufileop_status_error(code).getString();
  }

  /** Takes the driver's functions, so that calls can make a device's context current. */
  static void useDriver(long functions) {
    cufile.metrale_cufile_use_driver(functions);
  }

  static boolean setVariable(String name, String value) {
    return cufile.metrale_cufile_set_variable(text(name), text(value)) == 0;
  }

  static int open(String path, int mode) {
    return cufile.metrale_file_open(text(path), mode);
  }

  static int reopen(int fd, int mode) {
    return cufile.metrale_file_reopen(fd, mode);
  }

  static int ofChannel(FileChannel channel) {
    return cufile.metrale_file_of_channel(channel);
  }

  static int mode(int fd) {
    return cufile.metrale_file_mode(fd);
  }

  static int close(int fd) {
    return cufile.metrale_file_close(fd);
  }

  static long pread(int fd, long address, long lengthBytes, long offset) {
    return cufile.metrale_file_read(fd, address, lengthBytes, offset);
  }

  static long pwrite(int fd, long address, long lengthBytes, long offset) {
    return cufile.metrale_file_write(fd, address, lengthBytes, offset);
  }

  static long fileSize(int fd) {
    return cufile.metrale_file_size(fd);
  }

  static boolean isStorage(int fd) {
    return cufile.metrale_file_is_storage(fd) == 1;
  }

  static int fdatasync(int fd) {
    return cufile.metrale_file_sync(fd);
  }

  static long fileSystem(int fd) {
    return cufile.metrale_file_system(fd);
  }

  static long statx(int fd) {
    return cufile.metrale_file_alignment(fd);
  }

  static long blockBytes(int fd) {
    return cufile.metrale_file_block_bytes(fd);
  }

  static long pageBytes() {
    return cufile.metrale_file_page_bytes();
  }

  static String path(int fd) {
    byte[] out = new byte[4096];
    long length = cufile.metrale_file_path(fd, out, out.length);
    return length < 0 ? "" : new String(out, 0, (int) length, StandardCharsets.UTF_8);
  }

  static String errnoName(int number) {
    String name = cufile.metrale_errno_name(number);
    return name == null ? "errno(" + number + ")" : name;
  }

  static String errnoText(int number) {
    return cufile.metrale_errno_text(number);
  }

  static int invalid() {
    return cufile.metrale_errno_invalid();
  }

  static int timedOut() {
    return cufile.metrale_errno_timed_out();
  }

  static int unsupported() {
    return cufile.metrale_errno_unsupported();
  }

  private static void check(String call, long packed, Where where) {
    if ((int) packed != 0) {
      throw CuFileException.ofPacked(call, packed, where);
    }
  }

  private static byte[] text(String value) {
    byte[] encoded = value.getBytes(StandardCharsets.UTF_8);
    return Arrays.copyOf(encoded, encoded.length + 1);
  }
}
