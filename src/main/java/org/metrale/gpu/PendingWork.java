package org.metrale.gpu;

import java.util.List;
import java.util.Objects;
import java.util.concurrent.CopyOnWriteArrayList;

/**
 * Who works on lent memory after the call that started it has returned.
 *
 * <p>Work that is counted on its memory pays for that with each operation. Here the one who closes
 * asks instead: whoever starts such work remembers its memory anyway and answers.
 *
 * <p>For the packages of this module, not for programs.
 *
 * <p><b>Threading:</b> safe for any number of threads.
 */
public final class PendingWork {
  /** One who starts work on memory. */
  @FunctionalInterface
  public interface Source {
    /**
     * What still works on a memory.
     *
     * <p>The memory counts as closed while this is asked. Whoever starts work makes it visible to
     * this method first and then looks whether the memory is open, with a full fence in between; so
     * one of the two always notices.
     *
     * @param memory what is to be closed
     * @return a text that names the work; null if there is none
     */
    String userOf(NativeResource memory);

    /**
     * Lets go of what is counted for work that is done by now, before anybody is refused for it.
     */
    default void settle() {}
  }

  private static final List<Source> SOURCES = new CopyOnWriteArrayList<>();

  private PendingWork() {}

  /**
   * Adds a source that is asked from now on.
   *
   * @param source never removed
   */
  public static void add(Source source) {
    SOURCES.add(Objects.requireNonNull(source, "source"));
  }

  /**
   * Says that work may be started on a resource without counting it.
   *
   * @param memory whose close has to ask from now on
   */
  public static void lend(NativeResource memory) {
    memory.lent = true;
  }

  static void settle() {
    SOURCES.forEach(Source::settle);
  }

  static String userOf(NativeResource memory) {
    for (Source source : SOURCES) {
      String user = source.userOf(memory);
      if (user != null) {
        return user;
      }
    }
    return null;
  }
}
