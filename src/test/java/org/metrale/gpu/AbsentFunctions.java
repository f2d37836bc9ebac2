package org.metrale.gpu;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Calls every function of one library with no library, then with just its own symbol absent.
 *
 * <p>A process opens a library once, so each try has glue of its own: a class loader with the
 * generated class, a copy of the glue's file and one of the fake library's, without the one symbol.
 * Everything else is as in a program, but for {@link NativeLibrary} having to forget the last try.
 *
 * <p>Arguments: library, folder of the fake, folder of the glue, folder to work in. With one more,
 * {@code as-it-is}, the fake lacks what it lacks: every function answers or is refused.
 */
public final class AbsentFunctions {
  private final NativeLibrary library;
  private final Path fakeFile;
  private final ElfFile fake;
  private final Path glue;
  private final Path folder;
  private final String property;
  private final List<String> wrong = new ArrayList<>();
  private int overloads;

  private AbsentFunctions(String[] arguments) throws Exception {
    library = NativeLibrary.named(arguments[0]);
    property = "org.metrale." + arguments[0] + ".path";
    fakeFile = Path.of(arguments[1], library.soname());
    fake = ElfFile.read(fakeFile);
    glue = Path.of(arguments[2], "libjnimetrale" + generatedName(arguments[0]) + ".so");
    folder = Path.of(arguments[3]);
  }

  /** Tries everything and prints what was proved. */
  public static void main(String[] arguments) throws Exception {
    AbsentFunctions tries = new AbsentFunctions(arguments);
    if (arguments.length == 5) {
      tries.proveAsItIs();
    } else {
      tries.prove();
    }
    tries.wrong.forEach(line -> System.out.println("wrong=" + line.replace("\n", " | ")));
  }

  /** With a library that has more or less than the glue is bound to. */
  private void proveAsItIs() throws Exception {
    System.setProperty(property, fakeFile.toString());
    BoundFunctions bound = new BoundFunctions(Class.forName(generatedName()), library.functions());
    List<String> functions = List.copyOf(bound.methods().keySet());
    int answered = 0;
    int refused = 0;
    for (int i = 0; i < functions.size(); i++) {
      if (!library.supports(functions.get(i))) {
        refused += refused(functions.get(i), bound, fakeFile.toString()) ? 1 : 0;
      } else if (answered(functions.get(i), bound, i)) {
        answered++;
      }
    }
    System.out.println("version=" + library.version().orElse(""));
    System.out.println("bound=" + functions.size());
    System.out.println("answered=" + answered);
    System.out.println("refused=" + refused);
  }

  private void prove() throws Exception {
    Path absent = folder.resolve("absent.so");
    System.setProperty(property, absent.toString());
    BoundFunctions bound = new BoundFunctions(Class.forName(generatedName()), library.functions());
    List<String> functions = List.copyOf(bound.methods().keySet());
    int withoutLibrary = 0;
    for (String function : functions) {
      if (function.equals(ShimCalls.ELSEWHERE)) {
        System.out.println("elsewhere=" + function);
      } else if (refused(function, bound, absent.toString())) {
        withoutLibrary++;
      }
    }
    int withoutSymbol = 0;
    for (int i = 0; i < functions.size(); i++) {
      if (!functions.get(i).equals(ShimCalls.ELSEWHERE) && withoutSymbol(i, functions)) {
        withoutSymbol++;
      }
    }
    System.out.println("bound=" + functions.size());
    System.out.println("withoutLibrary=" + withoutLibrary);
    System.out.println("withoutSymbol=" + withoutSymbol);
    System.out.println("calls=" + overloads);
  }

  private boolean withoutSymbol(int index, List<String> functions) throws Exception {
    String function = functions.get(index);
    Path file = Files.write(folder.resolve("fake-" + index + ".so"), fake.without(function));
    Path copy = Files.copy(glue, folder.resolve("glue-" + index + ".so"));
    System.setProperty(property, file.toString());
    forgetLastTry();
    Apart apart = new Apart(generatedName());
    apart
        .loadClass(GlueFile.class.getName())
        .getMethod("load", String.class)
        .invoke(null, copy.toString());
    BoundFunctions bound =
        new BoundFunctions(Class.forName(generatedName(), true, apart), functions);
    Files.delete(copy);
    Files.delete(file);
    String next = functions.get((index + 1) % functions.size());
    return isTheOnlyOneMissing(function)
        && refused(function, bound, file.toString())
        && answered(next, bound, (index + 1) % functions.size());
  }

  /** Whether every method of the function ends in the one exception that says why. */
  private boolean refused(String function, BoundFunctions bound, String file) {
    int before = wrong.size();
    List<Method> methods = bound.methods().get(function);
    if (methods.isEmpty()) {
      wrong.add(function + " has no method");
    }
    for (Method method : methods) {
      overloads++;
      try {
        Object answer = bound.call(function, method);
        wrong.add(method + " answered " + answer);
      } catch (LibraryUnavailableException e) {
        check(method, function, file, e);
      } catch (Throwable e) {
        wrong.add(method + " threw " + e);
      }
    }
    return wrong.size() == before;
  }

  private void check(Method method, String function, String file, LibraryUnavailableException e) {
    String text = e.getMessage();
    if (!e.function().equals(function) || !e.library().equals(library.name())) {
      wrong.add(method + " says that " + e.function() + " of " + e.library() + " is absent");
    } else if (!text.startsWith(function + ": ")
        || !text.contains(file)
        || !text.contains(library.title())) {
      wrong.add(method + " says: " + text);
    } else if (library.isAvailable()) {
      checkVersions(function, text);
    }
  }

  private void checkVersions(String function, String text) {
    String version = library.version().orElse("of unknown version");
    String first =
        LibraryVersion.first(library.name(), function)
            .map(known -> "it is there from " + library.title() + " " + known + " on")
            .orElse("the first version that has it is unknown");
    if (!text.contains("(" + library.title() + " " + version + ")") || !text.endsWith(first)) {
      wrong.add(function + " says: " + text);
    }
  }

  private boolean isTheOnlyOneMissing(String function) {
    boolean only =
        !library.supports(function) && library.missingFunctions().equals(List.of(function));
    if (!only) {
      wrong.add(function + " is absent, but said to be so are " + library.missingFunctions());
    }
    return only;
  }

  /** Whether a function that is there answers as the fake does. */
  private boolean answered(String function, BoundFunctions bound, int index) {
    if (library == NativeLibrary.IBVERBS) {
      // The shim does more with an answer than hand it on.
      return true;
    }
    for (Method method : bound.methods().get(function)) {
      try {
        Object answer = bound.call(function, method);
        if (answer instanceof Integer number && number != 1000 + index) {
          wrong.add(method + " answered " + answer + ", not " + (1000 + index));
          return false;
        }
      } catch (Throwable e) {
        wrong.add(method + " is there but threw " + e);
        return false;
      }
    }
    return true;
  }

  private void forgetLastTry() throws ReflectiveOperationException {
    Field open = NativeLibrary.class.getDeclaredField("open");
    open.setAccessible(true);
    open.set(library, false);
  }

  private String generatedName() {
    return "org.metrale.global." + generatedName(library.name());
  }

  /** libibverbs is reached through the shim, which has a name of its own. */
  private static String generatedName(String library) {
    return library.equals("ibverbs") ? "verbs" : library;
  }

  /** Loads the generated class and what loads its glue anew, everything else as ever. */
  private static final class Apart extends ClassLoader {
    private static final Map<String, byte[]> READ = new HashMap<>();

    private final String generated;

    Apart(String generated) {
      super(Apart.class.getClassLoader());
      this.generated = generated;
    }

    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
      if (!name.equals(GlueFile.class.getName()) && !name.startsWith(generated)) {
        return super.loadClass(name, resolve);
      }
      synchronized (getClassLoadingLock(name)) {
        Class<?> loaded = findLoadedClass(name);
        if (loaded != null) {
          return loaded;
        }
        byte[] bytes = READ.computeIfAbsent(name, this::read);
        return defineClass(name, bytes, 0, bytes.length);
      }
    }

    private byte[] read(String name) {
      try (var in = getResourceAsStream(name.replace('.', '/') + ".class")) {
        return in.readAllBytes();
      } catch (IOException e) {
        throw new UncheckedIOException(name, e);
      }
    }
  }

  /** Loads a file into the class loader that this class belongs to. */
  public static final class GlueFile {
    private GlueFile() {}

    /** Loads it. */
    public static void load(String file) {
      System.load(file);
    }
  }
}
