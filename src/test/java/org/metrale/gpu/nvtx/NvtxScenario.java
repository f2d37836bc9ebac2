package org.metrale.gpu.nvtx;

import org.metrale.gpu.Allocation;

/** What forked JVMs run, with and without a tool; prints {@code KEY=VALUE} lines. */
public final class NvtxScenario {
  private static final NvtxDomain DOMAIN = NvtxDomain.of("metrale test");
  private static final NvtxName DECODE =
      DOMAIN.register("decode").withColour(0x00FF80).withCategory(DOMAIN.category("serving"));

  private NvtxScenario() {}

  public static void main(String[] arguments) throws Exception {
    say("attached", NvtxTool.isAttached());
    switch (arguments[0]) {
      case "all" -> all();
      case "order" -> order();
      case "cost" -> cost();
      case "names" -> names();
      case "colours" -> colours();
      case "attached" -> attached();
      case "virtual" -> onVirtualThread();
      default -> throw new IllegalArgumentException(arguments[0]);
    }
    say("misplaced", NvtxTool.misplacedCloses());
  }

  private static void say(String key, Object value) {
    System.out.println(key + "=" + value);
  }

  @SuppressWarnings("try")
  private static void all() throws Exception {
    say("thread", NvtxTool.nameThread("main of the test"));
    try (NvtxRange outer = DOMAIN.push("admit");
        NvtxRange inner = DOMAIN.push(DECODE, 42)) {
      DOMAIN.mark("in between");
    }
    try (NvtxRange real = DOMAIN.push(DECODE, 2.5)) {
      DOMAIN.mark(DECODE, 7);
    }
    DOMAIN.run("lambda", () -> {});
    say("call", DOMAIN.call("callable", () -> 3));
    NvtxDomain.defaultDomain().run("by default", () -> {});
    NvtxSpan first = DOMAIN.start("first");
    NvtxSpan second = DOMAIN.start(DECODE, 9);
    first.close();
    Thread ending = new Thread(second::close, "ending");
    ending.start();
    ending.join();
    second.close();
  }

  private static void order() throws Exception {
    NvtxRange one = DOMAIN.push("one");
    NvtxRange two = DOMAIN.push("two");
    one.close();
    two.close();
    say("afterOutOfOrder", NvtxTool.misplacedCloses());
    NvtxRange other = NvtxDomain.of("other").push("other");
    NvtxRange three = DOMAIN.push("three");
    other.close();
    three.close();
    say("afterOtherDomain", NvtxTool.misplacedCloses());
    NvtxRange four = DOMAIN.push("four");
    four.close();
    four.close();
    say("afterTwice", NvtxTool.misplacedCloses());
    NvtxRange five = DOMAIN.push("five");
    Thread thread = new Thread(five::close, "stranger");
    thread.start();
    thread.join();
    five.close();
    say("afterStranger", NvtxTool.misplacedCloses());
  }

  private static void names() {
    DOMAIN.run("a\0b \uD800 caf\u00E9 \uD83D\uDE80", () -> {});
    for (int i = 0; i < 20; i++) {
      DOMAIN.run("name " + i, () -> {});
    }
    say("registered", DOMAIN.registeredNames());
    say("same", DOMAIN.register("name 1") == DOMAIN.register("name 1"));
    say("late", DOMAIN.register("name 19").isRegistered());
  }

  /** More variants of a name than are kept ready. */
  private static void colours() {
    NvtxName name = DOMAIN.register("many");
    for (int i = 1; i <= 20; i++) {
      DOMAIN.run(name.withColour(i).withCategory(DOMAIN.category("serving")), () -> {});
    }
    DOMAIN.run(DECODE, () -> {});
  }

  /** Virtual threads are newer than what this is compiled for. */
  private static void onVirtualThread() throws Exception {
    Runnable work =
        () -> {
          say("named", NvtxTool.nameThread("virtual"));
          DOMAIN.run(DECODE, () -> {});
        };
    Thread thread =
        (Thread) Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, work);
    thread.join();
  }

  /** Pairs of a registered name while a tool takes them. */
  private static void attached() throws Exception {
    say("bytesPerRange", bytesPerRange(12, 1_000_000));
  }

  private static void cost() throws Exception {
    for (int i = 0; i < 5; i++) {
      loop(2_000_000);
    }
    say("bytesPerRange", bytesPerRange(5, 20_000_000));
  }

  private static long bytesPerRange(int times, int rounds) throws Exception {
    return Allocation.fewest(times, () -> loop(rounds)) / rounds;
  }

  private static volatile int sink;

  @SuppressWarnings("try")
  private static void loop(int rounds) {
    int sum = 0;
    for (int i = 0; i < rounds; i++) {
      try (NvtxRange range = DOMAIN.push(DECODE)) {
        sum += i ^ sum << 1;
      }
    }
    sink = sum;
  }
}
