/** Starts the software GPU host from a Java program. */
module org.metrale.emulator {
  exports org.metrale.emulator;
}
