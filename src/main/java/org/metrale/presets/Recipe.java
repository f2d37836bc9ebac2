package org.metrale.presets;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.bytedeco.javacpp.ClassProperties;
import org.bytedeco.javacpp.Loader;
import org.bytedeco.javacpp.tools.Info;
import org.bytedeco.javacpp.tools.InfoMap;

/** What the recipes share. */
final class Recipe {
  private static final String EXTENSION = "-cuda";

  private Recipe() {}

  /**
   * Keeps of what is inherited from bytedeco's cudart only the names of its types: its headers make
   * parsing slow, its links and preloads would need libcudart and libcuda at load time, and its
   * global class would load {@code jnicudart}.
   */
  static void detach(ClassProperties properties, String... includes) {
    if (Loader.isLoadLibraries()) {
      requireLayouts();
    }
    List<String> extensions = properties.get("platform.extension");
    if (Loader.isLoadLibraries() && !extensions.contains(EXTENSION)) {
      // An extension that the user sets for other libraries must not hide ours.
      extensions.add(EXTENSION);
    }
    for (String inherited :
        List.of(
            "platform.link",
            "platform.preload",
            "platform.linkpath",
            "platform.preloadpath",
            "platform.exclude")) {
      properties.get(inherited).clear();
    }
    // bytedeco's toolkit and system folders would come before the staged headers.
    // Loops, since this runs before the first call of a program, which lambdas would delay.
    Iterator<String> folders = properties.get("platform.includepath").iterator();
    while (folders.hasNext()) {
      if (folders.next().startsWith("/usr/")) {
        folders.remove();
      }
    }
    properties.get("platform.include").retainAll(Arrays.asList(includes));
    if (Loader.isLoadLibraries()) {
      Iterator<String> globals = properties.get("global").iterator();
      while (globals.hasNext()) {
        if (!globals.next().startsWith("org.metrale.")) {
          globals.remove();
        }
      }
      // JavaCPP 1.5.10 writes "jni" and the global class's name over it for every structure.
      properties.put("platform.library", new Kept(properties.getProperty("platform.library")));
    }
  }

  /**
   * An older JavaCPP takes the glue, but not what it tells of sizes and offsets, and only prints a
   * warning: every structure would be of no size.
   */
  private static void requireLayouts() {
    try {
      Class.forName("org.bytedeco.javacpp.Loader$Helper", false, Loader.class.getClassLoader());
    } catch (ClassNotFoundException e) {
      throw new UnsatisfiedLinkError(
          "the JavaCPP on the class path is older than 1.5.10; 1.5.10 and later work");
    }
  }

  /** A list of one value, whatever is done to it. */
  private static final class Kept extends ArrayList<String> {
    private static final long serialVersionUID = 1;

    Kept(String value) {
      super(List.of(value));
    }

    @Override
    public void clear() {}

    @Override
    public boolean add(String value) {
      return false;
    }
  }

  /** Puts the run-time table of a library into its generated class. */
  static void table(InfoMap map, String library) {
    // Hides the table's implementation from the parser, which does not know dlfcn.h.
    map.put(new Info("METRALE_PARSER").define(true));
    map.put(new Info("metrale_table_open").javaText(tableText(library)));
  }

  private static String tableText(String library) {
    return String.join(
        "\n",
        "",
        "private static native @Raw(withEnv = true) void metrale_table_attach();",
        "private static native String metrale_table_open(String path, int mode, String refused)"
            + " throws org.metrale.gpu.LibraryUnavailableException;",
        "private static native String metrale_table_file();",
        "private static native @Cast(\"bool\") boolean metrale_table_exports(String symbol);",
        "private static native int metrale_table_count();",
        "private static native String metrale_table_name(int index);",
        "private static native @Cast(\"bool\") boolean metrale_table_bound(int index);",
        "private static native int metrale_table_version()"
            + " throws org.metrale.gpu.LibraryThrewException;",
        "static {",
        "    metrale_table_attach();",
        "    org.metrale.gpu.NativeLibrary.attach(\"" + library + "\",",
        "        new org.metrale.gpu.NativeTable() {",
        "            public String open(String path, int mode, String refused) {"
            + " return metrale_table_open(path, mode, refused); }",
        "            public String file() { return metrale_table_file(); }",
        "            public boolean exports(String symbol) { return metrale_table_exports(symbol);"
            + " }",
        "            public int count() { return metrale_table_count(); }",
        "            public String name(int index) { return metrale_table_name(index); }",
        "            public boolean bound(int index) { return metrale_table_bound(index); }",
        "            public int version() { return metrale_table_version(); }",
        "        });",
        "}",
        "");
  }

  /**
   * Leaves out of the glue of some functions what would turn a C++ exception into Java's: it costs
   * each call a frame. For functions that throw nothing of ours. Where one is missing that answers
   * a code, or the vendor's library throws out of it, the table itself leaves the exception to the
   * method.
   */
  static void throwNothing(InfoMap map, Iterable<String> functions) {
    for (String function : functions) {
      // Without its name the parser takes it for a macro that stands for an annotation.
      map.put(new Info(function).javaNames(function).annotations("@NoException(true)"));
    }
  }

  /** The functions that a header declares to answer a type, an enumeration. */
  static List<String> answering(String header, String type) {
    Matcher found =
        Pattern.compile("^\\s*" + type + "\\s+(?:[A-Z]+\\s+)?(\\w+)\\s*\\(", Pattern.MULTILINE)
            .matcher(header);
    return found.results().map(result -> result.group(1)).toList();
  }

  /** A header as the parser reads it, or an empty text where there is none. */
  static String header(java.util.Properties build, String name) {
    for (String folder : build.getProperty("platform.includepath", "").split(File.pathSeparator)) {
      Path header = Path.of(folder, name);
      if (!folder.isEmpty() && Files.exists(header)) {
        try {
          return Files.readString(header, StandardCharsets.ISO_8859_1);
        } catch (IOException e) {
          throw new UncheckedIOException(e);
        }
      }
    }
    return "";
  }

  /**
   * Makes the constructors of a structure initialise it, as C's initialiser macro would: a
   * structure of zeros is refused by the library.
   *
   * @param structure the structure's Java name
   * @param field its first field, whose accessors carry the constructors into the class
   * @param type the field's C and Java type
   * @param function the C++ function that initialises one structure
   */
  static void initialised(
      InfoMap map, String structure, String field, String[] type, String function) {
    map.put(new Info(structure).skipDefaults());
    map.put(
        new Info(structure + "::" + field)
            .javaText(constructorText(structure, field, type, function)));
  }

  private static String constructorText(
      String structure, String field, String[] type, String function) {
    return String.join(
            "\n",
            "",
            "    /** Default native constructor, initialised as the library demands. */",
            "    public S() { super((Pointer)null); allocate(); metraleInitialize(this); }",
            "    /** Native array allocator. Access with {@link Pointer#position(long)}. */",
            "    public S(long size) { super((Pointer)null); allocateArray(size);"
                + " for (long i = 0; i < size; i++) { metraleInitialize(getPointer(i)); } }",
            "    /** Pointer cast constructor. Invokes {@link Pointer#Pointer(Pointer)}. */",
            "    public S(Pointer p) { super(p); }",
            "    private native void allocate();",
            "    private native void allocateArray(long size);",
            "    @Namespace private static native @Name(\""
                + function
                + "\") void metraleInitialize(S s);",
            "    @Override public S position(long position) { return (S)super.position(position);"
                + " }",
            "    @Override public S getPointer(long i) { return new"
                + " S((Pointer)this).offsetAddress(i); }",
            "    public native @Cast(\""
                + type[0]
                + "\") "
                + type[1]
                + " "
                + field
                + "();"
                + " public native S "
                + field
                + "("
                + type[1]
                + " setter);",
            "")
        .replaceAll("\\bS\\b", structure);
  }

  /** A handle: by value an opaque pointer object, by reference one pointer or an array of them. */
  static void handle(InfoMap map, String type, String structure) {
    map.put(
        new Info(type)
            .valueTypes(structure)
            .pointerTypes(
                "@ByPtrPtr " + structure, "@Cast(\"" + structure + "**\") PointerPointer"));
  }

  /**
   * A function that fills an array of handles. The parser also makes overloads that take one handle
   * object, for which the glue passes the address of a single local: more than one handle would
   * overwrite its stack. Here only the array of pointers is left.
   *
   * @param function the C name
   * @param declaration the Java declaration, with NUMBERS for the type of its array of numbers
   */
  static void fillsHandles(InfoMap map, String function, String declaration) {
    StringBuilder text = new StringBuilder();
    for (String numbers : List.of("IntPointer", "IntBuffer", "int[]")) {
      text.append('\n').append(declaration.replace("NUMBERS", numbers));
    }
    map.put(new Info(function).javaText(text.append('\n').toString()));
  }
}
