package org.metrale.gpu.cufile;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.reflect.Field;
import java.util.OptionalInt;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.metrale.gpu.cufile.CuFileException.Where;

@Tag("native")
final class CuFileResultTest {
  private static final Where WHERE = new Where("/data/model", 4096, 65536, "xfs", "route=GDS");

  @Test
  void namesEveryCodeOfTheHeader() throws Exception {
    int seen = 0;
    for (Field field : org.metrale.global.cufile.class.getFields()) {
      if (field.getName().startsWith("CU_FILE_") && field.getType() == int.class) {
        int code = field.getInt(null);
        boolean error = code > 5000 && code < 6000;
        if (error || field.getName().equals("CU_FILE_SUCCESS")) {
          assertEquals(field.getName(), new CuFileResult(code).symbol());
          assertFalse(new CuFileResult(code).text().startsWith("unknown"));
          seen++;
        }
      }
    }
    assertEquals(49, seen);
  }

  @Test
  void keepsUnknownCode() {
    assertEquals("CUfileOpError(5021)", new CuFileResult(5021).symbol());
    assertEquals("CUfileOpError(5999)", new CuFileResult(5999).symbol());
  }

  @Test
  void decodesErrno() {
    CuFileException e = CuFileException.ofNegative("pread", -13, WHERE);
    assertEquals(OptionalInt.of(13), e.errno());
    assertTrue(e.result().isEmpty());
    assertTrue(e.cudaCode().isEmpty());
    assertEquals(
        "pread: EACCES (13): Permission denied"
            + " [path=/data/model offset=4096 length=65536 fs=xfs route=GDS]",
        e.getMessage());
  }

  @Test
  void decodesCuFileCodeInsteadOfErrno() {
    CuFileException e = CuFileException.ofNegative("cuFileRead", -5027, WHERE);
    assertTrue(e.errno().isEmpty());
    assertEquals("CU_FILE_HANDLE_NOT_REGISTERED", e.symbol());
    assertEquals(5027, e.code());
  }

  @Test
  void keepsCudaCodeOnlyBesideDriverError() {
    CuFileException driver = CuFileException.ofPacked("x", 801L << 32 | 5011, Where.NOWHERE);
    CuFileException other = CuFileException.ofPacked("x", 801L << 32 | 5008, Where.NOWHERE);
    assertEquals(OptionalInt.of(801), driver.cudaCode());
    assertTrue(other.cudaCode().isEmpty());
    assertFalse(other.getMessage().contains("801"));
  }

  @Test
  void carriesWhereItWas() {
    CuFileException e = CuFileException.ofNegative("cuFileRead", -5, WHERE);
    assertEquals("/data/model", e.path());
    assertEquals(4096, e.offsetBytes());
    assertEquals(65536, e.lengthBytes());
    assertEquals("xfs", e.fileSystem());
  }
}
