package org.metrale.gpu.cuda;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import org.junit.jupiter.api.Test;

class CudaResultTest {
  @Test
  void knowsEveryCodeOfTheHeader() throws Exception {
    // Not initialised: constants of the class are compile-time constants.
    Class<?> generated =
        Class.forName("org.metrale.global.cuda", false, getClass().getClassLoader());
    int found = 0;
    for (Field field : generated.getFields()) {
      if (field.getName().startsWith("CUDA_ERROR_") && Modifier.isStatic(field.getModifiers())) {
        // Reading initialises the class; without a library that is allowed.
        assertEquals(field.getName(), new CudaResult(field.getInt(null)).symbol());
        found++;
      }
    }
    assertTrue(found > 90, "only " + found);
  }

  @Test
  void keepsUnknownCodes() {
    assertEquals("CUresult(12345)", new CudaResult(12345).symbol());
    assertFalse(new CudaResult(12345).losesContext());
    assertTrue(CudaResult.LAUNCH_FAILED.losesContext());
    assertFalse(CudaResult.OUT_OF_MEMORY.losesContext());
  }
}
