package org.metrale.gpu.cuda;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.metrale.gpu.SoftwareHost;

@Tag("emulator")
class CudaAttachmentTest {
  private CudaContext context;

  @BeforeAll
  static void emulator() {
    SoftwareHost.use();
  }

  @BeforeEach
  void open() {
    context = CudaContext.openPrimary(0);
  }

  @AfterEach
  void close() {
    context.close();
  }

  @Test
  void aThreadKeepsAContextUntilItLetsGo() throws Exception {
    long before = CudaCalls.cuCtxGetCurrent();
    CudaAttachment attachment = context.attach();
    try (CudaContext second = CudaContext.openPrimary(0)) {
      assertEquals(context.address(), CudaCalls.cuCtxGetCurrent());
      assertThrows(IllegalStateException.class, context::close);
      FutureTask<IllegalStateException> elsewhere =
          new FutureTask<>(() -> assertThrows(IllegalStateException.class, attachment::close));
      new Thread(elsewhere).start();
      assertTrue(elsewhere.get(10, TimeUnit.SECONDS).getMessage().contains("its own thread"));
      CudaAttachment inner = second.attach();
      try (CudaStream stream = CudaStream.create(context)) {
        assertTrue(stream.isIdle());
      }
      inner.close();
      attachment.close();
      attachment.close();
    }
    assertEquals(before, CudaCalls.cuCtxGetCurrent());
  }

  @Test
  void anAttachmentThatIsNotOnTopStays() {
    CudaAttachment attachment = context.attach();
    CudaContext other = CudaContext.openPrimary(1);
    CudaAttachment inner = other.attach();
    assertTrue(
        assertThrows(IllegalStateException.class, attachment::close)
            .getMessage()
            .contains("attached later"));
    inner.close();
    other.close();
    attachment.close();
  }

  /** What is current says nothing then about which of the two is closed. */
  @Test
  void anAttachmentUnderOneToTheSameContextStaysToo() {
    long before = CudaCalls.cuCtxGetCurrent();
    CudaAttachment attachment = context.attach();
    CudaAttachment inner = context.attach();
    assertTrue(
        assertThrows(IllegalStateException.class, attachment::close)
            .getMessage()
            .contains("attached later"));
    inner.close();
    assertTrue(attachment.isInnermost());
    assertEquals(context.address(), CudaCalls.cuCtxGetCurrent());
    attachment.close();
    assertNull(CudaAttachment.innermost());
    assertEquals(before, CudaCalls.cuCtxGetCurrent());
  }
}
