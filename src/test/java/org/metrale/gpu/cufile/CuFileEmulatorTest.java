package org.metrale.gpu.cufile;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.metrale.gpu.cufile.CuFileJvm.fault;
import static org.metrale.gpu.cufile.CuFileJvm.run;

import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.metrale.gpu.ForkedJvm;

/** The checked layer on the software GPU host: every case in a JVM of its own. */
@Tag("emulator")
@Tag("slow")
final class CuFileEmulatorTest {
  @TempDir Path folder;

  private ForkedJvm jvm(String scenario) {
    return jvm(CuFileScenario.class, scenario);
  }

  private ForkedJvm jvm(Class<?> main, String scenario) {
    return CuFileJvm.of(main, scenario, folder);
  }

  @ParameterizedTest
  @CsvSource({
    "1, 0, GDS, 0",
    "0, 1, P2PDMA, 0",
    "0, 0, COMPAT, 0",
  })
  void readsAndSaysWhichWay(int nvidiaFs, int p2pDma, String route) throws Exception {
    ForkedJvm.Result result =
        run(
            jvm("read")
                .environment("METRALE_EMULATOR_CUFILE_NVIDIA_FS", nvidiaFs)
                .environment("METRALE_EMULATOR_CUFILE_P2PDMA", p2pDma));
    assertEquals(route, result.value("route"));
    assertEquals(route, result.value("last"));
    assertEquals("true", result.value("right"));
    assertEquals("100", result.value("short"));
    assertEquals("1000", result.value("unregistered"));
    assertEquals("true", result.value("unregisteredRight"));
    assertEquals("POSIX", result.value("host"));
    assertEquals("true", result.value("registered"));
  }

  @Test
  void readsDeviceMemoryThroughHostMemoryWithoutCuFile() throws Exception {
    ForkedJvm.Result result =
        run(jvm("read").property("org.metrale.cufile.path", folder.resolve("absent.so")));
    assertEquals("false", result.value("open"));
    assertTrue(result.value("cause").contains("absent.so"), result.output());
    assertEquals("POSIX", result.value("last"));
    assertEquals("true", result.value("right"));
    assertEquals("100", result.value("short"));
    assertEquals("false", result.value("registered"));
  }

  @Test
  void writesExactlyWhatWasAsked() throws Exception {
    for (String nvidiaFs : new String[] {"1", "0"}) {
      ForkedJvm.Result result =
          run(jvm("write").environment("METRALE_EMULATOR_CUFILE_NVIDIA_FS", nvidiaFs));
      assertEquals("1000003", result.value("written"));
      assertEquals("true", result.value("right"));
    }
  }

  @Test
  void writesDeviceMemoryWithoutCuFile() throws Exception {
    ForkedJvm.Result result =
        run(jvm("write").property("org.metrale.cufile.path", folder.resolve("absent.so")));
    assertEquals("1000003", result.value("written"));
    assertEquals("true", result.value("right"));
  }

  /** Each way in which a read can answer below 0. */
  @ParameterizedTest
  @CsvSource({
    "-1, 5, EIO, 5",
    "-1, 28, ENOSPC, 28",
    "-1, 5027, CU_FILE_HANDLE_NOT_REGISTERED, 5027",
    "-1, 0, EIO, 5",
    "-5027, 5, CU_FILE_HANDLE_NOT_REGISTERED, 5027",
    "5008, 5, CU_FILE_IO_NOT_SUPPORTED, 5008",
    "-5099, 5, CUfileOpError(5099), 5099",
    "-22, 5, EINVAL, 22",
  })
  void decodesEveryNegativeAnswer(int answer, int errno, String symbol, int code) throws Exception {
    ForkedJvm.Result result =
        run(
            fault(jvm("fail"), "cufile.cuFileRead code=" + answer)
                .environment("METRALE_EMULATOR_CUFILE_FAULT_ERRNO", errno));
    assertEquals(symbol, result.value("symbol"));
    assertEquals(Integer.toString(code), result.value("code"));
    String message = result.value("message");
    assertTrue(message.startsWith("cuFileRead: " + symbol + " (" + code + ")"), message);
    assertTrue(
        message.contains("path=" + folder.resolve("data") + " offset=4096 length=8192 fs="),
        message);
    assertTrue(message.contains("route=GDS"), message);
  }

  @Test
  void refusesForcedGdsWhereThereIsOnlyCompatibleMode() throws Exception {
    ForkedJvm.Result refused =
        run(jvm("force").environment("METRALE_EMULATOR_CUFILE_NVIDIA_FS", 0));
    assertTrue(
        refused.value("refused").contains("CU_FILE_IO_NOT_SUPPORTED (5008)"), refused.output());
    ForkedJvm.Result had = run(jvm("force"));
    assertEquals("GDS", had.value("route"));
  }

  @Test
  void refusesForcedGdsOnFileSystemInMemory() throws Exception {
    Path memory = Path.of("/dev/shm");
    org.junit.jupiter.api.Assumptions.assumeTrue(Files.isWritable(memory), "a tmpfs at " + memory);
    Path there = Files.createTempFile(memory, "metrale", ".bin");
    try {
      ForkedJvm.Result result = run(CuFileJvm.of(CuFileScenario.class, "force", folder, there));
      assertTrue(result.value("refused").contains("fs=tmpfs"), result.output());
    } finally {
      Files.delete(there);
    }
  }

  @Test
  void fallsBackWhereHandleIsRefused() throws Exception {
    ForkedJvm.Result result = run(fault(jvm("read"), "cufile.cuFileHandleRegister code=5018"));
    assertEquals("POSIX", result.value("route"));
    assertTrue(result.value("fallback").contains("CU_FILE_INVALID_FILE_TYPE"), result.output());
    assertEquals("true", result.value("right"));
  }

  @Test
  void worksWithoutDriverThatRefuses() throws Exception {
    ForkedJvm.Result result = run(fault(jvm("open"), "cufile.cuFileDriverOpen code=5009"));
    assertEquals("false", result.value("open"));
    assertTrue(result.value("cause").contains("CU_FILE_DEVICE_NOT_SUPPORTED"), result.output());
    assertTrue(result.value("status").contains("off because: cuFile is not in use"));
  }

  @Test
  void carriesCudaCodeOfMachineWithoutDevice() throws Exception {
    ForkedJvm.Result result = run(jvm("open").environment("METRALE_EMULATOR_GPUS", 0));
    assertTrue(result.value("cause").contains("CU_FILE_CUDA_DRIVER_ERROR (5011)"), result.output());
    assertTrue(result.value("cause").contains("CUDA code 100"), result.output());
  }

  @Test
  void explainsWhyItIsOff() throws Exception {
    String off =
        run(jvm("open").environment("METRALE_EMULATOR_CUFILE_NVIDIA_FS", 0)).value("status");
    assertTrue(off.contains("peer-to-peer DMA: no|"), off);
    assertTrue(off.contains("neither the nvidia-fs module is loaded"), off);
    assertTrue(off.contains("nvidia-fs: not loaded EMULATED|"), off);
    Files.write(folder.resolve("data"), new byte[9000]);
    String on = run(jvm("open")).value("status");
    assertTrue(on.contains("route: GDS|"), on);
    assertTrue(on.contains("nvidia-fs: loaded EMULATED 2."), on);
    assertFalse(on.contains("off because"), on);
  }

  @Test
  void readsInOrderOfStream() throws Exception {
    for (String fault : new String[] {"cufile.cuFileUseCount code=0", ""}) {
      ForkedJvm.Result result = run(fault(jvm("async"), fault));
      assertEquals("1000000", result.value("first"));
      assertEquals("100", result.value("second"));
      assertEquals("true", result.value("done"));
      assertEquals("true", result.value("right"));
    }
  }

  @Test
  void readsInOrderOfStreamWithoutCuFile() throws Exception {
    ForkedJvm.Result result =
        run(jvm("async").property("org.metrale.cufile.path", folder.resolve("absent.so")));
    assertEquals("1000000", result.value("first"));
    assertEquals("true", result.value("right"));
  }

  @Test
  void namesAbsentFunction() throws Exception {
    ForkedJvm.Result result =
        jvm("async").environment("METRALE_EMULATOR_ABSENT", "cuFileReadAsync").run();
    assertEquals(1, result.exit());
    assertTrue(
        result.output().contains("LibraryUnavailableException: cuFileReadAsync: not in"),
        result.output());
  }

  @Test
  void asksPropertiesParametersAndStatistics() throws Exception {
    ForkedJvm.Result result = run(jvm("facts"));
    assertEquals("2", result.value("nvidiaFs"));
    assertEquals("true", result.value("compat"));
    assertEquals("128", result.value("batchSize"));
    assertEquals("true", result.value("compatFlag"));
    assertEquals("Count[succeeded=1, failed=0]", result.value("reads"));
    assertEquals("Count[succeeded=1, failed=0]", result.value("writes"));
    assertEquals("8192", result.value("readBytes"));
    assertEquals("4096", result.value("writeBytes"));
    assertEquals("1", result.value("sizes"));
    assertEquals("1", result.value("gdsReads"));
    assertEquals("0", result.value("afterReset"));
  }

  @Test
  void allocatesNothingForCodes() throws Exception {
    ForkedJvm.Result result = run(jvm("cost"));
    assertEquals("0", result.value("registerBytes"));
    assertEquals("0", result.value("readBytes"));
  }

  @Test
  void refusesContextThatCannotBeMadeCurrent() throws Exception {
    ForkedJvm.Result result = run(jvm(CuFileTroubleScenario.class, "stale"));
    for (String call : new String[] {"read", "write", "register", "submit"}) {
      assertTrue(result.value(call).contains("CU_FILE_CUDA_DRIVER_ERROR (5011)"), result.output());
      assertTrue(Integer.parseInt(result.value(call + "Cuda")) > 0, result.output());
    }
  }

  @Test
  void givesCuFileTheAlignedMiddleOnly() throws Exception {
    ForkedJvm.Result result = run(jvm(CuFileTroubleScenario.class, "ragged"));
    int length = 3 * 4096 + 77 - 100;
    String whole = "CuFileTransfer[lengthBytes=" + length + ", route=GDS, directBytes=";
    assertEquals(whole + "8192]", result.value("read"));
    assertEquals("true", result.value("readRight"));
    assertEquals("8192", result.value("readByCuFile"));
    assertEquals("1", result.value("gdsReads"));
    assertEquals("0", result.value("posixReads"));
    assertEquals(whole + "8192]", result.value("write"));
    assertEquals("8192", result.value("writeByCuFile"));
    assertEquals(whole + "0]", result.value("apart"));
    assertTrue(
        result.value("end").startsWith("CuFileTransfer[lengthBytes=5000, route=GDS"),
        result.output());
    assertEquals("CuFileTransfer[lengthBytes=50, route=GDS, directBytes=0]", result.value("small"));
  }

  @ParameterizedTest
  @CsvSource({"1, GDS", "0, COMPAT"})
  void surfacesWhatBecomesOfTheFile(int nvidiaFs, String route) throws Exception {
    ForkedJvm.Result result =
        run(
            jvm(CuFileTroubleScenario.class, "files")
                .environment("METRALE_EMULATOR_CUFILE_NVIDIA_FS", nvidiaFs));
    assertEquals(route, result.value("way"));
    for (String write : new String[] {"aligned", "ragged"}) {
      assertTrue(
          result.value(write).startsWith("CuFileException cuFileWrite: EBADF (9)"),
          result.output());
    }
    assertEquals(Integer.toString(10_000 - 4096), result.value("short"));
    assertEquals("10000", result.value("shared"));
    assertEquals("0", result.value("beyond"));
    assertEquals("true", result.value("right"));
  }

  @Test
  void keepsLogOutOfWorkingFolder() throws Exception {
    run(jvm("open").environment("METRALE_EMULATOR_CUFILE_LOG", 1));
    assertTrue(Files.exists(folder.resolve("cufile.log")), folder.toString());
    assertFalse(Files.exists(Path.of("cufile.log")));
  }
}
