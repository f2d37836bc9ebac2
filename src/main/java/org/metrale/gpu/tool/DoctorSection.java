package org.metrale.gpu.tool;

import java.util.List;
import java.util.Map;

/** One part of the doctor's report. */
interface DoctorSection {
  /** The heading, also the name in {@code --require} where the section stands for a library. */
  String name();

  /**
   * Looks at the machine. Values are texts, numbers, booleans, lists and maps with texts as keys,
   * in the order in which they are to be read. May throw anything.
   */
  Map<String, Object> examine();

  /**
   * Why {@code --require} is not met, or an empty list; called after {@link #examine()} succeeded.
   */
  default List<String> shortcomings(Map<String, Object> findings) {
    return List.of();
  }
}
